package egress

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plinthhost/plinth/host/secret"
)

// fetching makes a fetcher for servers on this machine, which may be asked for all.
func fetching(t *testing.T, options FetcherOptions, servers ...*httptest.Server) *Fetcher {
	t.Helper()
	grant := Grant{Methods: methods[:], Paths: []string{"/**"}}
	for _, server := range servers {
		grant.Origins = append(grant.Origins, server.URL)
	}
	var err error
	if options.Policy, err = NewPolicy(grant); err != nil {
		t.Fatal(err)
	}
	f, err := NewFetcher(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func fixed(text string) Source {
	return Source{Get: func(context.Context) (secret.Value, error) { return secret.NewValue(text), nil }}
}

func header(name, text string) Credential {
	return Credential{Auth: Auth{Kind: AuthHeader, Name: name}, Source: fixed(text)}
}

func TestFetch(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Method+" "+r.RequestURI+" "+r.Header.Get("X-Mine")+" "+r.Header.Get("User-Agent"))
		w.Header().Set("Set-Cookie", "id=1")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "got %s", data)
	})
	var records []Record
	f := fetching(t, FetcherOptions{Record: func(r Record) { records = append(records, r) }}, server)
	fetched, err := f.Do(t.Context(), Fetch{Method: "POST", URL: server.URL + "/a/../b%7e?q=1 2", Headers: map[string]string{"x-mine": " yes "}, Body: []byte("hello")})
	if err != nil {
		t.Fatal(err)
	}
	want := Fetched{Status: 418, URL: server.URL + "/b~?q=1%202", Body: []byte("got hello"), Size: 9}
	if diff := cmp.Diff(want, fetched, cmpopts.IgnoreFields(Fetched{}, "Headers")); diff != "" {
		t.Error(diff)
	}
	if got := fetched.Headers.Get("X-Seen") + fetched.Headers.Get("Set-Cookie"); got != "POST /b~?q=1%202 yes plinth" {
		t.Error(got)
	}
	var sink bytes.Buffer
	fetched, err = f.Do(t.Context(), Fetch{Method: "GET", URL: server.URL, Sink: &sink})
	if err != nil || sink.String() != "got " || fetched.Body != nil || fetched.Size != 4 {
		t.Errorf("%v, %q, %+v", err, sink.String(), fetched)
	}
	if _, err := f.Do(t.Context(), Fetch{Method: "GET", URL: server.URL, Sink: full{}}); !errors.Is(err, errFull) || !strings.Contains(err.Error(), "store the answer") {
		t.Errorf("a full sink: %v", err)
	}
	if _, err := f.Do(t.Context(), Fetch{Method: "BREW", URL: server.URL}); err == nil {
		t.Error("the method passed")
	}
	if _, err := f.Do(t.Context(), Fetch{Method: "GET", URL: "http://user:" + key + "@x.example/"}); err == nil {
		t.Error("the URL passed")
	}
	wantRecords := []Record{
		{Origin: server.URL, Method: "POST", Path: "/b~", Status: 418, Sent: 5, Received: 9, Outcome: OutcomeOK},
		{Origin: server.URL, Method: "GET", Path: "/", Status: 418, Received: 4, Outcome: OutcomeOK},
		{Origin: server.URL, Method: "GET", Path: "/", Status: 418, Received: 4, Outcome: OutcomeOK},
		{Method: "BREW", Outcome: "policy"},
		{Method: "GET", Outcome: "policy"},
	}
	if diff := cmp.Diff(wantRecords, records, cmpopts.IgnoreFields(Record{}, "Time", "Duration")); diff != "" {
		t.Error(diff)
	}
	if records[0].Time.IsZero() || records[0].Duration <= 0 || records[3].Time.IsZero() {
		t.Errorf("%+v", records)
	}
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestCheck(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) {})
	f := fetching(t, FetcherOptions{}, server)
	if target, err := f.Check("GET", server.URL+"/a/./b"); err != nil || target.String() != server.URL+"/a/b" {
		t.Errorf("%s, %v", target, err)
	}
	target, err := f.Check("GET", "https://API.example")
	wantKind(t, err, KindPolicy, "https://api.example is not granted")
	if target.String() != "https://api.example/" {
		t.Error(target)
	}
	for method, url := range map[string]string{"TRACE": server.URL, "GET": "file:///etc/passwd"} {
		if _, err := f.Check(method, url); err == nil {
			t.Errorf("%s %s passed", method, url)
		}
	}
}

// TestAudiences: a secret goes to its origin and to no other, whatever the guest
// or a redirect says.
func TestAudiences(t *testing.T) {
	seen := func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		w.Header().Set("X-Got", fmt.Sprint(len(r.Header.Get("X-Key")), len(r.URL.Query().Get("token")), len(r.Header.Get("X-Other"))))
	}
	first, second := serve(t, seen), serve(t, seen)
	options := FetcherOptions{Secrets: []Injection{
		{Handle: "one", Audience: first.URL, Credential: header("X-Key", "first-secret-1")},
		{Handle: "two", Audience: second.URL, Credential: Credential{Auth: Auth{Kind: AuthQuery, Name: "token"}, Source: fixed("second-secret-22")}},
		{Handle: "three", Audience: second.URL, Credential: header("X-Other", "third-secret-333")},
	}}
	var handles []string
	options.Record = func(r Record) { handles = append(handles, strings.Join(r.Handles, "+")) }
	f := fetching(t, options, first, second)
	for _, test := range []struct {
		url     string
		handles []string
		got     string
		went    string
	}{
		{first.URL, nil, "14 0 0", "one"},
		{second.URL, nil, "0 16 16", "two+three"},
		{first.URL + "/?to=" + url.QueryEscape(second.URL), nil, "0 16 16", "one two+three"},
		{second.URL + "/?to=" + url.QueryEscape(first.URL), nil, "14 0 0", "two+three one"},
		{first.URL, []string{}, "0 0 0", ""},
		{second.URL, []string{"three", "one"}, "0 0 16", "three"},
		{strings.ReplaceAll(first.URL, "127.0.0.1", "127.0.0.1") + "/", []string{"one"}, "14 0 0", "one"},
	} {
		handles = nil
		fetched, err := f.Do(t.Context(), Fetch{Method: "GET", URL: test.url, Handles: test.handles})
		if err != nil || fetched.Headers.Get("X-Got") != test.got || strings.Join(handles, " ") != test.went {
			t.Errorf("%s with %q: %v, %q, %q", test.url, test.handles, err, fetched.Headers.Get("X-Got"), handles)
		}
	}
	for want, fetch := range map[string]Fetch{
		`no secret "four"`:       {Method: "GET", URL: first.URL, Handles: []string{"four"}},
		`query's "token" is the`: {Method: "GET", URL: second.URL + "/?a=b&token=x"},
		`query's "TOKEN" is the`: {Method: "GET", URL: second.URL + "/?a=b;%54OKEN=x"},
		`header "x-key" is the`:  {Method: "GET", URL: first.URL, Headers: map[string]string{"x-key": "mine"}},
	} {
		_, err := f.Do(t.Context(), fetch)
		wantKind(t, err, KindPolicy, want)
	}
	// Elsewhere the names mean nothing.
	if _, err := f.Do(t.Context(), Fetch{Method: "GET", URL: first.URL + "/?token=x", Headers: map[string]string{"X-Other": "y"}}); err != nil {
		t.Error(err)
	}
}

func TestInjectionsAreChecked(t *testing.T) {
	for want, injections := range map[string][]Injection{
		"no secret is sent over plain http": {{Handle: "a", Audience: "http://api.example", Credential: header("X-Key", "x")}},
		"must have no path":                 {{Handle: "a", Audience: "https://api.example/v1", Credential: header("X-Key", "x")}},
		"is given twice":                    {{Handle: "a", Audience: "https://api.example", Credential: header("X-Key", "x")}, {Handle: "a", Audience: "https://b.example", Credential: header("X-Key", "x")}},
		`it goes where "a" goes`:            {{Handle: "a", Audience: "https://api.example", Credential: header("X-Key", "x")}, {Handle: "b", Audience: "https://API.example:443", Credential: header("x-key", "x")}},
		"no source":                         {{Handle: "a", Audience: "https://api.example", Credential: Credential{Auth: Auth{Kind: AuthHeader, Name: "X-Key"}}}},
		"or no way into a request":          {{Handle: "a", Audience: "https://api.example", Credential: Credential{Source: fixed("x")}}},
		"no auth kind":                      {{Handle: "a", Audience: "https://api.example", Credential: Credential{Auth: Auth{Kind: "basic"}, Source: fixed("x")}}},
		"needs a token endpoint":            {{Handle: "a", Audience: "https://api.example", Credential: Credential{Auth: Auth{Kind: AuthOAuth2}, Source: fixed("x")}}},
	} {
		_, err := NewFetcher(FetcherOptions{Secrets: injections})
		wantKind(t, err, KindPolicy, want, "secret ")
	}
	f, err := NewFetcher(FetcherOptions{Secrets: []Injection{
		{Handle: "a", Audience: "http://127.0.0.1:80", Credential: header("X-Key", "x")},
		{Handle: "b", Audience: "http://[::1]", Credential: header("X-Key", "x")},
		{Handle: "c", Audience: "http://localhost", Credential: header("X-Key", "x")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// TestNothingShowsTheSecret: a server that sends back all it got, in every form and
// place, a server that fails with it, and what the host records about it.
func TestNothingShowsTheSecret(t *testing.T) {
	const planted = "planted/secret+0123456789="
	forms := []string{planted, url.QueryEscape(planted), hex.EncodeToString([]byte(planted)), base64.StdEncoding.EncodeToString([]byte("x" + planted)),
		base64.RawURLEncoding.EncodeToString([]byte("user:" + planted + ":z"))}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got := r.Header.Get("X-Key")
		switch r.URL.Path {
		case "/location":
			w.Header().Set("Location", "http://elsewhere.example/?k="+url.QueryEscape(got))
			w.WriteHeader(http.StatusFound)
		case "/self":
			w.Header().Set("Location", "/echo/"+url.PathEscape(got))
			w.WriteHeader(http.StatusFound)
		case "/encoding":
			w.Header().Set("Content-Encoding", got)
		case "/cut":
			_, _ = io.WriteString(w, "cut "+got)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("X-Echo", got)
			w.Header().Set("X-Basic", forms[4])
			_, _ = io.WriteString(w, strings.Join(forms, " ")+" "+got[:12]) // the start of it at the end
		}
	})
	var said []string
	f := fetching(t, FetcherOptions{
		Secrets: []Injection{{Handle: "planted", Audience: server.URL, Credential: header("X-Key", planted)}},
		Record:  func(r Record) { said = append(said, fmt.Sprintf("%+v", r)) },
	}, server)
	for _, path := range []string{"/echo", "/location", "/self", "/encoding", "/cut", "/" + url.PathEscape(planted)} {
		for _, redirect := range []string{RedirectFollow, RedirectManual} {
			var sink bytes.Buffer
			fetched, err := f.Do(t.Context(), Fetch{Method: "GET", URL: server.URL + path, Redirect: redirect, Sink: &sink})
			said = append(said, fmt.Sprintf("%s: %v %+v %s", path, err, fetched, sink.String()))
			if path == "/echo" && strings.Count(sink.String(), "[secret]") != 6 {
				t.Errorf("%q", sink.String())
			}
		}
	}
	all := strings.Join(said, "\n")
	for _, form := range append(forms, "planted/secr", hex.EncodeToString([]byte("planted/secret"))) {
		for size := len(form); size >= len(form)-4; size-- {
			if at := strings.Index(all, form[:size]); at >= 0 {
				t.Errorf("%q is shown: …%s", form[:size], all[max(0, at-100):at+len(form)])
				break
			}
		}
	}
}

// TestTwoTries: a rejected secret is replaced once.
func TestTwoTries(t *testing.T) {
	var sent []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("X-Key"))
		if r.Header.Get("X-Key") != "good-secret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	for name, test := range map[string]struct {
		values   string // in turn
		want     string
		rejected string
		status   int
	}{
		"rotated":    {"old-secret good-secret good-secret", "old-secret good-secret", "old-secret", 200},
		"unchanged":  {"old-secret old-secret", "old-secret", "old-secret", 401},
		"both wrong": {"old-secret new-secret new-secret", "old-secret new-secret", "old-secret new-secret", 401},
	} {
		sent = nil
		values := strings.Fields(test.values)
		var rejected []string
		source := Source{
			Get: func(context.Context) (secret.Value, error) {
				value := values[0]
				values = values[1:]
				return secret.NewValue(value), nil
			},
			Rejected: func(value secret.Value) { rejected = append(rejected, value.Reveal()) },
		}
		client := connect(t, Options{BaseURL: server.URL, Auth: Auth{Kind: AuthHeader, Name: "X-Key"}, Secret: source.Get, Rejected: source.Rejected})
		if response := finish(t, client, Request{Method: "GET"}); response.Status != test.status || strings.Join(sent, " ") != test.want {
			t.Errorf("%s: %d, %q", name, response.Status, sent)
		}
		if strings.Join(rejected, " ") != test.rejected {
			t.Errorf("%s: rejected %q", name, rejected)
		}
	}
}
