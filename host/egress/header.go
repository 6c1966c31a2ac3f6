package egress

import (
	"net/http"
	"slices"
	"strings"
)

const (
	// maxHeaderName and maxHeaderValue bound one header of a request, in bytes.
	maxHeaderName  = 256
	maxHeaderValue = 8 << 10
)

// checkMethod refuses what is no method of ours.
func checkMethod(method string) error {
	if !slices.Contains(methods[:], method) {
		return policyError("the method %q is not allowed; use %s", shown(method), strings.Join(methods[:], ", "))
	}
	return nil
}

// guestHeaders checks the headers that a guest sets and answers them as they go
// out. taken are the names that the host sets beside the ones it always does.
func guestHeaders(headers map[string]string, taken []string, limits Limits) (http.Header, error) {
	if len(headers) > limits.RequestHeaders {
		return nil, limitError("request_headers", "the request has %d headers, the limit is %d", len(headers), limits.RequestHeaders)
	}
	wire := http.Header{"User-Agent": {"plinth"}, "Accept-Encoding": {"gzip"}}
	seen := make(map[string]bool, len(headers))
	size := 0
	for name, value := range headers {
		if err := checkHeader(name, value, taken); err != nil {
			return nil, err
		}
		if seen[folded(name)] {
			return nil, policyError("the header %q is given twice", name)
		}
		seen[folded(name)] = true
		if size += len(name) + len(value); size > limits.RequestBytes {
			return nil, limitError("request_header_bytes", "the headers of the request have more than %d bytes", limits.RequestBytes)
		}
		wire[http.CanonicalHeaderKey(name)] = []string{strings.Trim(value, " \t")}
	}
	return wire, nil
}

// checkHeader refuses what belongs to the host, to the connection or to a proxy,
// and what makes a server see another method or path than the one that was granted.
func checkHeader(name, value string, taken []string) error {
	if len(name) > maxHeaderName || !validName(name) {
		return policyError("the header name %q is not valid", shown(name))
	}
	if len(value) > maxHeaderValue {
		return limitError("request_header_bytes", "the header %q has %d bytes, the limit is %d", name, len(value), maxHeaderValue)
	}
	if !validValue(value) {
		return policyError("the value of the header %q is not valid", name)
	}
	canonical := folded(name)
	switch canonical {
	case "Host", "Authorization", "Cookie", "Cookie2", "Set-Cookie",
		"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length",
		"Http2-Settings", "Expect", "Accept-Encoding", "Forwarded", "Via", "X-Real-Ip",
		"X-Http-Method", "X-Http-Method-Override", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url":
		return policyError("the header %q is the host's to set", name)
	}
	if strings.HasPrefix(canonical, "Proxy-") || strings.HasPrefix(canonical, "X-Forwarded-") {
		return policyError("the header %q is the host's to set", name)
	}
	if slices.ContainsFunc(taken, func(other string) bool { return canonical == folded(other) }) {
		return policyError("the header %q is the host's to set", name)
	}
	return nil
}

// folded is the name as servers see it that do not tell _ from -.
func folded(name string) string { return http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")) }

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
