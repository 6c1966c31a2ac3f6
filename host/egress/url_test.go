package egress

import (
	"strings"
	"testing"
)

// TestCanonical: different ways to write a URL, and the one that is decided on.
func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"https://api.example":                                         "https://api.example/",
		"HTTPS://API.Example:443/":                                    "https://api.example/",
		"http://api.example:80/a":                                     "http://api.example/a",
		"http://api.example:443/a":                                    "http://api.example:443/a",
		"https://api.example?q":                                       "https://api.example/?q",
		"https://api。example/":                                        "https://api.example/",
		"https://ＡＰＩ.example/":                                        "https://api.example/",
		"https://BÜCHER.example/":                                     "https://xn--bcher-kva.example/",
		"https://xn--bcher-kva.example/":                              "https://xn--bcher-kva.example/",
		"https://my_service:8080/":                                    "https://my_service:8080/",
		"http://192.0.2.1/":                                           "http://192.0.2.1/",
		"http://①②⑦.⓪.⓪.①/":                                           "http://127.0.0.1/",
		"http://[2001:DB8:0:0::1]:80/":                                "http://[2001:db8::1]/",
		"https://api.example/a/./b/../c":                              "https://api.example/a/c",
		"https://api.example/a/%2e%2E/c/%2E":                          "https://api.example/c/",
		"https://api.example/../../a":                                 "https://api.example/a",
		"https://api.example/a/b/..":                                  "https://api.example/a/",
		"https://api.example/%61%7e%2d":                               "https://api.example/a~-",
		"https://api.example/a%3ab%2fc%2Bd":                           "https://api.example/a%3Ab%2Fc%2Bd",
		"https://api.example/a:b+c;d=e,@!$&'()*":                      "https://api.example/a:b+c;d=e,@!$&'()*",
		"https://api.example/a b/é|\"<>^`{}[]":                        "https://api.example/a%20b/%C3%A9%7C%22%3C%3E%5E%60%7B%7D%5B%5D",
		"https://api.example/?a=%7e&b=%c3%a9&c=ü x":                   "https://api.example/?a=~&b=%C3%A9&c=%C3%BC%20x",
		"https://api.example/?u=https%3a%2f%2fx%2f%3fq%3d%2520&l=%0a": "https://api.example/?u=https%3A%2F%2Fx%2F%3Fq%3D%2520&l=%0A",
		"https://api.example/?a?b/c@d:e":                              "https://api.example/?a?b/c@d:e",
	} {
		target, err := ParseURL(text)
		if err != nil || target.String() != want {
			t.Errorf("%s: %s, %v; want %s", text, target, err, want)
			continue
		}
		if again, err := ParseURL(target.String()); err != nil || again != target {
			t.Errorf("%s: again %s, %v", text, again, err)
		}
		if wire := target.wire().String(); wire != want {
			t.Errorf("%s: sent as %s", text, wire)
		}
	}
}

// TestLength: it is that of the canonical form too.
func TestLength(t *testing.T) {
	for text, fits := range map[string]bool{
		"https://api.example/" + strings.Repeat("a", 8172): true, "https://api.example/" + strings.Repeat("a", 8173): false,
		"https://api.example/" + strings.Repeat("`", 2724): true, "https://api.example/" + strings.Repeat("`", 2725): false,
	} {
		if _, err := ParseURL(text); fits != (err == nil) {
			t.Errorf("%d bytes: %v", len(text), err)
		} else if err != nil {
			wantLimit(t, err, KindLimit, "url", "the limit is 8192")
		}
	}
}

// TestPathTricks: nothing that a grant for /v1/* does not stand for gets through.
func TestPathTricks(t *testing.T) {
	policy, err := NewPolicy(Grant{Origins: []string{"https://api.example"}, Methods: []string{"GET"}, Paths: []string{"/v1/*", "/files/**", "/a%2Ab", "/x-*-y/*.json"}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/v1/a": "", "/v1/a;b=c": "", "/v1/*": "", "/v1/a:b": "", "/v1/%2e%2e/v1/a": "", "/v1/...": "", "/v1/..a": "",
		"/files/": "", "/files/a": "", "/files/a/b/": "", "/files/a%2Fb": "", "/a*b": "", "/a%2ab": "",
		"/x-1-y/a.json": "", "/x--y/.json": "", "/x-1-y-y/a.json.json": "",

		"/":                   "the path / is not granted",
		"/v1":                 "not granted",
		"/v1/":                "not granted",
		"/v1/a/b":             "not granted",
		"/v1/a/":              "not granted",
		"/V1/a":               "not granted",
		"/v1a":                "not granted",
		"/v1a/b":              "not granted",
		"/v1/../admin":        "the path /admin is not granted",
		"/v1/%2e%2e/admin":    "the path /admin is not granted",
		"/v1/%2E./admin":      "the path /admin is not granted",
		"/v1/./../admin":      "the path /admin is not granted",
		"/v1/a%2Fb":           "not granted", // two steps for a server that decodes first
		"/v1/a%2f..%2f..%2fb": "must not hide",
		"/v1/..%2fadmin":      "must not hide",
		"/v1/%2e%2e%2fadmin":  "must not hide",
		"/v1/..;/admin":       "must not hide",
		"/v1/..;x=y/admin":    "must not hide",
		"/v1/..%3B/admin":     "must not hide",
		"/v1/.;/a":            "must not hide",
		"/v1/;x/a":            "must not hide",
		"/v1/..%20/admin":     "must not hide",
		"/v1/a%2F":            "must not hide",
		"/v1/%252e%252e/x":    "percent-encoded twice",
		"/v1/%25%32%65":       "percent-encoded twice",
		"/v1/..%5cadmin":      "no backslash",
		"/v1/a%5Cb":           "no backslash",
		`/v1/..\admin`:        "no backslash",
		"/v1//a":              "no empty step",
		"//v1/a":              "no empty step",
		"/v1/a%00":            "control character",
		"/v1/a%0d%0aHost:x":   "control character",
		"/v1/a%C2%85":         "control character",
		"/v1/%c0%ae%c0%ae/x":  "must be UTF-8",
		"/v1/%zz":             "two hexadecimal digits",
		"/v1/%":               "two hexadecimal digits",
		"/v1/%4":              "two hexadecimal digits",
		"/files":              "not granted",
		"/files/../x":         "not granted",
		"/x-y/a.json":         "not granted",
		"/x-1-y/a.jso":        "not granted",
		"/axb":                "not granted",
	} {
		target, err := ParseURL("https://api.example" + path)
		if err == nil {
			err = policy.Check("GET", target)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s (%s): %v, want %q", path, target.Path, err, want)
		}
	}
}

func TestGrants(t *testing.T) {
	good := Grant{Origins: []string{"https://api.example"}, Methods: []string{"GET"}, Paths: []string{"/**"}}
	for _, test := range []struct {
		change func(*Grant)
		want   string
	}{
		{func(g *Grant) { g.Origins = nil }, "grant 2: origins: name at least one"},
		{func(g *Grant) { g.Methods = nil }, "grant 2: methods: name at least one"},
		{func(g *Grant) { g.Paths = nil }, "grant 2: paths: name at least one; /** is all"},
		{func(g *Grant) { g.Origins = []string{"https://api.example/"} }, "must have no path"},
		{func(g *Grant) { g.Origins = []string{"https://api.example?x"} }, "must have no path and no query"},
		{func(g *Grant) { g.Origins = []string{"https://*.example"} }, "characters that no name has"},
		{func(g *Grant) { g.Origins = []string{"api.example"} }, "must begin with https://"},
		{func(g *Grant) { g.Origins = []string{"http://0.0.0.0"} }, "no service has this address"},
		{func(g *Grant) { g.Origins = []string{"http://224.0.0.1"} }, "no service has this address"},
		{func(g *Grant) { g.Origins = []string{"http://[::ffff:127.0.0.1]"} }, "stands for an IPv4 address (127.0.0.1); write that one"},
		{func(g *Grant) { g.Methods = []string{"get"} }, `there is no "get"`},
		{func(g *Grant) { g.Methods = []string{"*"} }, `there is no "*"`},
		{func(g *Grant) { g.Paths = []string{"v1"} }, "begins with /"},
		{func(g *Grant) { g.Paths = []string{"/v1/../x"} }, "steps . and .."},
		{func(g *Grant) { g.Paths = []string{"/v1/%2e/x"} }, "steps . and .."},
		{func(g *Grant) { g.Paths = []string{"/**/x"} }, "** must be the whole last step"},
		{func(g *Grant) { g.Paths = []string{"/a**"} }, "** must be the whole last step"},
		{func(g *Grant) { g.Paths = []string{"/a?b"} }, "no ? and no #"},
		{func(g *Grant) { g.Paths = []string{`/a\b`} }, "no backslash"},
		{func(g *Grant) { g.Paths = []string{"/a//b"} }, "no empty step"},
		{func(g *Grant) { g.Paths = []string{"/" + strings.Repeat("*a", 33)} }, "more than 32 stars"},
	} {
		bad := good
		test.change(&bad)
		_, err := NewPolicy(good, bad)
		if err == nil {
			t.Errorf("%v passed, want %q", bad, test.want)
			continue
		}
		wantKind(t, err, KindPolicy, test.want, "grant 2: ")
	}
	var nothing *Policy
	if err := nothing.Check("GET", Target{Origin: Origin{"https", "api.example", 443}, Path: "/"}); err == nil {
		t.Error("a policy of nothing allows something")
	}
}

// TestCombinations: each grant stands for itself; they are not mixed.
func TestCombinations(t *testing.T) {
	policy, err := NewPolicy(
		Grant{Origins: []string{"https://a.example", "http://127.0.0.1:8080"}, Methods: []string{"GET", "POST"}, Paths: []string{"/a"}},
		Grant{Origins: []string{"https://a.example"}, Methods: []string{"DELETE"}, Paths: []string{"/b"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]string{
		"GET https://a.example/a": "", "POST http://127.0.0.1:8080/a": "", "DELETE https://a.example/b": "",
		"DELETE https://a.example/a":    "the path /a is not granted for DELETE https://a.example",
		"GET https://a.example/b":       "the path /b is not granted for GET https://a.example",
		"PUT https://a.example/a":       "the method PUT is not granted for https://a.example",
		"HEAD https://a.example/a":      "the method HEAD is not granted",
		"DELETE http://127.0.0.1:8080/": "the method DELETE is not granted",
		"GET http://a.example/a":        "http://a.example is not granted",
		"GET https://a.example:444/a":   "https://a.example:444 is not granted",
		"GET http://127.0.0.1/a":        "http://127.0.0.1 is not granted",
	} {
		method, url, _ := strings.Cut(request, " ")
		target, err := ParseURL(url)
		if err == nil {
			err = policy.Check(method, target)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", request, err, want)
		}
	}
}
