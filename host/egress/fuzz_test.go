package egress

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// FuzzPolicy: rights never widen. What is allowed has the origin and the method of
// the grant and a path that its pattern stands for, whoever reads the URL; and a
// canonical URL is its own canonical form.
func FuzzPolicy(f *testing.F) {
	for _, text := range []string{
		"https://api.example/v1/a", "https://API.example:443/v1/../v1/%2e/b?q#f", "https://user@api.example/v1/a", "https://api.example/v1/a%2fb",
		"https://api.example/v1/..;/x", "http://0x7f.1/v1/a", "http://[::ffff:7f00:1]/", "https://api.example/v1/%252e%252e/x", "https://api.example\\@evil/",
		"http://127.0.0.1:8080/files/a/b%20c", "https://ａｐｉ.example/v1/é", "https://api.example./v1/a", "//api.example/v1/a", "https://api.example/v1/a?b=%zz",
	} {
		f.Add("GET", text, "/v1/*")
		f.Add("POST", text, "/files/**")
		f.Add("DELETE", text, "/v*/%2A*b")
	}
	f.Fuzz(func(t *testing.T, method, text, granted string) {
		target, err := ParseURL(text)
		if err != nil {
			return
		}
		canonical(t, target)
		grant := Grant{Origins: []string{"https://api.example", "http://127.0.0.1:8080"}, Methods: []string{"GET", "POST"}, Paths: []string{granted}}
		policy, err := NewPolicy(grant)
		if err != nil || policy.Check(method, target) != nil {
			return
		}
		if !slices.Contains(grant.Origins, target.Origin.String()) || !slices.Contains(grant.Methods, method) {
			t.Fatalf("%s %s is allowed", method, target)
		}
		once, err := url.PathUnescape(target.Path)
		if err != nil {
			t.Fatal(err)
		}
		if stands := regexp.MustCompile(literally(t, granted)); !stands.MatchString(once) {
			t.Fatalf("%q is allowed by %q, which is %s", once, granted, stands)
		}
	})
}

// canonical checks what holds for every canonical URL, by a reader of its own.
func canonical(t *testing.T, target Target) {
	text := target.String()
	if again, err := ParseURL(text); err != nil || again != target {
		t.Fatalf("%s becomes %s, %v", text, again, err)
	}
	if wire := target.wire().String(); wire != text {
		t.Fatalf("%s is sent as %s", text, wire)
	}
	read, err := url.Parse(text)
	if err != nil || read.Hostname() != target.Origin.Host || read.User != nil || read.Fragment != "" || read.Opaque != "" {
		t.Fatalf("%s is read as %+v, %v", text, read, err)
	}
	// A server may decode first, drop what follows a semicolon, and clean the path.
	for _, seen := range []string{read.Path, regexp.MustCompile(`;[^/]*`).ReplaceAllString(read.Path, "")} {
		if clean := path.Clean(seen); strings.TrimSuffix(seen, "/") != strings.TrimSuffix(clean, "/") {
			t.Fatalf("%s is cleaned from %q to %q", text, seen, clean)
		}
	}
	if again, err := url.PathUnescape(read.Path); err == nil && again != read.Path {
		t.Fatalf("%s is encoded twice", text)
	}
	if strings.ContainsAny(read.Path, "\\\x00\r\n") || strings.ContainsAny(text, " \\\r\n\t") {
		t.Fatalf("%q has what it must not have", text)
	}
}

// literally is a pattern as a regular expression on the decoded path.
func literally(t *testing.T, pattern string) string {
	canonical, err := canonicalPath(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	steps := strings.Split(canonical[1:], "/")
	for i, step := range steps {
		b.WriteByte('/')
		if step == "**" && i == len(steps)-1 {
			b.WriteString("(?s:.*)")
			break
		}
		if strings.Trim(step, "*") == "" && step != "" {
			b.WriteString("[^/]+")
			continue
		}
		for j, text := range strings.Split(step, "*") {
			if j > 0 {
				b.WriteString("[^/]*")
			}
			plain, err := url.PathUnescape(text)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(regexp.QuoteMeta(plain))
		}
	}
	return "^" + b.String() + "$"
}
