package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/host/trust"
)

// requesting is the manifest of acme/weather with these tables.
func requesting(t *testing.T, tables string) abi.Manifest {
	t.Helper()
	decoded, err := DecodeManifest("plugin.toml", []byte(manifest("acme/weather", toolTable("weather")+tables)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// granted answers the grants of a manifest all of which is granted; its fetcher is
// closed with the test.
func granted(t *testing.T, w *world, manifest abi.Manifest) (bridge.Grants, error) {
	t.Helper()
	return grantedOf(t, w, manifest, trust.Keys(manifest))
}

// grantedOf is granted of some keys.
func grantedOf(t *testing.T, w *world, manifest abi.Manifest, keys []string) (bridge.Grants, error) {
	t.Helper()
	terms, err := w.terms(Candidate{Manifest: manifest}, keys)
	if err != nil {
		return bridge.Grants{}, err
	}
	grants, err := w.grants(manifest, terms)
	if grants.Fetcher != nil {
		t.Cleanup(func() {
			if err := grants.Fetcher.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return grants, err
}

// A request grants what it names and nothing else.
func TestRequestsGrantWhatTheyName(t *testing.T) {
	type all struct {
		Roots        map[string]bridge.Access
		KV, Process  bool
		Session      []string
		HTTP, AnyURL bool
	}
	const http = "[[request.http]]\norigins = [\"https://a.example\"]\nmethods = [\"GET\"]\npaths = [\"/**\"]\nreason = \"r\"\n"
	const anywhere = "[[request.http]]\norigins = [\"*\"]\nreason = \"r\"\n"
	fs := func(root, access string) string {
		return fmt.Sprintf("[[request.fs]]\nroot = %q\naccess = %q\nreason = \"r\"\n", root, access)
	}
	tests := []struct {
		name, tables string
		want         all
	}{
		{"nothing", "", all{}},
		{"files to read", fs("location", "read"), all{Roots: map[string]bridge.Access{"location": bridge.AccessRead}}},
		{"files to write", fs("project", "write"), all{Roots: map[string]bridge.Access{"project": bridge.AccessWrite}}},
		{"read, then write", fs("location", "read") + fs("location", "write"), all{Roots: map[string]bridge.Access{"location": bridge.AccessWrite}}},
		{"write, then read", fs("location", "write") + fs("location", "read"), all{Roots: map[string]bridge.Access{"location": bridge.AccessWrite}}},
		{"one to write and one to read", fs("location", "write") + fs("config", "read"),
			all{Roots: map[string]bridge.Access{"location": bridge.AccessWrite, "config": bridge.AccessRead}}},
		{"a store", "[request.kv]\nreason = \"r\"\n", all{KV: true}},
		{"programs", "[request.process]\nreason = \"r\"\n", all{Process: true}},
		{"the session", "[request.session]\noperations = [\"todo.set\", \"todo.get\"]\nreason = \"r\"\n", all{Session: []string{"todo.get", "todo.set"}}},
		{"an address", http, all{HTTP: true}},
		{"any address", anywhere, all{HTTP: true, AnyURL: true}},
		{"both", http + anywhere, all{HTTP: true, AnyURL: true}},
	}
	w := newWorld(t, Options{})
	for _, test := range tests {
		grants, err := granted(t, w, requesting(t, test.tables))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got := all{KV: grants.KV, Process: grants.Process, HTTP: grants.Fetcher != nil, AnyURL: grants.AnyURL}
		if len(grants.Roots) > 0 {
			got.Roots = grants.Roots
		}
		for _, name := range slices.Sorted(maps.Keys(grants.Session)) {
			if grants.Session[name] {
				got.Session = append(got.Session, name)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// The combinations of one request are granted, not those of two together. "*" grants
// no address: whether it may be had is asked.
func TestAddressesAreGrantedAsTheyAreAskedFor(t *testing.T) {
	w := newWorld(t, Options{})
	grants, err := granted(t, w, requesting(t, `
[[request.http]]
origins = ["https://a.example"]
methods = ["GET", "HEAD"]
paths = ["/v1/*"]
reason = "r"
[[request.http]]
origins = ["https://b.example:8443"]
methods = ["POST"]
paths = ["/**"]
reason = "r"
[[request.http]]
origins = ["*"]
reason = "r"
`))
	if err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]string{
		"GET https://a.example/v1/oslo":      "",
		"HEAD https://A.example:443/v1/oslo": "",
		"POST https://b.example:8443/":       "",
		"POST https://a.example/v1/oslo":     "the method POST is not granted for https://a.example",
		"GET https://a.example/v1/oslo/now":  "the path /v1/oslo/now is not granted for GET https://a.example",
		"GET http://a.example/v1/oslo":       "http://a.example is not granted",
		"POST https://b.example/":            "https://b.example is not granted",
		"GET https://c.example/":             "https://c.example is not granted",
	} {
		method, url, _ := strings.Cut(request, " ")
		_, err := grants.Fetcher.Check(method, url)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %q", request, err, want)
		}
	}
}

// echo is a server that tells the length of the key it was given, and a manifest that asks
// for it.
func echo(t *testing.T) (server *httptest.Server, manifest abi.Manifest) {
	t.Helper()
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Length", fmt.Sprint(len(r.Header.Get("X-Key"))))
		if r.Header.Get("X-Key") == "stale" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	return server, requesting(t, fmt.Sprintf(`
[[request.http]]
origins = [%[1]q]
methods = ["GET"]
paths = ["/**"]
reason = "r"
[[request.secret]]
handle = "weather-key"
audience = %[1]q
inject = { kind = "header", name = "X-Key" }
reason = "r"
`, server.URL))
}

// A secret is looked up by the operator's reference, and what the server rejects is
// told with the reference.
func TestSecretsGoWhereTheyAreAskedFor(t *testing.T) {
	server, manifest := echo(t)
	values := map[string]string{"env:FRESH": "fresh key", "env:STALE": "stale"}
	for reference, want := range map[string]string{"env:FRESH": "9", "env:STALE": "5"} {
		var rejected []string
		w := newWorld(t, Options{
			Settings: map[string]Settings{"acme/weather": {Secrets: map[string]string{"weather-key": reference}}},
			Secret: func(_ context.Context, reference string) (secret.Value, error) {
				return secret.NewValue(values[reference]), nil
			},
			Rejected: func(reference string, value secret.Value) { rejected = append(rejected, reference+" "+value.Reveal()) },
		})
		grants, err := granted(t, w, manifest)
		if err != nil {
			t.Fatal(err)
		}
		fetched, err := grants.Fetcher.Do(t.Context(), egress.Fetch{Method: "GET", URL: server.URL})
		if err != nil || fetched.Headers.Get("X-Length") != want {
			t.Errorf("%s: %+v, %v", reference, fetched, err)
		}
		var wantRejected []string
		if reference == "env:STALE" {
			wantRejected = []string{"env:STALE stale"}
		}
		if diff := cmp.Diff(wantRejected, rejected); diff != "" {
			t.Errorf("%s: rejected: %s", reference, diff)
		}
	}
}

// A plugin without its secret is admitted; the request that needs it says where to
// give it, and one that does without is made.
func TestSecretsWithoutAReference(t *testing.T) {
	server, manifest := echo(t)
	resolve := func(context.Context, string) (secret.Value, error) { return secret.Value{}, errors.New("nobody asks") }
	for name, options := range map[string]Options{
		"no reference": {Secret: resolve},
		"no secrets":   {Settings: map[string]Settings{"acme/weather": {Secrets: map[string]string{"weather-key": "env:KEY"}}}},
	} {
		grants, err := granted(t, newWorld(t, options), manifest)
		if err != nil {
			t.Fatal(err)
		}
		_, err = grants.Fetcher.Do(t.Context(), egress.Fetch{Method: "GET", URL: server.URL})
		failed, ok := errors.AsType[*egress.Error](err)
		want := `the secret "weather-key" of the plugin acme/weather is not configured; give it in [plugins."acme/weather".secrets]`
		if !ok || failed.Kind != egress.KindSecret || !strings.Contains(failed.Text, want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := grants.Fetcher.Do(t.Context(), egress.Fetch{Method: "GET", URL: server.URL, Handles: []string{}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A reference under a name that the plugin does not ask for is a mistake, whatever
// else it asks for; so is a secret that cannot go out.
func TestSecretsThatAreRefused(t *testing.T) {
	_, with := echo(t)
	const plain = "[[request.http]]\norigins = [\"http://a.example\"]\nmethods = [\"GET\"]\npaths = [\"/**\"]\nreason = \"r\"\n" +
		"[[request.secret]]\nhandle = \"key\"\naudience = \"http://a.example\"\ninject = { kind = \"query\", name = \"key\" }\nreason = \"r\"\n"
	tests := []struct {
		name       string
		manifest   abi.Manifest
		references map[string]string
		want       string
	}{
		{"an unknown handle", with, map[string]string{"weather-key": "env:A", "whether-key": "env:B"}, `plugins."acme/weather".secrets.whether-key: the plugin asks for no secret of this name`},
		{"a plugin without requests", requesting(t, ""), map[string]string{"key": "env:A"}, `plugins."acme/weather".secrets.key: the plugin asks for no secret of this name`},
		{"two unknown handles", requesting(t, ""), map[string]string{"b": "env:B", "a": "env:A"}, `plugins."acme/weather".secrets.a: the plugin asks for no secret of this name`},
		{"plain http", requesting(t, plain), nil, `secret "key": no secret is sent over plain http to a.example; use https, or an address on this machine`},
	}
	for _, test := range tests {
		w := newWorld(t, Options{Settings: map[string]Settings{"acme/weather": {Secrets: test.references}}})
		if _, err := granted(t, w, test.manifest); fmt.Sprint(err) != test.want {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// What the operator lends is granted beside what the manifest asks for: files below a
// root of their own, and each address to be read.
func TestTheOperatorLends(t *testing.T) {
	w := newWorld(t, Options{Settings: map[string]Settings{"acme/weather": {
		Files: []string{"/home/ann/*.md"}, URLs: []string{"https://b.example/style*.md?v=1", "http://127.0.0.1:8080/"}}}})
	grants, err := granted(t, w, requesting(t, "[[request.fs]]\nroot = \"config\"\naccess = \"read\"\nreason = \"r\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bridge.Access{"config": "read", bridge.RootOperator: "read"}, grants.Roots); diff != "" || !slices.Equal(grants.Files, []string{"/home/ann/*.md"}) || grants.AnyURL {
		t.Errorf("%s, %v", diff, grants.Files)
	}
	for request, granted := range map[string]bool{
		"GET https://b.example/style*.md?v=2": true, "GET http://127.0.0.1:8080/": true,
		"GET https://b.example/styles.md": false, "POST https://b.example/style*.md": false, "GET https://b.example/": false,
	} {
		method, url, _ := strings.Cut(request, " ")
		if _, err := grants.Fetcher.Check(method, url); granted != (err == nil) {
			t.Errorf("%s: %v", request, err)
		}
	}
	nothing, err := granted(t, newWorld(t, Options{}), requesting(t, ""))
	if err != nil || nothing.Fetcher != nil || len(nothing.Roots) > 0 || len(nothing.Files) > 0 {
		t.Errorf("without the operator: %+v, %v", nothing, err)
	}
}

// Only what is granted is given; the rest is known by its key. A key that the manifest
// does not have is refused.
func TestSomeRequestsAreGranted(t *testing.T) {
	w := newWorld(t, Options{})
	manifest := requesting(t, `
[[request.http]]
origins = ["https://a.example"]
methods = ["GET"]
paths = ["/**"]
reason = "r"
[[request.http]]
origins = ["*"]
reason = "r"
[[request.fs]]
root = "location"
access = "read"
reason = "r"
[[request.fs]]
root = "location"
access = "write"
reason = "r"
[request.kv]
reason = "r"
[request.process]
reason = "r"
[request.session]
operations = ["todo.get", "todo.set"]
reason = "r"
`)
	keys := []string{"http:*", "fs:location:read", "kv", "session:todo.get"}
	grants, err := grantedOf(t, w, manifest, keys)
	if err != nil {
		t.Fatal(err)
	}
	if !grants.KV || grants.Process || !grants.AnyURL || !cmp.Equal(grants.Session, map[string]bool{"todo.get": true}) || !cmp.Equal(grants.Roots, map[string]bridge.Access{"location": "read"}) {
		t.Errorf("%+v", grants)
	}
	if _, err := grants.Fetcher.Check("GET", "https://a.example/"); err == nil {
		t.Error("an address is granted that was not")
	}
	var withheld []string
	for _, request := range grants.Withheld {
		withheld = append(withheld, request.Key)
	}
	if diff := cmp.Diff([]string{"http:https://a.example", "fs:location:write", "process", "session:todo.set"}, withheld); diff != "" {
		t.Error(diff)
	}
	none, err := grantedOf(t, w, manifest, nil)
	if err != nil || none.Fetcher != nil || none.KV || len(none.Roots)+len(none.Session) > 0 || len(none.Withheld) != 8 {
		t.Errorf("%+v, %v", none, err)
	}
	if _, err := grantedOf(t, w, manifest, []string{"fs:project:read"}); err == nil || !strings.Contains(err.Error(), `grant "fs:project:read": the plugin acme/weather asks for no such thing`) {
		t.Errorf("%v", err)
	}
}

// A secret that was not granted is not asked for, whatever the operator configured; the
// request that needs it is refused, and one that does without is made.
func TestASecretThatIsNotGranted(t *testing.T) {
	server, manifest := echo(t)
	w := newWorld(t, Options{
		Settings: map[string]Settings{"acme/weather": {Secrets: map[string]string{"weather-key": "env:KEY"}}},
		Secret: func(context.Context, string) (secret.Value, error) {
			t.Error("the secret was read")
			return secret.NewValue("key"), nil
		},
	})
	grants, err := grantedOf(t, w, manifest, []string{"http:" + server.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, err = grants.Fetcher.Do(t.Context(), egress.Fetch{Method: "GET", URL: server.URL})
	failed, ok := errors.AsType[*egress.Error](err)
	if want := "the operator did not grant secret:weather-key; to grant it: plinth plugin approve acme/weather --grant secret:weather-key"; !ok || failed.Kind != egress.KindPolicy || failed.Text != want {
		t.Errorf("%v", err)
	}
	if _, err := grants.Fetcher.Do(t.Context(), egress.Fetch{Method: "GET", URL: server.URL, Handles: []string{}}); err != nil {
		t.Error(err)
	}
}
