package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
)

func TestHost(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *server.Options) { o.AllowedHosts = []string{"Box.example"} })
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:4747": 200, "127.0.0.1": 200, "127.0.0.1:1": 200, "[::1]": 200, "[::1]:80": 200,
		"box.example": 200, "BOX.example:443": 200,
		"evil.example": 403, "localhost.evil.example": 403, "evil.example:4747": 403, "127.0.0.1.evil.example": 403,
		"box.example.evil.example": 403, "localhost@evil.example": 403, "0.0.0.0": 403, "192.168.0.1": 403, "::1": 200,
	} {
		for _, path := range []string{"/healthz", "/v1/sessions", protocol.LivePath} {
			status, _, body := r.do(call{method: "GET", path: path, host: host, token: r.admin})
			if refused := status == 403; refused != (want == 403) {
				t.Errorf("Host %q on %s answered %d %s", host, path, status, body)
			}
		}
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *server.Options) { o.AllowedOrigins = []string{"https://console.example"} })
	own := r.url
	for origin, want := range map[string]bool{
		"": true, own: true, "https://console.example": true, "HTTPS://console.example": true,
		"null": false, "http://console.example": false, "https://console.example.evil.example": false,
		"https://evil.example": false, "http://localhost": false, "http://127.0.0.1:1": false, "file://": false,
		strings.Replace(own, "http", "https", 1): false,
	} {
		for _, path := range []string{"/healthz", "/v1/sessions", protocol.LivePath} {
			c := call{method: "GET", path: path, token: r.admin}
			if origin != "" {
				c.header = map[string]string{"Origin": origin}
			}
			status, _, body := r.do(c)
			if refused := status == 403; refused == want {
				t.Errorf("Origin %q on %s answered %d %s", origin, path, status, body)
			}
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	r := start(t)
	expired, err := r.Create(t.Context(), server.Caller{}, protocol.CreateToken{Scopes: []protocol.Scope{protocol.ScopeRead}, LifetimeSeconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string]string{
		"none": "", "basic": "Basic cGxpbnRo", "empty": "Bearer ", "no scheme": r.admin, "cut": "Bearer " + r.admin[:len(r.admin)-1],
		"longer": "Bearer " + r.admin + "x", "prefix": "Bearer plinth_", "unknown": "Bearer plinth_AAAA_BBBB",
		"other secret": "Bearer " + r.admin[:30] + strings.Repeat("A", len(r.admin)-30), "huge": "Bearer plinth_a_" + strings.Repeat("x", 4096),
	} {
		for _, path := range []string{"/v1/sessions", "/v1/openapi.json", "/nowhere", protocol.LivePath} {
			c := call{method: "GET", path: path, header: map[string]string{}}
			if header != "" {
				c.header["Authorization"] = header
			}
			if p := r.problem(c); p.Code != protocol.Unauthenticated {
				t.Errorf("%s on %s: %+v", name, path, p)
			}
		}
	}
	if status, _, _ := r.do(call{method: "GET", path: "/v1/sessions", token: expired.Secret}); status != 200 {
		t.Errorf("a fresh token answered %d", status)
	}
	if status, header, _ := r.do(call{method: "GET", path: "/v1/sessions"}); status != 401 || header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("without a token: %d, WWW-Authenticate %q", status, header.Get("WWW-Authenticate"))
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, _, _ := r.do(call{method: "GET", path: path}); status != 200 {
			t.Errorf("%s without a token answered %d", path, status)
		}
	}
	// A token in the URL is none.
	if p := r.problem(call{method: "GET", path: "/v1/sessions?token=" + r.admin}); p.Code != protocol.Unauthenticated {
		t.Errorf("a token in the URL: %+v", p)
	}
}

// TestOrder: each check comes before all that follow, so that a request that fails
// several is told of the first.
func TestOrder(t *testing.T) {
	t.Parallel()
	r := start(t)
	reader := r.token(protocol.ScopeRead)
	steps := []struct {
		name string
		want protocol.Code
		fix  func(*call)
	}{
		{"host", protocol.Forbidden, func(c *call) { c.host = "" }},
		{"origin", protocol.Forbidden, func(c *call) { delete(c.header, "Origin") }},
		{"size", protocol.TooLarge, func(c *call) { c.body = `{"nonsense":1}` }},
		{"authentication", protocol.Unauthenticated, func(c *call) { c.token = reader }},
		{"rights", protocol.Forbidden, func(c *call) { c.token = r.admin }},
		{"body", protocol.BadRequest, func(c *call) { c.body = `{}` }},
	}
	texts := map[string]bool{}
	c := call{
		method: "POST", path: "/v1/sessions", host: "evil.example", header: map[string]string{"Origin": "https://evil.example"},
		body: strings.Repeat(" ", protocol.MaxFrame+1), token: "plinth_no_no",
	}
	for _, step := range steps {
		p := r.problem(c)
		if p.Code != step.want || texts[p.Detail] {
			t.Errorf("before %s is right the answer is %+v", step.name, p)
		}
		texts[p.Detail] = true
		step.fix(&c)
	}
	if status, _, body := r.do(c); status != 201 {
		t.Errorf("with all right: %d %s", status, body)
	}
}

func TestUpgradeNeedsEveryCheck(t *testing.T) {
	t.Parallel()
	r := start(t)
	good := func() http.Header { return http.Header{"Authorization": {"Bearer " + r.admin}} }
	for name, test := range map[string]struct {
		change func(http.Header)
		want   int
	}{
		"good":   {func(http.Header) {}, 101},
		"token":  {func(h http.Header) { h.Set("Authorization", "Bearer plinth_no_no") }, 401},
		"none":   {func(h http.Header) { h.Del("Authorization") }, 401},
		"origin": {func(h http.Header) { h.Set("Origin", "https://evil.example") }, 403},
		"host":   {func(h http.Header) { h.Set("Host", "evil.example") }, 403},
	} {
		header := good()
		test.change(header)
		_, response, _ := r.dial(header)
		if response == nil || response.StatusCode != test.want {
			t.Errorf("%s: %v, want %d", name, response, test.want)
		}
	}
	if p := r.refused(call{method: "GET", path: protocol.LivePath}); p.Code != protocol.BadRequest {
		t.Errorf("without an upgrade: %+v", p)
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	ask := r.Ask(session)
	routes := []struct {
		scope        protocol.Scope
		method, path string
		body         string
	}{
		{protocol.ScopeRead, "GET", "/v1/sessions", ""},
		{protocol.ScopeRead, "GET", "/v1/sessions/" + session, ""},
		{protocol.ScopeRead, "GET", "/v1/sessions/" + session + "/messages", ""},
		{protocol.ScopeRead, "GET", "/v1/sessions/" + session + "/inbox", ""},
		{protocol.ScopeRead, "GET", "/v1/sessions/" + session + "/events", ""},
		{protocol.ScopeRead, "GET", "/v1/permissions", ""},
		{protocol.ScopeWrite, "POST", "/v1/sessions", "{}"},
		{protocol.ScopeWrite, "POST", "/v1/sessions/" + session + "/prompts", `{"text":"x"}`},
		{protocol.ScopeWrite, "POST", "/v1/sessions/" + session + "/interrupt", ""},
		{protocol.ScopeApprove, "POST", "/v1/permissions/" + ask + "/reply", `{"reply":"once"}`},
		{protocol.ScopeRead, "GET", "/v1/questions", ""},
		{protocol.ScopeRead, "GET", "/v1/approvals", ""},
		{protocol.ScopeRead, "GET", "/v1/sessions/" + session + "/todos", ""},
		{protocol.ScopeApprove, "POST", "/v1/questions/que_none/answer", `{"answers":[["x"]]}`},
		{protocol.ScopeApprove, "POST", "/v1/questions/que_none/dismiss", ""},
		{protocol.ScopeApprove, "DELETE", "/v1/approvals/apr_none", ""},
		{protocol.ScopeRead, "GET", "/v1/host/events", ""},
		{protocol.ScopeRead, "GET", "/v1/plugins", ""},
		{protocol.ScopeRead, "GET", "/v1/plugins/a/b", ""},
		{protocol.ScopePlugins, "POST", "/v1/plugins", `{"url":"https://x"}`},
		{protocol.ScopePlugins, "PATCH", "/v1/plugins/a/b", `{"action":"disable"}`},
		{protocol.ScopePlugins, "DELETE", "/v1/plugins/a/b", ""},
		{protocol.ScopePlugins, "POST", "/v1/plugins/trusted", `{"root":"/p"}`},
		{protocol.ScopePlugins, "DELETE", "/v1/plugins/trusted?root=/p", ""},
		{protocol.ScopePlugins, "POST", "/v1/plugins/reload", ""},
		{protocol.ScopeAdmin, "GET", "/v1/tokens", ""},
		{protocol.ScopeAdmin, "POST", "/v1/tokens", `{"scopes":["admin"]}`},
		{protocol.ScopeAdmin, "DELETE", "/v1/tokens/tok_none", ""},
	}
	for _, scope := range protocol.Scopes() {
		token := r.token(scope)
		for _, route := range routes {
			status, _, _ := r.do(call{method: route.method, path: route.path, body: route.body, token: token})
			if allowed := status != 403; allowed != (scope == route.scope || scope == protocol.ScopeAdmin) {
				t.Errorf("%s %s with %s answered %d", route.method, route.path, scope, status)
			}
		}
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	r := start(t)
	session := r.Session()
	path := "/v1/sessions/" + session + "/prompts"
	exact := `{"text":"` + strings.Repeat("x", protocol.MaxFrame-len(`{"text":""}`)) + `"}`
	for name, test := range map[string]struct {
		c    call
		want protocol.Code
		text string
	}{
		"unknown field":      {call{body: `{"text":"x","txet":1}`}, protocol.BadRequest, `"txet"`},
		"unknown inner":      {call{body: `{"text":"x","model":{"provider":"a","name":"b"}}`}, protocol.BadRequest, `"name"`},
		"wrong type":         {call{body: `{"text":7}`}, protocol.BadRequest, `"text"`},
		"not JSON":           {call{body: `{"text":`}, protocol.BadRequest, "cut off"},
		"two values":         {call{body: `{"text":"x"} {}`}, protocol.BadRequest, "more than one"},
		"no body":            {call{}, protocol.BadRequest, "body is required"},
		"form":               {call{body: "text=x", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, protocol.BadRequest, "application/json"},
		"plain text":         {call{body: `{"text":"x"}`, header: map[string]string{"Content-Type": "text/plain"}}, protocol.BadRequest, "application/json"},
		"one byte too large": {call{body: exact + " "}, protocol.TooLarge, "1048576"},
		"unknown query":      {call{path: path + "?wiat=settled", body: `{"text":"x"}`}, protocol.BadRequest, "wiat"},
		"bad query":          {call{path: path + "?wait=maybe", body: `{"text":"x"}`}, protocol.BadRequest, "wait"},
	} {
		test.c.method = "POST"
		if test.c.path == "" {
			test.c.path = path
		}
		p := r.refused(test.c)
		if p.Code != test.want || !strings.Contains(p.Detail, test.text) {
			t.Errorf("%s: %+v, want %s with %q", name, p, test.want, test.text)
		}
	}
	if status, _, body := r.do(call{method: "POST", path: path, body: exact, token: r.admin}); status != 202 {
		t.Errorf("a body of exactly the limit answered %d %.100s", status, body)
	}
	if status, _, body := r.do(call{method: "POST", path: path, body: `{"text":"x"}`, token: r.admin,
		header: map[string]string{"Content-Type": "application/json; charset=utf-8"}}); status != 202 {
		t.Errorf("with a charset: %d %s", status, body)
	}
}

// TestChunkedBody: a body without a declared length is bounded as it is read.
func TestChunkedBody(t *testing.T) {
	t.Parallel()
	r := start(t)
	conn, err := net.DialTimeout("tcp", r.url[len("http://"):], patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", r.admin)
	go func() {
		chunk := strings.Repeat(" ", 64<<10)
		for range 20 {
			if _, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(chunk), chunk); err != nil {
				return
			}
		}
		fmt.Fprint(conn, "0\r\n\r\n")
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("answered %d %s", response.StatusCode, body)
	}
}
