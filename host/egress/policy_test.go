package egress

import (
	"io"
	"log"
	"strings"
	"testing"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func TestBaseURL(t *testing.T) {
	for base, ok := range map[string]bool{
		"https://api.example/v1": true, "https://api.example": true, "https://api.example:8443/a/b/": true,
		"http://127.0.0.1:8080/v1": true, "http://localhost:1": true, "http://[::1]:1/": true,
		"http://api.example/v1":         false, // a secret in the clear
		"http://127.0.0.1.example/v1":   false,
		"https://user:pw@api.example":   false,
		"https://api.example/?key=1":    false,
		"https://api.example/#x":        false,
		"https://api.example/a/../b":    false,
		"https://api.example/a/%2e%2e/": false,
		"https://":                      false,
		"ftp://api.example":             false,
		"api.example/v1":                false,
		"/v1":                           false,
		"":                              false,
		"https://api.example/%zz":       false,
	} {
		_, err := New(Options{BaseURL: base, Secret: withKey})
		if ok != (err == nil) {
			t.Errorf("%s: %v", base, err)
		}
		if err != nil {
			wantKind(t, err, KindPolicy)
			if strings.Contains(err.Error(), "pw") {
				t.Errorf("%s: the error shows the password: %v", base, err)
			}
		}
	}
	if _, err := New(Options{BaseURL: "http://models.lan:8080/v1"}); err != nil {
		t.Errorf("plain http without a secret: %v", err)
	}
}

func TestAuthIsChecked(t *testing.T) {
	for _, auth := range []Auth{
		{Kind: "sigv4", Name: "x"}, {Kind: "header"}, {Kind: "header", Name: "a b"}, {Kind: "query"},
		{Kind: "header", Name: "x", Value: "Bearer"},
	} {
		_, err := New(Options{BaseURL: "https://api.example", Auth: auth})
		if err == nil {
			t.Errorf("%+v passed", auth)
			continue
		}
		wantKind(t, err, KindPolicy)
	}
}

func TestPaths(t *testing.T) {
	client := connect(t, Options{BaseURL: "https://api.example/base/v1"})
	for path, want := range map[string]string{
		"":                             "https://api.example/base/v1",
		"/":                            "https://api.example/base/v1",
		"chat/completions":             "https://api.example/base/v1/chat/completions",
		"/chat/completions":            "https://api.example/base/v1/chat/completions",
		"models/":                      "https://api.example/base/v1/models/",
		"models/gemini-1.5:generate":   "https://api.example/base/v1/models/gemini-1.5:generate",
		"model/arn%3Aaws%2Fprofile/go": "https://api.example/base/v1/model/arn%3Aaws%2Fprofile/go",
		"with space":                   "https://api.example/base/v1/with%20space",
		"http://evil.example/x":        "", // an empty step
		"//evil.example/x":             "",
		"..":                           "",
		"../admin":                     "",
		"a/../../admin":                "",
		"a/./b":                        "",
		"%2e%2e/admin":                 "",
		"%2E./admin":                   "",
		"a%2f..%2f..%2fadmin":          "",
		"%252e%252e/admin":             "",
		"a\\..\\b":                     "",
		"a%5cb":                        "",
		"a?key=1":                      "",
		"a#b":                          "",
		"a%00b":                        "",
		"a\nb":                         "",
		"a%0d%0ab":                     "",
		"a%zz":                         "",
		"a//b":                         "",
		"user@evil.example:80/../x":    "",
	} {
		target, err := client.policy(Request{Method: "GET", Path: path})
		if want == "" {
			if err == nil {
				t.Errorf("%q goes to %s", path, target)
				continue
			}
			wantKind(t, err, KindPolicy)
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", path, err)
		} else if target.String() != want {
			t.Errorf("%q goes to %s, want %s", path, target, want)
		}
	}
	target, err := client.policy(Request{Method: "GET", Path: "user@evil.example:80"})
	if err != nil || target.Host != "api.example" {
		t.Errorf("%v, %v", target, err)
	}
}

func TestHeadersQueriesAndMethods(t *testing.T) {
	client := connect(t, Options{BaseURL: "https://api.example", Auth: Auth{Kind: "header", Name: "X-Goog-Api-Key"}})
	for _, name := range []string{"Host", "host", "Authorization", "authorization", "Proxy-Authorization", "Cookie", "Connection",
		"Transfer-Encoding", "Content-Length", "TE", "Upgrade", "X-Forwarded-For", "x-goog-api-key", "Accept-Encoding", "a b", "", "a:b", "x\r\ny"} {
		if _, err := client.policy(Request{Method: "GET", Headers: map[string]string{name: "v"}}); err == nil {
			t.Errorf("the header %q passed", name)
		}
	}
	for _, value := range []string{"a\r\nb: c", "a\x00b", "\x7f"} {
		if _, err := client.policy(Request{Method: "GET", Headers: map[string]string{"X-A": value}}); err == nil {
			t.Errorf("the value %q passed", value)
		}
	}
	if _, err := client.policy(Request{Method: "POST", Headers: map[string]string{"Content-Type": "application/json", "anthropic-version": "2023-06-01"}}); err != nil {
		t.Error(err)
	}
	for _, method := range []string{"", "CONNECT", "TRACE", "get", "GET /x", "OPTIONS"} {
		if _, err := client.policy(Request{Method: method}); err == nil {
			t.Errorf("the method %q passed", method)
		}
	}
	query := connect(t, Options{BaseURL: "https://api.example", Auth: Auth{Kind: "query", Name: "key"}})
	if _, err := query.policy(Request{Method: "GET", Query: map[string]string{"KEY": "x"}}); err == nil {
		t.Error("the query's key passed")
	}
}
