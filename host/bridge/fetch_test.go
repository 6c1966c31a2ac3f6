package bridge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/session"
)

const theSecret = "marker-of-a-secret-0123456789"

// reaching gives the rig a server of which /api/* is granted, and a secret for it.
func reaching(t testing.TB, r *rig, serve http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	policy, err := egress.NewPolicy(egress.Grant{Origins: []string{server.URL}, Methods: []string{"GET", "POST"}, Paths: []string{"/api/*"}})
	if err != nil {
		t.Fatal(err)
	}
	scrubber := &secret.Scrubber{}
	source := egress.Source{Get: func(context.Context) (secret.Value, error) { return secret.NewValue(theSecret), nil }}
	fetcher, err := egress.NewFetcher(egress.FetcherOptions{Policy: policy, Scrubber: scrubber, Secrets: []egress.Injection{{
		Handle: "key", Audience: server.URL,
		Credential: egress.Credential{Auth: egress.Auth{Kind: "header", Name: "X-Key", Value: "{secret}"}, Source: source},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fetcher.Close(); err != nil {
			t.Error(err)
		}
	})
	r.reach.Fetcher = fetcher
	return server.URL
}

func TestFetch(t *testing.T) {
	r := newRig(t).stored(t)
	url := reaching(t, r, func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		w.Header().Set("X-Seen", request.Method+" "+request.Header.Get("X-Own")+" "+request.Header.Get("X-Key"))
		switch request.URL.Path {
		case "/api/redirect":
			http.Redirect(w, request, "/api/there", http.StatusFound)
		case "/api/away":
			http.Redirect(w, request, "/elsewhere", http.StatusFound)
		case "/api/large":
			fmt.Fprint(w, strings.Repeat("x", 1<<20+1))
		default:
			fmt.Fprintf(w, "%s %s %s", request.URL.Path, request.Header.Get("X-Key"), body)
		}
	})
	ok := []struct {
		request  map[string]any
		raw      string
		status   int
		body     string
		seen     string
		redirect int
	}{
		{request: map[string]any{"url": url + "/api/a"}, status: 200, body: "/api/a [secret] ", seen: "GET  [secret]"},
		{request: map[string]any{"url": url + "/api/a", "secrets": []string{}}, status: 200, body: "/api/a  ", seen: "GET"},
		{request: map[string]any{"url": url + "/api/a", "method": "POST", "text": "t", "headers": map[string]string{"X-Own": "o"}, "secrets": []string{}}, status: 200, body: "/api/a  t", seen: "POST o"},
		{request: map[string]any{"url": url + "/api/a", "method": "POST", "body": map[string]any{"$bytes": []int{1, 2}}, "secrets": []string{}}, raw: "abcd", status: 200, body: "/api/a  bc", seen: "POST"},
		{request: map[string]any{"url": url + "/api/redirect", "secrets": []string{}}, status: 200, body: "/api/there  ", seen: "GET", redirect: 1},
		{request: map[string]any{"url": url + "/api/redirect", "redirect": "manual", "secrets": []string{}}, status: 302, body: "<a href=\"/api/there\">Found</a>.\n\n", seen: "GET"},
	}
	for _, test := range ok {
		fetched := read[abi.HTTPFetched](t, r.ask(t, abi.OpHTTPFetch, encoded(t, test.request), []byte(test.raw)...))
		body := r.bytes(t)
		if test.seen != strings.TrimSpace(fetched.Headers["x-seen"]) || strings.Contains(body+encoded(t, fetched), theSecret) ||
			fetched.Status != test.status || fetched.Redirects != test.redirect || fetched.Body == nil || fetched.Body.Length != len(body) || fetched.Size != int64(len(body)) {
			t.Errorf("%v: %+v", test.request, fetched)
		}
		if diff := cmp.Diff(test.body, body); diff != "" {
			t.Errorf("%v: %s", test.request, diff)
		}
	}
	kept := read[abi.HTTPFetched](t, r.ask(t, abi.OpHTTPFetch, encoded(t, map[string]any{"url": url + "/api/large", "blob": true})))
	if kept.Blob == nil || kept.Body != nil || kept.Size != 1<<20+1 || r.bytes(t) != "" {
		t.Errorf("%+v", kept)
	}
	refused := []struct {
		request map[string]any
		kind    abi.Kind
		text    string
	}{
		{map[string]any{"url": url + "/api/large"}, abi.KindLimit, "1048576"},
		{map[string]any{"url": url + "/api/a", "max_bytes": 3}, abi.KindLimit, "3"},
		{map[string]any{"url": url + "/api/a", "max_bytes": MaxFetchBytes + 1}, abi.KindLimit, "max_bytes is 16777217; the most is 16777216"},
		{map[string]any{"url": url + "/api/a", "max_bytes": MaxBodyBytes + 1}, abi.KindLimit, "max_bytes is 15728641; the most without blob is 15728640"},
		{map[string]any{"url": url + "/api/a", "max_bytes": -1}, abi.KindInvalidInput, "must not be negative"},
		{map[string]any{"url": url + "/api/a", "timeout_ms": -1}, abi.KindInvalidInput, "must not be negative"},
		{map[string]any{"url": url + "/api/a", "text": "t", "body": map[string]any{"$bytes": []int{0, 0}}}, abi.KindInvalidInput, "either bytes or text"},
		{map[string]any{"url": url + "/elsewhere"}, abi.KindDenied, ""},
		{map[string]any{"url": url + "/api/../elsewhere"}, abi.KindDenied, ""},
		{map[string]any{"url": url + "/api/%2e%2e/elsewhere"}, abi.KindDenied, ""},
		{map[string]any{"url": url + "/api/away"}, abi.KindDenied, ""},
		{map[string]any{"url": url + "/api/redirect", "redirect": "error"}, "", ""},
		{map[string]any{"url": url + "/api/a", "redirect": "sideways"}, "", ""},
		{map[string]any{"url": url + "/api/a", "method": "DELETE"}, abi.KindDenied, ""},
		{map[string]any{"url": url + "/api/a", "method": "GET /x"}, abi.KindDenied, ""},
		{map[string]any{"url": strings.Replace(url, "http://", "http://u:p@", 1) + "/api/a"}, abi.KindDenied, ""},
		{map[string]any{"url": "file:///etc/passwd"}, abi.KindDenied, ""},
		{map[string]any{"url": "http://169.254.169.254/api/a"}, abi.KindDenied, ""},
		{map[string]any{"url": ""}, abi.KindDenied, ""},
		{map[string]any{"url": url + "/api/a", "headers": map[string]string{"Authorization": "x"}}, abi.KindDenied, ""},
		{map[string]any{"url": url + "/api/a", "headers": map[string]string{"Host": "x"}}, abi.KindDenied, ""},
		{map[string]any{"url": url + "/api/a", "headers": map[string]string{"x-key": "x"}}, abi.KindDenied, ""},
		{map[string]any{"url": url + "/api/a", "headers": map[string]string{"A": "x\r\nB: y"}}, abi.KindDenied, ""},
		{map[string]any{"url": url + "/api/a", "secrets": []string{"other"}}, abi.KindDenied, ""},
	}
	for _, test := range refused {
		got := failure(t, r.ask(t, abi.OpHTTPFetch, encoded(t, test.request)))
		if got.Kind == "" || test.kind != "" && got.Kind != test.kind || !strings.Contains(got.Message, test.text) || strings.Contains(got.Message, theSecret) {
			t.Errorf("%v: %+v", test.request, got)
		}
	}
	if len(r.host.asked) > 0 {
		t.Errorf("asked: %+v", r.host.asked)
	}
}

// What is not granted is asked for where the manifest says so, by its address
// without what stands behind it, and reaches public addresses only.
func TestWhatIsNotGrantedIsAsked(t *testing.T) {
	r := newRig(t)
	served := 0
	url := reaching(t, r, func(http.ResponseWriter, *http.Request) { served++ })
	r.reach.AnyURL = true
	r.host.rules = []session.Rule{rule("webfetch", "*", session.Ask)}
	// This machine is never asked for.
	if refused := failure(t, r.ask(t, abi.OpHTTPFetch, encoded(t, map[string]any{"url": url + "/elsewhere"}))); refused.Kind != abi.KindDenied || served > 0 {
		t.Errorf("%+v, served %d times", refused, served)
	}
	for _, answer := range []error{&session.DeniedError{Action: "webfetch", Resource: "x", Declined: true}, session.ErrInterrupted} {
		r.host.asked, r.host.answer = nil, answer
		refused := failure(t, r.ask(t, abi.OpHTTPFetch, `{"url":"https://public.example/path"}`))
		if want := wireError(answer).Kind; refused.Kind != want {
			t.Errorf("%v: %+v", answer, refused)
		}
		if len(r.host.asked) != 1 || r.host.asked[0].Action != "webfetch" || !cmp.Equal(r.host.asked[0].Resources, []string{"https://public.example/path"}) {
			t.Errorf("asked %+v", r.host.asked)
		}
	}
	r.host.rules, r.host.asked = []session.Rule{rule("webfetch", "*", session.Deny)}, nil
	if refused := failure(t, r.ask(t, abi.OpHTTPFetch, `{"url":"https://public.example/path"}`)); refused.Kind != abi.KindDenied || len(r.host.asked) > 0 {
		t.Errorf("%+v", refused)
	}
}
