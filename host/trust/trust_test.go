package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// weather asks for one of each kind, and some twice.
func weather() abi.Manifest {
	return abi.Manifest{
		Schema: 1, ID: "acme/weather", Version: "1.0.0", Requires: []string{"http.fetch", "fs.commit", "log"},
		Request: abi.ManifestRequest{
			HTTP: []abi.ManifestHTTP{
				{Origins: []string{"https://B.example:443", "https://a.example"}, Methods: []string{"POST", "GET"}, Paths: []string{"/v1/*"}, Reason: "asks the forecast service"},
				{Origins: []string{"https://a.example", "https://b.example"}, Methods: []string{"GET"}, Paths: []string{"/**"}, Reason: "reads maps"},
				{Origins: []string{"*"}, Reason: "reads pages"},
			},
			Secrets: []abi.ManifestSecret{{Handle: "weather-key", Audience: "https://a.example", Inject: abi.ManifestAuth{Kind: "query", Name: "key"}, Reason: "the service wants it"}},
			FS:      []abi.ManifestFS{{Root: "location", Access: "read", Reason: "r"}, {Root: "location", Access: "write", Reason: "w"}, {Root: "location", Access: "read", Reason: "again"}},
			KV:      &abi.ManifestKV{Reason: "remembers"}, Process: &abi.ManifestProcess{Reason: "counts"},
			Session: &abi.ManifestSession{Operations: []string{"todo.get", "task.run"}, Reason: "plans"},
		},
	}
}

func TestEveryRequestHasAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	want := []string{
		"http:https://a.example,https://b.example", "http:https://a.example,https://b.example#2", "http:*", "secret:weather-key",
		"fs:location:read", "fs:location:write", "fs:location:read#2", "kv", "process", "session:todo.get", "session:task.run",
	}
	if diff := cmp.Diff(want, Keys(weather())); diff != "" {
		t.Error(diff)
	}
	if keys := Keys(abi.Manifest{}); len(keys) != 0 {
		t.Errorf("a plugin that asks for nothing has %v", keys)
	}
}

// A key stays short enough to type, and its own.
func TestLongKeysAreCut(t *testing.T) {
	t.Parallel()
	var m abi.Manifest
	for _, last := range []string{"a", "b", "b"} {
		origins := []string{"https://z" + last + ".example"}
		for i := range 50 {
			origins = append(origins, fmt.Sprintf("https://host-%02d.example", i))
		}
		m.Request.HTTP = append(m.Request.HTTP, abi.ManifestHTTP{Origins: origins, Methods: []string{"GET"}, Paths: []string{"/"}})
	}
	keys := Keys(m)
	if keys[0] == keys[1] || keys[2] != keys[1]+"#2" {
		t.Errorf("%q", keys)
	}
	for _, key := range keys {
		if len(key) > maxKey+20 || !strings.HasPrefix(key, "http:https://host-00.example,") || shellWord(key) != key {
			t.Errorf("%d bytes: %q", len(key), key)
		}
	}
	if narrow, err := Narrow(m, keys[1:2]); err != nil || len(narrow.Request.HTTP) != 1 || narrow.Request.HTTP[0].Origins[0] != "https://zb.example" {
		t.Errorf("%+v, %v", narrow.Request, err)
	}
}

func TestRequestsAreSaidInWords(t *testing.T) {
	t.Parallel()
	want := []string{
		"make requests to https://a.example and https://b.example by GET and POST, on /v1/*, without asking | asks the forecast service",
		"make requests to https://a.example and https://b.example by GET, on /**, without asking | reads maps",
		"fetch any public address; permission is asked for each | reads pages",
		"have your secret weather-key sent to https://a.example, as query key | the service wants it",
		"read files below the root location | r",
		"read and change files below the root location | w",
		"read files below the root location | again",
		"keep values in a store of its own | remembers",
		"run programs; permission is asked for each command | counts",
		"use todo.get of the session, without asking | plans",
		"use task.run of the session, without asking | plans",
	}
	var got []string
	for _, request := range Requests(weather()) {
		got = append(got, request.Text+" | "+request.Reason)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Origins are one when egress takes them for one, and no name looks like another.
func TestOriginsAreWrittenInOneWay(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{
		"HTTPS://A.Example:443":  "https://a.example",
		"http://a.example:80":    "http://a.example",
		"http://a.example:443":   "http://a.example:443",
		"https://a.example:80":   "https://a.example:80",
		"https://a.example:8443": "https://a.example:8443",
		"https://[2001:DB8::1]":  "https://[2001:db8::1]",
		"https://аpple.example":  "https://%D0%B0pple.example", // a Cyrillic а
		"https://a\u00ad.b,#":    "https://a%C2%AD.b%2C%23",
		"*":                      "*",
	} {
		if got := canonicalOrigin(origin); got != want {
			t.Errorf("%q: %q, want %q", origin, got, want)
		}
	}
}

// An approval survives JSON, also with fields of a later version.
func TestAnApprovalIsKept(t *testing.T) {
	t.Parallel()
	approval := Approval{Digest: strings.Repeat("a", 64), Requests: Records(weather()), Granted: []string{"kv", "http:*"}}
	text, err := json.Marshal(approval)
	if err != nil {
		t.Fatal(err)
	}
	again := Approval{}
	if err := json.Unmarshal([]byte(strings.Replace(string(text), `{"digest"`, `{"later":1,"digest"`, 1)), &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(approval, again); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAnApprovalCovers(t *testing.T) {
	t.Parallel()
	http := func(origins, methods, paths string) abi.ManifestRequest {
		return abi.ManifestRequest{HTTP: []abi.ManifestHTTP{{Origins: strings.Fields(origins), Methods: strings.Fields(methods), Paths: strings.Fields(paths), Reason: "r"}}}
	}
	secret := func(handle, audience, kind, name, value string) abi.ManifestRequest {
		return abi.ManifestRequest{Secrets: []abi.ManifestSecret{{Handle: handle, Audience: audience, Inject: abi.ManifestAuth{Kind: kind, Name: name, Value: value}}}}
	}
	fs := func(root, access string) abi.ManifestRequest {
		return abi.ManifestRequest{FS: []abi.ManifestFS{{Root: root, Access: access}}}
	}
	operations := func(names ...string) abi.ManifestRequest {
		return abi.ManifestRequest{Session: &abi.ManifestSession{Operations: names}}
	}
	kv, process := abi.ManifestRequest{KV: &abi.ManifestKV{}}, abi.ManifestRequest{Process: &abi.ManifestProcess{}}
	tests := []struct {
		name          string
		before, after abi.ManifestRequest
		covered       bool
	}{
		{"the same", http("https://a https://b", "GET", "/x"), http("https://b https://a", "GET", "/x"), true},
		{"written otherwise", http("https://a", "GET", "/x"), http("HTTPS://A:443", "GET", "/x"), true},
		{"less", http("https://a https://b", "GET POST", "/x /y"), http("https://a", "POST", "/y"), true},
		{"another origin", http("https://a", "GET", "/x"), http("https://b", "GET", "/x"), false},
		{"one origin more", http("https://a", "GET", "/x"), http("https://a https://b", "GET", "/x"), false},
		{"another port", http("https://a", "GET", "/x"), http("https://a:8443", "GET", "/x"), false},
		{"another scheme", http("https://a", "GET", "/x"), http("http://a", "GET", "/x"), false},
		{"a method more", http("https://a", "GET", "/x"), http("https://a", "GET POST", "/x"), false},
		{"another path", http("https://a", "GET", "/x"), http("https://a", "GET", "/**"), false},
		{"any address is not each address", http("*", "", ""), http("https://a", "GET", "/x"), false},
		{"an address is not any", http("https://a", "GET", "/x"), http("*", "", ""), false},
		{"any address again", http("*", "", ""), http("*", "", ""), true},
		{"a secret again", secret("k", "https://a", "query", "key", ""), secret("k", "https://a", "query", "key", "{secret}"), true},
		{"another secret", secret("k", "https://a", "query", "key", ""), secret("l", "https://a", "query", "key", ""), false},
		{"another audience", secret("k", "https://a", "query", "key", ""), secret("k", "https://b", "query", "key", ""), false},
		{"another parameter", secret("k", "https://a", "query", "key", ""), secret("k", "https://a", "query", "q", ""), false},
		{"another way", secret("k", "https://a", "query", "key", ""), secret("k", "https://a", "header", "key", ""), false},
		{"another value", secret("k", "https://a", "query", "key", ""), secret("k", "https://a", "query", "key", "x{secret}"), false},
		{"to read after to write", fs("location", "write"), fs("location", "read"), true},
		{"to write after to read", fs("location", "read"), fs("location", "write"), false},
		{"another root", fs("location", "write"), fs("project", "read"), false},
		{"a store", kv, kv, true},
		{"programs after a store", kv, process, false},
		{"programs", process, process, true},
		{"an operation less", operations("todo.get", "todo.set"), operations("todo.set"), true},
		{"another operation", operations("todo.get"), operations("todo.set"), false},
		{"nothing any more", process, abi.ManifestRequest{}, true},
		{"something after nothing", abi.ManifestRequest{}, kv, false},
	}
	for _, test := range tests {
		before, after := abi.Manifest{Request: test.before}, abi.Manifest{Request: test.after}
		approval := Approval{Requests: Records(before), Granted: Keys(before)}
		grants, more := Covers(approval, after)
		if test.covered && (len(more) > 0 || !cmp.Equal(grants, Keys(after))) || !test.covered && (len(more) != 1 || len(grants) != 0) {
			t.Errorf("%s: grants %v, more %v", test.name, grants, more)
		}
		approval.Granted = nil // what was asked and not granted is not asked again, nor granted
		if grants, more := Covers(approval, after); len(grants) > 0 || (len(more) == 0) != test.covered {
			t.Errorf("%s, not granted: grants %v, more %v", test.name, grants, more)
		}
	}
}

func TestNarrowLeavesWhatIsGranted(t *testing.T) {
	t.Parallel()
	m := weather()
	for _, key := range Keys(m) {
		narrow, err := Narrow(m, []string{key})
		if err != nil {
			t.Fatal(err)
		}
		left := Records(narrow)
		if len(left) != 1 || strings.TrimSuffix(key, "#2") != left[0].Key {
			t.Errorf("%s leaves %+v", key, left)
		}
		withheld, err := Withheld(m, []string{key})
		if err != nil || len(withheld) != len(Keys(m))-1 {
			t.Errorf("%s withholds %v, %v", key, withheld, err)
		}
	}
	all, err := Narrow(m, Keys(m))
	if diff := cmp.Diff(weather(), all); diff != "" || err != nil {
		t.Error(err, diff)
	}
	none, err := Narrow(m, nil)
	if diff := cmp.Diff(abi.ManifestRequest{}, none.Request); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if diff := cmp.Diff(weather(), m); diff != "" {
		t.Errorf("the manifest was changed: %s", diff)
	}
	second, err := Narrow(m, []string{"http:https://a.example,https://b.example#2"})
	if err != nil || second.Request.HTTP[0].Reason != "reads maps" {
		t.Errorf("%+v, %v", second.Request, err)
	}
}

func TestAnUnknownKeyIsRefused(t *testing.T) {
	t.Parallel()
	m := abi.Manifest{ID: "acme/weather", Request: abi.ManifestRequest{KV: &abi.ManifestKV{}, Process: &abi.ManifestProcess{}}}
	_, err := Narrow(m, []string{"kv", "fs:location:write\x1b[2J"})
	want := `grant "fs:location:write [2J": the plugin acme/weather asks for no such thing; it asks for kv and process`
	if unknown, ok := errors.AsType[*UnknownKeyError](err); !ok || unknown.Error() != want {
		t.Errorf("%v", err)
	}
	if _, err := Withheld(m, []string{"x"}); err == nil {
		t.Error("an unknown key is withheld from nothing")
	}
	if _, err := Narrow(abi.Manifest{ID: "acme/x"}, []string{"kv"}); err == nil || err.Error() != `grant "kv": the plugin acme/x asks for nothing` {
		t.Errorf("%v", err)
	}
}

func TestWhatIsRequiredAndNotGrantedIsTold(t *testing.T) {
	t.Parallel()
	m := weather()
	read := func(keys ...string) (all []string) {
		for _, missing := range Unmet(m, keys) {
			all = append(all, missing.String())
		}
		return all
	}
	const http = "it cannot do without http.fetch; grant http:https://a.example,https://b.example or http:https://a.example,https://b.example#2 or http:*"
	const commit = "it cannot do without fs.commit; grant fs:location:write"
	for _, test := range []struct {
		keys, want []string
	}{
		{nil, []string{http, commit}},
		{[]string{"http:*", "fs:location:read"}, []string{commit}},
		{[]string{"http:*", "fs:location:write"}, nil},
		{Keys(m), nil},
	} {
		if diff := cmp.Diff(test.want, read(test.keys...)); diff != "" {
			t.Errorf("%v: %s", test.keys, diff)
		}
	}
}

func TestARefusalIsACommandToCopy(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"kv":                 "the operator did not grant kv; to grant it: plinth plugin approve acme/weather --grant kv",
		"http:*":             "the operator did not grant http:*; to grant it: plinth plugin approve acme/weather --grant 'http:*'",
		"http:https://[::1]": "the operator did not grant http:https://[::1]; to grant it: plinth plugin approve acme/weather --grant 'http:https://[::1]'",
		"fs:location:read#2": "the operator did not grant fs:location:read#2; to grant it: plinth plugin approve acme/weather --grant fs:location:read#2",
	} {
		if got := Refusal("acme/weather", key); got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
}
