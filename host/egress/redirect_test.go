package egress

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// redirecting answers /CODE?to=URL with that redirect, and says what arrives
// elsewhere.
func redirecting(arrived *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if code, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); err == nil {
			w.Header().Set("Location", r.URL.Query().Get("to"))
			w.WriteHeader(code)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var headers []string
		for name := range r.Header {
			if !slices.Contains([]string{"Accept-Encoding", "User-Agent", "Content-Length"}, name) {
				headers = append(headers, name)
			}
		}
		slices.Sort(headers)
		*arrived = append(*arrived, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, strings.Join(headers, ","), body)))
	}
}

// TestRedirects is the matrix of codes, methods and origins.
func TestRedirects(t *testing.T) {
	var arrived []string
	first, second := serve(t, redirecting(&arrived)), serve(t, redirecting(&arrived))
	f := fetching(t, FetcherOptions{Limits: Limits{Burst: 1000}}, first, second)
	headers := map[string]string{"Accept": "text/plain", "Content-Type": "text/plain", "X-Mine": "x", "Referer": "x"}
	const all, noBody = "Accept,Content-Type,Referer,X-Mine", "Accept,Referer,X-Mine"
	for _, test := range []struct {
		code         int
		method, same string // what arrives at the same origin
		cross        string
	}{
		{301, "GET", "GET /to " + noBody, "GET /to Accept"},
		{302, "GET", "GET /to " + noBody, "GET /to Accept"},
		{303, "GET", "GET /to " + noBody, "GET /to Accept"},
		{307, "GET", "GET /to " + noBody, "GET /to Accept"},
		{308, "GET", "GET /to " + noBody, "GET /to Accept"},
		{301, "HEAD", "HEAD /to " + noBody, "HEAD /to Accept"},
		{303, "HEAD", "HEAD /to " + noBody, "HEAD /to Accept"},
		{301, "POST", "GET /to " + noBody, "GET /to Accept"},
		{302, "POST", "GET /to " + noBody, "GET /to Accept"},
		{303, "POST", "GET /to " + noBody, "GET /to Accept"},
		{307, "POST", "POST /to " + all + " body", "POST /to Accept,Content-Type body"},
		{308, "POST", "POST /to " + all + " body", "POST /to Accept,Content-Type body"},
		{301, "PUT", "PUT /to " + all + " body", "PUT /to Accept,Content-Type body"},
		{303, "PUT", "GET /to " + noBody, "GET /to Accept"},
		{307, "PUT", "PUT /to " + all + " body", "PUT /to Accept,Content-Type body"},
		{303, "DELETE", "GET /to " + noBody, "GET /to Accept"},
		{308, "DELETE", "DELETE /to " + all + " body", "DELETE /to Accept,Content-Type body"},
	} {
		fetch := Fetch{Method: test.method, Headers: headers}
		if test.method != "GET" && test.method != "HEAD" {
			fetch.Body = []byte("body")
		}
		for _, to := range []struct{ location, want string }{
			{first.URL + "/to#fragment", test.same}, {"/to", test.same}, {"to?x", test.same}, {second.URL + "/to", test.cross}, {strings.TrimPrefix(second.URL, "http:") + "/to", test.cross},
		} {
			arrived = nil
			fetch.URL = fmt.Sprintf("%s/%d?to=%s", first.URL, test.code, url.QueryEscape(to.location))
			fetched, err := f.Do(t.Context(), fetch)
			if err != nil || fetched.Redirects != 1 || !strings.Contains(fetched.URL, "/to") {
				t.Errorf("%s: %+v, %v", fetch.URL, fetched, err)
			}
			if diff := cmp.Diff([]string{to.want}, arrived); diff != "" {
				t.Errorf("%s %d to %s: %s", test.method, test.code, to.location, diff)
			}
		}
	}
}

func TestRedirectsThatAreNot(t *testing.T) {
	var arrived []string
	server := serve(t, redirecting(&arrived))
	f := fetching(t, FetcherOptions{Limits: Limits{Burst: 1000}}, server)
	for path, redirect := range map[string]string{
		"/302?to=/x":   RedirectManual,
		"/302":         RedirectFollow, // without a location
		"/304?to=/x":   RedirectFollow,
		"/300?to=/x":   RedirectFollow,
		"/305?to=/x":   RedirectFollow, // use proxy
		"/201?to=/x":   RedirectFollow,
		"/404?to=/x":   "",
		"/308?to=////": RedirectManual,
	} {
		fetched, err := f.Do(t.Context(), Fetch{Method: "GET", URL: server.URL + path, Redirect: redirect})
		if err != nil || fetched.Redirects != 0 || len(arrived) > 0 || !strings.HasPrefix(path, fmt.Sprintf("/%d", fetched.Status)) {
			t.Errorf("%s: %+v, %v, %q", path, fetched, err, arrived)
		}
	}
}

// TestRedirectsAreRefused: every hop is under the whole policy, its method too.
func TestRedirectsAreRefused(t *testing.T) {
	var arrived []string
	server := serve(t, redirecting(&arrived))
	elsewhere := serve(t, redirecting(&arrived))
	policy, err := NewPolicy(
		Grant{Origins: []string{server.URL}, Methods: []string{"GET", "POST"}, Paths: []string{"/*"}},
		Grant{Origins: []string{elsewhere.URL}, Methods: []string{"POST"}, Paths: []string{"/to"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	f, err := NewFetcher(FetcherOptions{Policy: policy, Record: func(r Record) { records = append(records, r) },
		Secrets: []Injection{{Handle: "k", Audience: server.URL, Credential: Credential{Auth: Auth{Kind: AuthQuery, Name: "key"}, Source: fixed("planted-secret")}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	loop := url.QueryEscape
	for _, test := range []struct {
		method, path, redirect string
		kind                   Kind
		want                   string
	}{
		{"GET", "/307?to=" + loop(elsewhere.URL+"/to"), "", KindPolicy, "the method GET is not granted for " + elsewhere.URL},
		{"POST", "/303?to=" + loop(elsewhere.URL+"/to"), "", KindPolicy, "the method GET is not granted"},
		{"POST", "/307?to=" + loop(elsewhere.URL+"/other"), "", KindPolicy, "the path /other is not granted"},
		{"GET", "/302?to=/a/b", "", KindPolicy, "the path /a/b is not granted"},
		{"GET", "/302?to=/to", RedirectError, KindPolicy, "redirects are not wanted"},
		{"GET", "/302?to=/to", "sideways", KindPolicy, "use follow, manual or error"},
		{"POST", "/307?to=" + loop(elsewhere.URL+"/to?x=planted-secret"), "", KindPolicy, "with a secret in the address"},
		{"POST", "/307?to=" + loop(elsewhere.URL+"/to?x=planted%2Dsecret"), "", KindPolicy, "with a secret in the address"},
		{"GET", "/302?to=" + loop("http://user:pw@127.0.0.1/"), "", KindPolicy, "must not hold a user name"},
		{"GET", "/302?to=" + loop("\x01"), "", "", ""}, // net/http takes no such header
	} {
		records = nil
		_, err := f.Do(t.Context(), Fetch{Method: test.method, URL: server.URL + test.path, Redirect: test.redirect})
		if test.want == "" {
			continue
		}
		wantKind(t, err, test.kind, test.want)
		if strings.Contains(fmt.Sprint(err, records), "planted-secret") || records[len(records)-1].Outcome != string(test.kind) {
			t.Errorf("%v, %+v", err, records)
		}
	}
	if len(arrived) > 0 {
		t.Errorf("arrived: %q", arrived)
	}
	// The server's own echo of the parameter is replaced, not doubled.
	if _, err := f.Do(t.Context(), Fetch{Method: "GET", URL: server.URL + "/302?to=" + loop("/to?key=planted-secret&a=b")}); err != nil || len(arrived) != 1 {
		t.Errorf("%v, %q", err, arrived)
	}
}

func TestEndlessRedirects(t *testing.T) {
	count := 0
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		count++
		w.Header().Set("Location", "/again")
		w.WriteHeader(http.StatusFound)
	})
	_, err := fetching(t, FetcherOptions{}, server).Do(t.Context(), Fetch{Method: "GET", URL: server.URL})
	wantLimit(t, err, KindLimit, "redirects", "after 5 times, the limit")
	if count != 6 {
		t.Errorf("%d requests", count)
	}
}

// TestNoWayBackToPlainHTTP: from https to http is refused though both are granted.
func TestNoWayBackToPlainHTTP(t *testing.T) {
	plain := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	server := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/", http.StatusFound))
	defer server.Close()
	policy, err := NewPolicy(Grant{Origins: []string{server.URL, plain.URL}, Methods: []string{"GET"}, Paths: []string{"/**"}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFetcher(FetcherOptions{Policy: policy, Network: network(t, NetworkOptions{Roots: pemOf(server)})})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = f.Do(t.Context(), Fetch{Method: "GET", URL: server.URL})
	wantKind(t, err, KindPolicy, "redirects from https to http")
}
