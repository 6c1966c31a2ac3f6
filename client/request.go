package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/plinthhost/plinth/client/protocol"
)

// request is one HTTP request.
type request struct {
	method, path string
	query        url.Values
	body         any
	bytes        []byte    // a body that is no JSON, of the type mime
	stream       io.Reader // likewise, sent as it is read and only once
	mime         string
	key          string // Idempotency-Key
}

// attempts is how often a request is made before its failure is told.
const attempts = 4

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 20

// do makes a request, again while its failure may pass, and decodes the answer
// into result unless that is nil. Every request made with it has one effect
// however often it is sent.
func (c *Client) do(ctx context.Context, r request, result any) error {
	for failures := 1; ; failures++ {
		err := c.attempt(ctx, r, result)
		var wire *protocol.Error
		if err == nil || failures == attempts || !errors.As(err, &wire) || !wire.Retryable || ctx.Err() != nil {
			return err
		}
		if pauseErr := pause(ctx, c.options.Backoff.after(failures)); pauseErr != nil {
			return err
		}
	}
}

// command is do for a request that changes something and has no id of its own.
func (c *Client) command(ctx context.Context, r request, result any) error {
	r.key = rand.Text()
	return c.do(ctx, r, result)
}

// attempt makes a request once. Errors are *protocol.Error where the host or the
// connection said why.
func (c *Client) attempt(ctx context.Context, r request, result any) error {
	httpRequest, err := c.newRequest(ctx, r)
	if err != nil {
		return err
	}
	response, err := c.http.Do(httpRequest)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%s %s: %w", r.method, r.path, context.Cause(ctx))
		}
		return unreachable(c.options.Address, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%s %s: %w", r.method, r.path, context.Cause(ctx))
		}
		return unreachable(c.options.Address, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return problem(response, body)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(body, result); err != nil {
		return fmt.Errorf("decode the answer of %s %s: %w", r.method, r.path, err)
	}
	return nil
}

func (c *Client) newRequest(ctx context.Context, r request) (*http.Request, error) {
	body, kind := io.Reader(nil), "application/json"
	switch {
	case r.stream != nil:
		body, kind = r.stream, r.mime
	case r.bytes != nil:
		body, kind = bytes.NewReader(r.bytes), r.mime
	case r.body != nil:
		encoded, err := protocol.Encode(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(encoded)
	}
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	httpRequest, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if body != nil {
		httpRequest.Header.Set("Content-Type", kind)
	}
	if r.key != "" {
		httpRequest.Header.Set("Idempotency-Key", r.key)
	}
	c.authorise(httpRequest.Header)
	return httpRequest, nil
}

// authorise adds the token.
func (c *Client) authorise(header http.Header) {
	if c.options.Token != "" {
		header.Set("Authorization", "Bearer "+c.options.Token)
	}
}

// unreachable is a host that could not be talked to.
func unreachable(address string, err error) *protocol.Error {
	if op, ok := errors.AsType[*url.Error](err); ok {
		err = op.Err // without the URL, which the message has
	}
	return protocol.Errorf(protocol.Unavailable, "the host at %s does not answer: %v", address, err)
}

// problem reads the error of an answer.
func problem(response *http.Response, body []byte) *protocol.Error {
	var p protocol.Problem
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind == "application/problem+json" && json.Unmarshal(body, &p) == nil && p.Code != "" {
		return p.Err()
	}
	code := protocol.Internal
	if response.StatusCode == http.StatusBadGateway || response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusGatewayTimeout {
		code = protocol.Unavailable
	}
	return protocol.Errorf(code, "the answer has status %s and is not from a Plinth host", response.Status)
}
