package egress

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	authHeader = "header"
	authQuery  = "query"
)

// check refuses what Auth cannot do.
func (a Auth) check() error {
	switch a.Kind {
	case "":
		return nil
	case authHeader, authQuery:
	default:
		return policyError("authentication by %q is not available in this version; use header or query", a.Kind)
	}
	if a.Kind == authHeader && !validName(a.Name) || a.Name == "" {
		return policyError("authentication by %s needs a valid name, not %q", a.Kind, a.Name)
	}
	if !strings.Contains(a.Value, "{secret}") {
		return policyError("the value of authentication %q must have {secret} in it", a.Name)
	}
	return nil
}

// policy decides on a guest's request and answers where it goes.
func (c *Client) policy(request Request) (*url.URL, error) {
	if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}, request.Method) {
		return nil, policyError("the method %q is not allowed", request.Method)
	}
	for name, value := range request.Headers {
		if err := c.checkHeader(name, value); err != nil {
			return nil, err
		}
	}
	target, err := c.join(request.Path)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for name, value := range request.Query {
		if c.options.Auth.Kind == authQuery && strings.EqualFold(name, c.options.Auth.Name) {
			return nil, policyError("the query's %q is the host's to set", name)
		}
		query.Set(name, value)
	}
	target.RawQuery = query.Encode()
	return target, nil
}

// checkHeader refuses what belongs to the host, to the connection or to a proxy.
func (c *Client) checkHeader(name, value string) error {
	if !validName(name) {
		return policyError("the header name %q is not valid", name)
	}
	if !validValue(value) {
		return policyError("the value of the header %q is not valid", name)
	}
	canonical := http.CanonicalHeaderKey(name)
	switch canonical {
	case "Host", "Authorization", "Cookie", "Cookie2", "Set-Cookie",
		"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length",
		"Http2-Settings", "Expect", "Accept-Encoding", "Forwarded", "Via", "X-Real-Ip":
		return policyError("the header %q is the host's to set", name)
	}
	if strings.HasPrefix(canonical, "Proxy-") || strings.HasPrefix(canonical, "X-Forwarded-") {
		return policyError("the header %q is the host's to set", name)
	}
	if c.options.Auth.Kind == authHeader && strings.EqualFold(name, c.options.Auth.Name) {
		return policyError("the header %q is the host's to set", name)
	}
	return nil
}

// validName reports whether name is an HTTP token.
func validName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// validValue reports whether a header can carry value.
func validValue(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
