package egress

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// CheckBaseURL parses an operator's base URL: http or https, a host, perhaps a
// port and a path. With a secret it must be https, or loopback. Errors are of
// type *Error with KindPolicy and never repeat userinfo.
func CheckBaseURL(text string, withSecret bool) (*url.URL, error) {
	base, _, err := parseBase(text, withSecret)
	return base, err
}

func parseBase(text string, withSecret bool) (*url.URL, Origin, error) {
	fail := func(format string, args ...any) (*url.URL, Origin, error) {
		return nil, Origin{}, policyError(format, args...)
	}
	base, err := url.Parse(text)
	if err != nil {
		return fail("the base URL is not a URL")
	}
	if base.User != nil {
		return fail("the base URL must not hold a user name or password; use a secret reference")
	}
	switch {
	case base.Scheme != "http" && base.Scheme != "https", base.Hostname() == "":
		return fail("the base URL %q must be like https://host/path or http://127.0.0.1:port/path", text)
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return fail("the base URL %q must have no query and no fragment", text)
	}
	if _, err := cleanPath(strings.Trim(base.EscapedPath(), "/")); err != nil {
		return fail("the base URL %q: %v", text, err)
	}
	origin, err := parseAuthority(base.Scheme, base.Host)
	if err != nil {
		return fail("the base URL %q: %v", text, err)
	}
	if withSecret && base.Scheme == "http" && !origin.local() {
		return fail("no secret is sent over plain http to %s; use https, or an address on this machine", base.Host)
	}
	base.Host = origin.authority()
	return base, origin, nil
}

// join answers the path below the base, which it cannot leave.
func (c *Client) join(path string) (string, error) {
	clean, err := cleanPath(strings.TrimPrefix(path, "/"))
	if err != nil {
		return "", policyError("the path %q: %v", shown(path), err)
	}
	joined := strings.TrimSuffix(c.base.EscapedPath(), "/")
	if clean != "" || joined == "" {
		joined += "/" + clean
	}
	return joined, nil
}

// cleanPath answers path as it will be sent, or why it will not be: no step up,
// no empty step, in no encoding that a server behind might undo.
func cleanPath(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return "", errEscape
	}
	if strings.ContainsAny(path, "?#") {
		return "", fmt.Errorf("it must have no ? and no #; a query is given apart")
	}
	if strings.ContainsFunc(decoded, isControl) || strings.Contains(decoded, `\`) {
		return "", errControl
	}
	if again, err := url.PathUnescape(decoded); err != nil || again != decoded {
		return "", errTwice
	}
	steps := strings.Split(strings.TrimSuffix(decoded, "/"), "/")
	if slices.ContainsFunc(steps, func(step string) bool { return step == "" || step == "." || step == ".." }) {
		return "", fmt.Errorf("it must have no empty step, no . and no ..")
	}
	return (&url.URL{Path: decoded, RawPath: path}).EscapedPath(), nil
}
