package egress

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

// Kind is the closed set of failures.
type Kind string

// The kinds.
const (
	KindRefused          Kind = "refused" // or there is no way to the address
	KindDNS              Kind = "dns"
	KindTLS              Kind = "tls"
	KindProxy            Kind = "proxy" // the operator's proxy opened no tunnel
	KindTimeoutConnect   Kind = "timeout_connect"
	KindTimeoutFirstByte Kind = "timeout_first_byte"
	KindTimeoutIdle      Kind = "timeout_idle"
	KindTimeoutTotal     Kind = "timeout_total"
	KindTooSlow          Kind = "too_slow"
	KindReset            Kind = "reset"
	KindPolicy           Kind = "policy"
	KindSecret           Kind = "secret" // it could not be had
	KindLimit            Kind = "limit"  // of what is asked, or how often
	KindTooLarge         Kind = "too_large"
	KindFailed           Kind = "failed" // not HTTP, and everything else
)

// The limits that the next request may pass; see Limits.
const (
	LimitRequests    = "requests"
	LimitConnections = "connections"
)

// Error is a request that was not made or an answer that broke off. Text is for a
// person, with secrets taken out. It wraps nothing: what lies below may hold them.
type Error struct {
	Kind Kind
	Text string
	// Limit names the limit that was reached, by its name in Limits or "url".
	Limit string
	// RetryAfter is when the limit lets the next request pass, where that is known.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Text }

func policyError(format string, args ...any) *Error {
	return &Error{Kind: KindPolicy, Text: fmt.Sprintf(format, args...)}
}

func limitError(name, format string, args ...any) *Error {
	return &Error{Kind: KindLimit, Limit: name, Text: fmt.Sprintf(format, args...)}
}

func tooLarge(name, format string, args ...any) *Error {
	return &Error{Kind: KindTooLarge, Limit: name, Text: fmt.Sprintf(format, args...)}
}

var (
	errConnect   = errors.New("no connection in time")
	errFirstByte = errors.New("no response in time")
	errIdle      = errors.New("nothing came for too long")
	errTotal     = errors.New("it took too long altogether")
)

// classify says what err means for a call to origin.
func classify(origin Origin, err error, handshaking bool, timeouts Timeouts) *Error {
	e := &Error{Kind: KindFailed, Text: fmt.Sprintf("the call to %s failed: %v", origin, err)}
	say := func(kind Kind, format string, args ...any) *Error {
		e.Kind, e.Text = kind, fmt.Sprintf(format, args...)
		return e
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	record, isRecord := errors.AsType[tls.RecordHeaderError](err)
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case isDNS && dns.IsNotFound:
		return say(KindDNS, "the host %q of %s is not known; is the address right?", dns.Name, origin)
	case isDNS:
		return say(KindDNS, "the name server did not answer for %q of %s; is the network up?", dns.Name, origin)
	case errors.Is(err, errAddress):
		return say(KindPolicy, "%s: %v", origin, err)
	case errors.Is(err, errConnect):
		return say(KindTimeoutConnect, "no connection to %s within %v; is the address right and the server reachable?", origin, timeouts.Connect)
	case errors.Is(err, errFirstByte):
		return say(KindTimeoutFirstByte, "%s accepted the request but did not begin to answer within %v", origin, timeouts.FirstByte)
	case errors.Is(err, errIdle):
		return say(KindTimeoutIdle, "%s sent nothing more for %v in the middle of its answer", origin, timeouts.Idle)
	case errors.Is(err, errTotal):
		return say(KindTimeoutTotal, "the request to %s took more than the %v it may take altogether", origin, timeouts.Total)
	case errors.Is(err, errProxy):
		return say(KindProxy, "%s: %v", origin, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return say(KindRefused, "connection to %s refused; is the server running?", origin)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return say(KindRefused, "there is no way to %s; is the network up?", origin)
	case isRecord && string(record.RecordHeader[:]) == "HTTP/":
		return say(KindTLS, "%s answers without TLS; should its URL begin with http://?", origin)
	case handshaking && isNetwork && network.Timeout():
		return say(KindTimeoutConnect, "the TLS handshake with %s took more than %v", origin, timeouts.Connect)
	case isCertificate(err):
		return say(KindTLS, "the certificate of %s is not trusted: %v", origin, err)
	case handshaking, isRecord:
		return say(KindTLS, "the TLS handshake with %s failed: %v", origin, err)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return say(KindReset, "the connection to %s broke off", origin)
	case isHeaderFlood(err):
		e = tooLarge("response_header_bytes", "the headers of the answer of %s are larger than the limit", origin)
	}
	return e
}

// isHeaderFlood recognises what net/http has no error value for.
func isHeaderFlood(err error) bool {
	text := err.Error()
	return strings.Contains(text, "server response headers exceeded") || strings.Contains(text, "response header list larger than advertised")
}

func isCertificate(err error) bool {
	_, verification := errors.AsType[*tls.CertificateVerificationError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	return verification || authority || host
}
