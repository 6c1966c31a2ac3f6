package egress

import (
	"errors"
	"fmt"
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
	for want, auth := range map[string]Auth{
		`no auth kind "basic"; use header, query, sigv4 or oauth2`: {Kind: "basic", Name: "x"},
		"header needs a name, that of the header":                  {Kind: "header"},
		"query needs a name, that of the query parameter":          {Kind: "query"},
		"sigv4 needs a name, that of the AWS service":              {Kind: "sigv4"},
		"sigv4 needs a region":                                     {Kind: "sigv4", Name: "bedrock"},
		"sigv4 has no value":                                       {Kind: "sigv4", Name: "bedrock", Value: "x{secret}"},
		"oauth2 needs a token endpoint":                            {Kind: "oauth2"},
		`the header name "a b" is not valid`:                       {Kind: "header", Name: "a b"},
		`the header name "a:b" is not valid`:                       {Kind: "oauth2", Name: "a:b"},
		`the header "Host" is the host's to set`:                   {Kind: "header", Name: "Host"},
		`the header "transfer_encoding" is the host's to set`:      {Kind: "header", Name: "transfer_encoding"},
		"the value of the header \"X-Key\" is not valid":           {Kind: "header", Name: "X-Key", Value: "{secret}\r\nHost: x"},
		"is not valid": {Kind: "header", Name: "authorization", Value: "Bearer {secret}\n"},
		"the value of auth must have {secret} in it": {Kind: "header", Name: "x", Value: "Bearer"},
	} {
		_, err := New(Options{BaseURL: "https://api.example", Auth: auth})
		wantKind(t, err, KindPolicy, want)
	}
	for _, auth := range []Auth{{}, {Kind: "header", Name: "authorization", Value: "Bearer {secret}"}, {Kind: "header", Name: "Cookie", Value: "id={secret}"}, {Kind: "query", Name: "a b"}, {Kind: "sigv4", Name: "bedrock"}, {Kind: "oauth2"}} {
		if err := auth.Check(); err != nil {
			t.Errorf("%+v: %v", auth, err)
		}
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
		target, err := client.target(Request{Method: "GET", Path: path})
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
	target, err := client.target(Request{Method: "GET", Path: "user@evil.example:80"})
	if err != nil || target.Origin.Host != "api.example" {
		t.Errorf("%v, %v", target, err)
	}
}

func TestHeaders(t *testing.T) {
	limits := Limits{}.defaults(Limits{})
	many, large := map[string]string{}, map[string]string{}
	for i := range 65 {
		many[fmt.Sprintf("X-%d", i)] = "v"
	}
	for i := range 5 {
		large[fmt.Sprintf("X-%d", i)] = strings.Repeat("v", 8000)
	}
	for _, test := range []struct {
		headers map[string]string
		want    string
		limit   string
	}{
		{map[string]string{"Content-Type": "application/json", "anthropic-version": "2023-06-01", "User-Agent": "guest", "Range": "bytes=0-9", "If-None-Match": "x"}, "", ""},
		{map[string]string{"Host": "v"}, "the host's to set", ""},
		{map[string]string{"host": "v"}, "the host's to set", ""},
		{map[string]string{"Authorization": "v"}, "the host's to set", ""},
		{map[string]string{"aUTHORIZATION": "v"}, "the host's to set", ""},
		{map[string]string{"Proxy-Authorization": "v"}, "the host's to set", ""},
		{map[string]string{"proxy-connection": "v"}, "the host's to set", ""},
		{map[string]string{"Cookie": "v"}, "the host's to set", ""},
		{map[string]string{"Set-Cookie": "v"}, "the host's to set", ""},
		{map[string]string{"Connection": "v"}, "the host's to set", ""},
		{map[string]string{"Keep-Alive": "v"}, "the host's to set", ""},
		{map[string]string{"Transfer-Encoding": "chunked"}, "the host's to set", ""},
		{map[string]string{"Content-Length": "0"}, "the host's to set", ""},
		{map[string]string{"TE": "v"}, "the host's to set", ""},
		{map[string]string{"Trailer": "v"}, "the host's to set", ""},
		{map[string]string{"Upgrade": "websocket"}, "the host's to set", ""},
		{map[string]string{"HTTP2-Settings": "v"}, "the host's to set", ""},
		{map[string]string{"Expect": "100-continue"}, "the host's to set", ""},
		{map[string]string{"Accept-Encoding": "br"}, "the host's to set", ""},
		{map[string]string{"X-Forwarded-Host": "v"}, "the host's to set", ""},
		{map[string]string{"Forwarded": "v"}, "the host's to set", ""},
		{map[string]string{"Via": "v"}, "the host's to set", ""},
		{map[string]string{"X-Real-IP": "v"}, "the host's to set", ""},
		{map[string]string{"X-HTTP-Method-Override": "DELETE"}, "the host's to set", ""},
		{map[string]string{"X-Method-Override": "DELETE"}, "the host's to set", ""},
		{map[string]string{"X-Original-URL": "/admin"}, "the host's to set", ""},
		{map[string]string{"X-Rewrite-URL": "/admin"}, "the host's to set", ""},
		{map[string]string{"x-goog-api-key": "v"}, "the host's to set", ""}, // where the secret goes
		{map[string]string{"a b": "v"}, "is not valid", ""},
		{map[string]string{"": "v"}, "is not valid", ""},
		{map[string]string{"a:b": "v"}, "is not valid", ""},
		{map[string]string{"x\r\ny": "v"}, "is not valid", ""},
		{map[string]string{"X-é": "v"}, "is not valid", ""},
		{map[string]string{"X-A": "a\r\nHost: evil"}, "is not valid", ""},
		{map[string]string{"X-A": "a\nb"}, "is not valid", ""},
		{map[string]string{"X-A": "a\x00b"}, "is not valid", ""},
		{map[string]string{"X-A": "\x7f"}, "is not valid", ""},
		{map[string]string{"X-A": "1", "x-a": "2"}, "given twice", ""},
		{map[string]string{"X-A": "1", "x_a": "2"}, "given twice", ""},
		{map[string]string{"Transfer_Encoding": "chunked"}, "the host's to set", ""}, // what some servers take for it
		{map[string]string{"x_forwarded-for": "v"}, "the host's to set", ""},
		{map[string]string{"x_goog_api_key": "v"}, "the host's to set", ""},
		{map[string]string{"X-A": strings.Repeat("v", 8<<10+1)}, "has 8193 bytes, the limit is 8192", "request_header_bytes"},
		{map[string]string{strings.Repeat("x", 257): "v"}, "is not valid", ""},
		{many, "has 65 headers, the limit is 64", "request_headers"},
		{large, "more than 32768 bytes", "request_header_bytes"},
	} {
		got, err := guestHeaders(test.headers, []string{"X-Goog-Api-Key"}, limits)
		if test.want == "" {
			if err != nil || got.Get("Content-Type") != "application/json" || got.Get("User-Agent") != "guest" {
				t.Errorf("%v: %v, %v", test.headers, got, err)
			}
			continue
		}
		kind := KindPolicy
		if test.limit != "" {
			kind = KindLimit
		}
		if err == nil {
			t.Errorf("%v passed", test.headers)
			continue
		}
		wantKind(t, err, kind, test.want)
		if e, _ := errors.AsType[*Error](err); e.Limit != test.limit {
			t.Errorf("%v: the limit %q", err, e.Limit)
		}
	}
}

func TestQueriesAndMethods(t *testing.T) {
	client := connect(t, Options{BaseURL: "https://api.example", Auth: Auth{Kind: "query", Name: "key"}, Secret: withKey})
	for _, method := range []string{"", "CONNECT", "TRACE", "get", "GET /x", "OPTIONS", "GET\r\nX: y"} {
		if _, err := client.target(Request{Method: method}); err == nil {
			t.Errorf("the method %q passed", method)
		}
	}
	if _, err := client.target(Request{Method: "GET", Query: map[string]string{"KEY": "x"}}); err == nil {
		t.Error("the query's key passed")
	}
	_, err := client.target(Request{Method: "GET", Path: strings.Repeat("a", maxURL)})
	wantKind(t, err, KindLimit, "the limit is 8192")
}
