package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// Response is the answer to a request. Headers are scrubbed, without cookies.
type Response struct {
	Status  int
	Headers http.Header
	// Body is decompressed. Its errors are io.EOF, of type *Error, or wrap the
	// context's cause. Close ends the request and may be called beside a Read.
	Body io.ReadCloser
}

// exchange watches one request from the connection to the end of its body.
type exchange struct {
	client *Client
	ctx    context.Context // the caller's
	inner  context.Context // ends with it, and when a watchdog barks
	cancel context.CancelCauseFunc

	handshaking atomic.Bool

	mu    sync.Mutex
	timer *time.Timer
}

// trace follows the connection. It may be called on other goroutines.
func (e *exchange) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		TLSHandshakeStart: func() { e.handshaking.Store(true) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				e.handshaking.Store(false)
			}
		},
		GotConn: func(httptrace.GotConnInfo) {
			e.handshaking.Store(false)
			e.arm(e.client.options.Timeouts.FirstByte, errFirstByte)
		},
	}
}

// arm makes the request end with cause after d, unless disarmed before.
func (e *exchange) arm(d time.Duration, cause error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timer != nil {
		e.timer.Stop()
	}
	e.timer = time.AfterFunc(d, func() { e.cancel(cause) })
}

func (e *exchange) disarm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timer != nil {
		e.timer.Stop()
	}
}

// failure answers what err means: the caller's cancel, a watchdog, or the network.
func (e *exchange) failure(err error) error {
	if e.ctx.Err() != nil {
		return fmt.Errorf("call %s: %w", e.client.origin, context.Cause(e.ctx))
	}
	if cause := context.Cause(e.inner); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	classified := classify(e.client.origin, err, e.handshaking.Load(), e.client.options.Timeouts)
	classified.Text = e.client.scrub(classified.Text)
	return classified
}

// body is the response's body under the idle watchdog and the size limit.
type body struct {
	exchange *exchange
	inner    io.ReadCloser
	read     int64
	err      error // sticky
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	b.exchange.arm(b.exchange.client.options.Timeouts.Idle, errIdle)
	n, err := b.inner.Read(p)
	b.exchange.disarm()
	if limit := b.exchange.client.options.Limits.Body; b.read+int64(n) > limit {
		n = int(limit - b.read)
		b.err = &Error{Kind: KindTooLarge, Text: fmt.Sprintf("the answer of %s is larger than %d bytes", b.exchange.client.origin, limit)}
	} else if err == io.EOF {
		b.err = io.EOF
	} else if err != nil {
		b.err = b.exchange.failure(err)
	}
	b.read += int64(n)
	return n, b.err
}

func (b *body) Close() error {
	b.exchange.disarm()
	b.exchange.cancel(nil)
	if err := b.inner.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return b.exchange.failure(err)
	}
	return nil
}

// boundDial gives a connection, with the lookup of its name, so much time.
func boundDial(dial dialer, timeout time.Duration) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, timeout, errConnect)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err != nil && errors.Is(context.Cause(ctx), errConnect) {
			if _, ok := errors.AsType[*net.DNSError](err); !ok {
				return nil, errConnect
			}
		}
		return conn, err
	}
}
