package egress

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/secret"
)

// TestAsk: what is not granted is asked for, hop by hop, and a refusal is passed on.
func TestAsk(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			http.Redirect(w, r, "http://other.example/second", http.StatusFound)
		}
	})
	var records []Record
	f := w.fetcher(t, names{"api.example": outerAddress, "other.example": outerAddress, "inner.example": "127.0.0.1"},
		FetcherOptions{Record: func(r Record) { records = append(records, r) }}, "http://api.example")
	denied := errors.New("the user said no")
	var asked []string
	ask := func(_ context.Context, method string, target Target) error {
		asked = append(asked, method+" "+target.String())
		if target.Path == "/no" {
			return denied
		}
		return nil
	}
	for url, want := range map[string]string{
		"http://api.example/first":       "",
		"http://other.example/x":         "",
		"http://other.example/no":        "the user said no",
		"http://inner.example/":          "inner.example leads to 127.0.0.1 (loopback)",
		"http://127.0.0.1:" + w.port():   "nobody is asked about such an address (loopback)",
		"http://localhost:" + w.port():   "nobody is asked about such an address (loopback)",
		"http://user@other.example/":     "user name",
		"http://169.254.169.254/latest/": "nobody is asked about such an address (cloud metadata)",
	} {
		fetched, err := f.Do(t.Context(), Fetch{Method: "GET", URL: url, Ask: ask})
		if want == "" && (err != nil || fetched.Status != http.StatusOK) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
		if strings.HasSuffix(url, "/no") && (!errors.Is(err, denied) || records[len(records)-1].Outcome != OutcomeDenied) {
			t.Errorf("%v, %+v", err, records)
		}
	}
	slices.Sort(asked)
	want := []string{"GET http://inner.example/", "GET http://other.example/no", "GET http://other.example/second", "GET http://other.example/x"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	if w.touched.Load() > 0 {
		t.Error("an ask opened the inner network")
	}
}

// TestAskedIsPublic: an answer of yes opens neither what is granted beside nor the
// operator's network, and takes no secret along.
func TestAskedIsPublic(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Seen", r.Header.Get("X-Key")+"|"+r.URL.RawQuery)
	})
	policy, err := NewPolicy(Grant{Origins: []string{"https://api.example", "http://127.0.0.1:" + w.port(), "http://wiki.example", "http://localhost"}, Methods: []string{"GET"}, Paths: []string{"/v1/*"}})
	if err != nil {
		t.Fatal(err)
	}
	gets := 0
	source := Source{Get: func(context.Context) (secret.Value, error) { gets++; return secret.NewValue(key), nil }}
	f, err := NewFetcher(FetcherOptions{
		Policy: policy, Network: network(t, NetworkOptions{
			Resolver: names{"api.example": "127.0.0.1", "wiki.example": "10.1.2.3"}, Dial: w.dial, Private: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")},
		}),
		Secrets: []Injection{{Handle: "key", Audience: "http://127.0.0.1:" + w.port(), Credential: Credential{Auth: Auth{Kind: AuthHeader, Name: "X-Key"}, Source: source}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	yes := func(context.Context, string, Target) error { return nil }
	for _, test := range []struct{ method, url, want string }{
		{"GET", "http://wiki.example/v1/a", ""},
		{"GET", "http://wiki.example/v2/a", "wiki.example leads to 10.1.2.3 (private)"}, // not over the kept connection either
		{"POST", "http://wiki.example/v1/a", "wiki.example leads to 10.1.2.3 (private)"},
		{"GET", "http://127.0.0.1:" + w.port() + "/v1/a", ""},
		{"GET", "http://127.0.0.1:" + w.port() + "/v2/a", "nobody is asked about such an address (loopback)"},
		{"DELETE", "http://localhost/v1/a", "nobody is asked about such an address (loopback)"},
		{"GET", "https://api.example/other", "api.example leads to 127.0.0.1 (loopback)"},
	} {
		_, err := f.Do(t.Context(), Fetch{Method: test.method, URL: test.url, Ask: yes})
		if test.want == "" && err != nil {
			t.Errorf("%s %s: %v", test.method, test.url, err)
		} else if test.want != "" {
			wantKind(t, err, KindPolicy, test.want)
		}
	}
	if gets != 1 || w.touched.Load() != 2 {
		t.Errorf("the secret was asked for %d times, %d requests came", gets, w.touched.Load())
	}
}

// TestAskedTakesNoSecret: the same origin gets the secret where the path is granted
// and not where it was asked for.
func TestAskedTakesNoSecret(t *testing.T) {
	w := newWorld(t, func(http.ResponseWriter, *http.Request) {})
	var seen []string
	secure := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.String()+" "+r.Header.Get("X-Key"))
	}))
	defer secure.Close()
	w.outer = secure
	policy, err := NewPolicy(Grant{Origins: []string{"https://example.com"}, Methods: []string{"GET"}, Paths: []string{"/v1/*"}})
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	f, err := NewFetcher(FetcherOptions{
		Policy: policy, Network: network(t, NetworkOptions{Resolver: names{"example.com": outerAddress}, Dial: w.dial, Roots: pemOf(secure)}),
		Record: func(r Record) { records = append(records, r) },
		Secrets: []Injection{
			{Handle: "header", Audience: "https://example.com", Credential: header("X-Key", key)},
			{Handle: "query", Audience: "https://example.com", Credential: Credential{Auth: Auth{Kind: AuthQuery, Name: "k"}, Source: fixed("query-secret")}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, path := range []string{"/v1/a", "/v2/a"} {
		if _, err := f.Do(t.Context(), Fetch{Method: "GET", URL: "https://example.com" + path, Ask: func(context.Context, string, Target) error { return nil }}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"/v1/a?k=query-secret " + key, "/v2/a "}, seen); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"header", "query"}, nil}, [][]string{records[0].Handles, records[1].Handles}); diff != "" {
		t.Error(diff)
	}
}
