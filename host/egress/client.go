// Package egress is the only way out to the network for what guests ask for.
//
// A Client serves one provider: it reaches the operator's base URL and nothing
// else, puts the secret in after the request has passed the policy, follows no
// redirect, uses no proxy from the environment, and watches the connection. A
// FrameReader cuts a streamed answer into frames.
package egress

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/secret"
)

// Options configure a Client. Only BaseURL is needed.
type Options struct {
	// BaseURL is http or https, a host, perhaps a path: "https://api.example/v1".
	BaseURL string
	Auth    Auth
	// Secret answers the secret that Auth places, at every request; nil for none.
	Secret   func(ctx context.Context) (secret.Value, error)
	Timeouts Timeouts
	Limits   Limits
	// Scrubber takes secrets out of error texts and response headers; the client
	// tells it every secret it sends. Nil for one of the client's own.
	Scrubber *secret.Scrubber
}

// Auth says where the secret goes.
type Auth struct {
	Kind  string // "header" or "query"; "" sends no secret
	Name  string
	Value string // with {secret} in it; "" means "{secret}"
}

// Timeouts bound the phases of a request. Zero fields take the default.
type Timeouts struct {
	Connect   time.Duration // name, connection and TLS handshake, each; 10 s
	FirstByte time.Duration // from the connection to the response's headers; 60 s
	Idle      time.Duration // between two reads of the body that bring bytes; 120 s
}

// Limits bound what a response may take. Zero fields take the default.
type Limits struct {
	Body int64 // bytes, decompressed; 64 MiB
}

// Request is what a guest asks for.
type Request struct {
	Method  string
	Path    string // relative to the base URL; percent-encoded where needed
	Query   map[string]string
	Headers map[string]string
	Body    []byte
}

// Client makes requests below one base URL over a pool of kept connections. It
// is safe for use by several goroutines.
type Client struct {
	options   Options
	base      *url.URL
	origin    string // for texts
	transport *http.Transport
}

// dialer is the part of a net.Dialer the client uses.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// New makes a client. Errors are of type *Error with KindPolicy.
func New(options Options) (*Client, error) {
	return newClient(options, nil)
}

func newClient(options Options, dial dialer) (*Client, error) {
	options = withDefaults(options)
	base, err := CheckBaseURL(options.BaseURL, options.Secret != nil)
	if err != nil {
		return nil, err
	}
	if err := options.Auth.check(); err != nil {
		return nil, err
	}
	if dial == nil {
		d := &net.Dialer{KeepAlive: 30 * time.Second}
		if options.Secret != nil && base.Scheme == "http" {
			d.Control = onlyLoopback
		}
		dial = d.DialContext
	}
	return &Client{
		options: options,
		base:    base,
		origin:  base.Scheme + "://" + base.Host,
		transport: &http.Transport{
			DialContext:            boundDial(dial, options.Timeouts.Connect),
			TLSHandshakeTimeout:    options.Timeouts.Connect,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    64,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			ReadBufferSize:         readSize,
		},
	}, nil
}

func withDefaults(o Options) Options {
	if o.Timeouts.Connect == 0 {
		o.Timeouts.Connect = 10 * time.Second
	}
	if o.Timeouts.FirstByte == 0 {
		o.Timeouts.FirstByte = 60 * time.Second
	}
	if o.Timeouts.Idle == 0 {
		o.Timeouts.Idle = 120 * time.Second
	}
	if o.Limits.Body == 0 {
		o.Limits.Body = 64 << 20
	}
	if o.Auth.Value == "" {
		o.Auth.Value = "{secret}"
	}
	if o.Scrubber == nil {
		o.Scrubber = &secret.Scrubber{}
	}
	return o
}

// Do makes one request. It returns with the response's headers, whatever the
// status; a redirect is a response like any other. The caller closes the body,
// which also ends when ctx does. Errors are of type *Error, or wrap ctx's cause.
func (c *Client) Do(ctx context.Context, request Request) (*Response, error) {
	target, err := c.policy(request)
	if err != nil {
		return nil, err
	}
	header := http.Header{"User-Agent": {"plinth"}}
	for name, value := range request.Headers {
		header.Set(name, value)
	}
	if err := c.authenticate(ctx, target, header); err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancelCause(ctx)
	call := &exchange{client: c, ctx: ctx, inner: inner, cancel: cancel}
	traced := httptrace.WithClientTrace(inner, call.trace())
	wire, err := http.NewRequestWithContext(traced, request.Method, target.String(), bytes.NewReader(request.Body))
	if err != nil {
		cancel(nil)
		return nil, policyError("%s", c.scrub(err.Error()))
	}
	wire.Header = header
	answer, err := c.transport.RoundTrip(wire)
	call.disarm()
	if err != nil {
		err = call.failure(err)
		cancel(nil)
		return nil, err
	}
	return &Response{Status: answer.StatusCode, Headers: c.safeHeaders(answer.Header), Body: &body{exchange: call, inner: answer.Body}}, nil
}

// authenticate puts the secret in. The request has passed the policy.
func (c *Client) authenticate(ctx context.Context, target *url.URL, header http.Header) error {
	if c.options.Secret == nil || c.options.Auth.Kind == "" {
		return nil
	}
	value, err := c.options.Secret(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("call %s: %w", c.origin, context.Cause(ctx))
		}
		return &Error{Kind: KindSecret, Text: c.scrub("the secret for " + c.origin + " is not there: " + err.Error())}
	}
	c.options.Scrubber.Add(value)
	text := strings.ReplaceAll(c.options.Auth.Value, "{secret}", value.Reveal())
	if c.options.Auth.Kind == authQuery {
		query := target.Query()
		query.Set(c.options.Auth.Name, text)
		target.RawQuery = query.Encode()
		return nil
	}
	if !validValue(text) {
		return &Error{Kind: KindSecret, Text: "the secret for " + c.origin + " has characters that a header cannot carry"}
	}
	header.Set(c.options.Auth.Name, text)
	return nil
}

// safeHeaders leaves out cookies and scrubs the rest.
func (c *Client) safeHeaders(headers http.Header) http.Header {
	headers.Del("Set-Cookie")
	for _, values := range headers {
		for i, value := range values {
			values[i] = c.scrub(value)
		}
	}
	return headers
}

func (c *Client) scrub(text string) string { return c.options.Scrubber.Scrub(text) }

// Close drops the idle connections. Responses still open stay their callers'.
func (c *Client) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}
