package egress

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// Target is a URL in canonical form: what the policy decides on and, to the byte,
// what is sent. Parsing its String again gives the same Target.
type Target struct {
	Origin Origin
	Path   string // begins with "/"; percent-encoded
	Query  string // without "?"; percent-encoded
}

// String answers the URL.
func (t Target) String() string {
	if t.Query == "" {
		return t.Origin.String() + t.Path
	}
	return t.Origin.String() + t.Path + "?" + t.Query
}

// wire answers the URL for net/http, which sends Path as it is.
func (t Target) wire() *url.URL {
	decoded, _ := url.PathUnescape(t.Path)
	return &url.URL{Scheme: t.Origin.Scheme, Host: t.Origin.authority(), Path: decoded, RawPath: t.Path, RawQuery: t.Query}
}

// ParseURL brings an absolute URL into canonical form. It refuses what two readers
// may understand in two ways: user names, fragments, backslashes, control
// characters, zones, unusual ways to write a host, double encodings, and paths
// with hidden steps. Errors are of type *Error with KindPolicy.
func ParseURL(text string) (Target, error) {
	if err := checkText(text); err != nil {
		return Target{}, err
	}
	scheme, rest, found := strings.Cut(text, "://")
	if scheme = strings.ToLower(scheme); !found || scheme != "http" && scheme != "https" {
		return Target{}, policyError("the URL %q must begin with https:// or http://", shown(text))
	}
	if strings.Contains(rest, "#") {
		return Target{}, policyError("the URL must have no fragment (#)")
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path := rest, ""
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		authority, path = rest[:slash], rest[slash:]
	}
	if strings.Contains(authority, "@") {
		return Target{}, policyError("the URL must not hold a user name or password")
	}
	target := Target{}
	var err error
	if target.Origin, err = parseAuthority(scheme, authority); err != nil {
		return Target{}, err
	}
	if target.Path, err = canonicalPath(path); err != nil {
		return Target{}, policyError("the path %q: %v", shown(path), err)
	}
	if target.Query, err = canonicalQuery(query); err != nil {
		return Target{}, policyError("the query: %v", err)
	}
	if err := checkLength(target); err != nil {
		return Target{}, err
	}
	return target, nil
}

// checkText refuses what no part of a URL may have.
func checkText(text string) error {
	switch {
	case len(text) > maxURL:
		return limitError("url", "the URL has %d bytes, the limit is %d", len(text), maxURL)
	case !utf8.ValidString(text):
		return policyError("the URL is not valid UTF-8")
	case strings.ContainsFunc(text, isControl):
		return policyError("the URL must have no control character")
	case strings.Contains(text, `\`):
		return policyError("the URL must have no backslash")
	}
	return nil
}

// checkLength bounds the canonical form, which escapes make longer.
func checkLength(target Target) error {
	if size := len(target.String()); size > maxURL {
		return limitError("url", "the URL has %d bytes, the limit is %d", size, maxURL)
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }

// shown clips a text for an error.
func shown(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// canonicalQuery writes escapes in one way and escapes what must be. What the
// parameters mean is the server's affair.
func canonicalQuery(query string) (string, error) {
	return normalise(query, func(c byte) bool {
		return isUnreserved(c) || strings.IndexByte("!$&()*+,;=:@/?", c) >= 0
	})
}
