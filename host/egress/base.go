package egress

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
)

// CheckBaseURL parses an operator's base URL: http or https, a host, perhaps a
// port and a path. With a secret it must be https, or loopback. Errors are of
// type *Error with KindPolicy and never repeat userinfo.
func CheckBaseURL(text string, withSecret bool) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil {
		return nil, policyError("the base URL is not a URL")
	}
	if base.User != nil {
		return nil, policyError("the base URL must not hold a user name or password; use a secret reference")
	}
	switch {
	case base.Scheme != "http" && base.Scheme != "https", base.Hostname() == "":
		return nil, policyError("the base URL %q must be like https://host/path or http://127.0.0.1:port/path", text)
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, policyError("the base URL %q must have no query and no fragment", text)
	}
	if _, err := cleanPath(strings.Trim(base.EscapedPath(), "/")); err != nil {
		return nil, policyError("the base URL %q: %v", text, err)
	}
	if withSecret && base.Scheme == "http" && !isLoopback(base.Hostname()) {
		return nil, policyError("no secret is sent over plain http to %s; use https, or an address on this machine", base.Host)
	}
	return base, nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// onlyLoopback refuses to connect anywhere but to this machine, whatever a name
// like "localhost" was resolved to.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("read the address %q: %w", address, err)
	}
	if !isLoopback(host) {
		return errNotLoopback
	}
	return nil
}

// join answers the URL of path below the base, which it cannot leave.
func (c *Client) join(path string) (*url.URL, error) {
	clean, err := cleanPath(strings.TrimPrefix(path, "/"))
	if err != nil {
		return nil, policyError("the path %q: %v", path, err)
	}
	joined := *c.base
	joined.RawPath = strings.TrimSuffix(c.base.EscapedPath(), "/")
	if clean != "" {
		joined.RawPath += "/" + clean
	}
	if joined.Path, err = url.PathUnescape(joined.RawPath); err != nil {
		return nil, policyError("the path %q: %v", path, err)
	}
	return &joined, nil
}

// cleanPath answers path as it will be sent, or why it will not be: no step up,
// no empty step, in no encoding that a server behind might undo.
func cleanPath(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return "", fmt.Errorf("a %% must be followed by two hexadecimal digits")
	}
	if strings.ContainsAny(path, "?#") {
		return "", fmt.Errorf("it must have no ? and no #; a query is given apart")
	}
	for _, r := range decoded {
		if r < ' ' || r == 0x7f || r == '\\' {
			return "", fmt.Errorf("it must have no control character and no backslash")
		}
	}
	if again, err := url.PathUnescape(decoded); err != nil || again != decoded {
		return "", fmt.Errorf("it must not be percent-encoded twice")
	}
	steps := strings.Split(strings.TrimSuffix(decoded, "/"), "/")
	if slices.ContainsFunc(steps, func(step string) bool { return step == "" || step == "." || step == ".." }) {
		return "", fmt.Errorf("it must have no empty step, no . and no ..")
	}
	return (&url.URL{Path: decoded, RawPath: path}).EscapedPath(), nil
}
