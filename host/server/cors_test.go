package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
)

const page = "https://console.example:8443"

// TestCORS: pages of a configured origin may read every answer, refusals too, and no
// other page anything; credentials of the browser never count.
func TestCORS(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *server.Options) { o.AllowedOrigins = []string{page, "http://other.example"} })
	session := r.Session()
	large := strings.Repeat(" ", protocol.MaxFrame+1)
	for name, test := range map[string]struct {
		c      call
		status int
		allow  string // Access-Control-Allow-Origin
	}{
		"good":             {call{method: "GET", path: "/v1/sessions", token: r.admin}, 200, page},
		"a write":          {call{method: "POST", path: "/v1/sessions", body: "{}", token: r.admin}, 201, page},
		"a probe":          {call{method: "GET", path: "/healthz"}, 200, page},
		"no token":         {call{method: "GET", path: "/v1/sessions"}, 401, page},
		"no right":         {call{method: "GET", path: "/v1/tokens", token: r.token(protocol.ScopeRead)}, 403, page},
		"no route":         {call{method: "GET", path: "/nowhere", token: r.admin}, 404, page},
		"bad body":         {call{method: "POST", path: "/v1/sessions", body: "{", token: r.admin}, 400, page},
		"too large":        {call{method: "POST", path: "/v1/sessions", body: large, token: r.admin}, 413, page},
		"unknown session":  {call{method: "GET", path: "/v1/sessions/ses_none", token: r.admin}, 404, page},
		"events":           {call{method: "GET", path: "/v1/sessions/" + session + "/events", token: r.admin}, 200, page},
		"another origin":   {call{method: "GET", path: "/healthz", header: map[string]string{"Origin": "https://evil.example"}}, 403, ""},
		"another port":     {call{method: "GET", path: "/healthz", header: map[string]string{"Origin": "https://console.example"}}, 403, ""},
		"null":             {call{method: "GET", path: "/healthz", header: map[string]string{"Origin": "null"}}, 403, ""},
		"the other page":   {call{method: "GET", path: "/healthz", header: map[string]string{"Origin": "http://other.example"}}, 200, "http://other.example"},
		"own page":         {call{method: "GET", path: "/healthz", header: map[string]string{"Origin": r.url}}, 200, ""},
		"no page":          {call{method: "GET", path: "/healthz", header: map[string]string{"Origin": ""}}, 200, ""},
		"wrong host first": {call{method: "GET", path: "/healthz", host: "evil.example"}, 403, ""},
	} {
		if test.c.header == nil {
			test.c.header = map[string]string{"Origin": page}
		}
		if test.c.header["Origin"] == "" {
			delete(test.c.header, "Origin")
		}
		status, header, body := r.do(test.c)
		if status != test.status || header.Get("Access-Control-Allow-Origin") != test.allow {
			t.Errorf("%s: %d, allowed %q, want %d and %q: %.100s", name, status, header.Get("Access-Control-Allow-Origin"), test.status, test.allow, body)
		}
		if header.Get("Vary") != "Origin" || header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %v", name, header)
		}
	}
}

// TestPreflight: a browser asks before it sends a token or JSON. The question needs
// no token and has no effect.
func TestPreflight(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *server.Options) { o.AllowedOrigins = []string{page} })
	ask := func(origin, method string) (int, http.Header) {
		header := map[string]string{"Access-Control-Request-Method": method, "Access-Control-Request-Headers": "authorization,content-type"}
		if origin != "" {
			header["Origin"] = origin
		}
		status, answer, _ := r.do(call{method: "OPTIONS", path: "/v1/sessions", header: header})
		return status, answer
	}
	status, header := ask(page, "POST")
	if status != http.StatusNoContent {
		t.Fatalf("answered %d", status)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":  page,
		"Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
		"Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Traceparent",
		"Access-Control-Max-Age":       "600",
		"Vary":                         "Origin",
	} {
		diff(t, name, want, header.Get(name))
	}
	for origin, want := range map[string]int{"https://evil.example": 403, "null": 403, "": 401, r.url: 401} {
		if status, header := ask(origin, "POST"); status != want || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("origin %q answered %d %v", origin, status, header)
		}
	}
	if list := get[protocol.SessionList](r, call{method: "GET", path: "/v1/sessions"}); len(list.Sessions) != 0 {
		t.Errorf("a preflight made %+v", list)
	}
	// OPTIONS without the question is a request like any other.
	if p := r.problem(call{method: "OPTIONS", path: "/v1/sessions", header: map[string]string{"Origin": page}}); p.Code != protocol.Unauthenticated {
		t.Errorf("%+v", p)
	}
}
