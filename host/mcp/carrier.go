package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/secret"
)

// maxMessage bounds one message of a server, in bytes: a list of tools, or a result with
// its images.
const maxMessage = 8 << 20

// carrier takes the requests of one connection to the operator's endpoint and nowhere
// else.
type carrier struct {
	client   *egress.Client
	endpoint *url.URL
	path     string
	headers  map[string]string
	life     context.Context // of the connection
}

// carry makes a carrier. The caller closes its client.
func (s *server) carry(ctx, life context.Context) (*carrier, error) {
	withSecret := s.config.Secret != ""
	headers := map[string]string{}
	for name, value := range s.config.Headers {
		resolved, err := s.hub.resolve(ctx, value)
		if err != nil {
			return nil, fmt.Errorf("the header %s: %w", name, err)
		}
		headers[name] = resolved
		withSecret = withSecret || secret.IsReference(value)
	}
	endpoint, err := egress.CheckBaseURL(s.config.URL, withSecret)
	if err != nil {
		return nil, err
	}
	day := 24 * time.Hour // calls have a time limit of their own, and a stream of news has none
	options := egress.Options{BaseURL: endpoint.Scheme + "://" + endpoint.Host, Network: s.hub.options.Network, Scrubber: s.hub.options.Scrubber,
		Timeouts: egress.Timeouts{FirstByte: day, Idle: day}, Limits: egress.Limits{Body: 1 << 40, RequestBody: maxMessage}}
	if reference := s.config.Secret; reference != "" {
		options.Auth = egress.Auth{Kind: egress.AuthHeader, Name: "Authorization", Value: "Bearer {secret}"}
		options.Secret = func(ctx context.Context) (secret.Value, error) { return s.hub.options.Secret(ctx, reference) }
		options.Rejected = func(value secret.Value) { s.hub.rejected(reference, value) }
	}
	client, err := egress.New(options)
	if err != nil {
		return nil, err
	}
	return &carrier{client: client, endpoint: endpoint, path: endpoint.EscapedPath(), headers: headers, life: life}, nil
}

// httpClient is the carrier as the SDK takes it. A redirect is refused: it could lead the
// operator's secrets and data elsewhere.
func (c *carrier) httpClient() *http.Client {
	return &http.Client{Transport: c, CheckRedirect: func(next *http.Request, _ []*http.Request) error {
		return fmt.Errorf("it redirects to %s; configure the address that is meant", line(next.URL.Redacted(), 200))
	}}
}

// RoundTrip makes one request to the endpoint.
func (c *carrier) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host != c.endpoint.Host || request.URL.EscapedPath() != c.path {
		return nil, errors.New("a request to another address than the configured one is not made")
	}
	var body []byte
	if request.Body != nil {
		defer request.Body.Close()
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, fmt.Errorf("read the request: %w", err)
		}
	}
	headers := make(map[string]string, len(request.Header)+len(c.headers))
	for name := range request.Header {
		headers[name] = request.Header.Get(name)
	}
	for name, value := range c.headers {
		headers[http.CanonicalHeaderKey(name)] = value
	}
	ctx, cancel := context.WithCancel(request.Context())
	stop := context.AfterFunc(c.life, cancel)
	release := func() { stop(); cancel() }
	answer, err := c.client.Do(ctx, egress.Request{Method: request.Method, Path: c.path, Headers: headers, Body: body})
	if err != nil {
		release()
		return nil, err
	}
	response := &http.Response{StatusCode: answer.Status, Status: http.StatusText(answer.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.Headers, ContentLength: -1, Request: request, Body: &received{inner: answer.Body, release: release, left: maxMessage}}
	if strings.HasPrefix(answer.Headers.Get("Content-Type"), "text/event-stream") {
		response.Body.(*received).endless = true // whose events are bounded, one by one
	}
	return response, nil
}

// received is the body of an answer.
type received struct {
	inner   io.ReadCloser
	release func()
	endless bool
	left    int64
}

func (r *received) Read(buffer []byte) (int, error) {
	n, err := r.inner.Read(buffer)
	if r.left -= int64(n); r.left < 0 && !r.endless {
		return 0, fmt.Errorf("the answer has more than %d bytes, the limit", int64(maxMessage))
	}
	return n, err
}

func (r *received) Close() error {
	err := r.inner.Close()
	r.release()
	return err
}
