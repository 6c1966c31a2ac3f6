package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plinthhost/plinth/host/secret"
)

// Response is the answer to a request. Headers and body are scrubbed; cookies are
// left out.
type Response struct {
	Status  int
	Headers http.Header
	// Body is decompressed. Its errors are io.EOF, of type *Error, or wrap the
	// context's cause. Close ends the request and may be called beside a Read.
	Body io.ReadCloser

	location string // where a redirect leads, as the server wrote it
}

// caller makes single requests that some policy has passed.
type caller struct {
	transport *http.Transport
	timeouts  Timeouts
	limits    Limits
	scrubber  *secret.Scrubber
	record    func(Record)
	bucket    *bucket
	gate      *gate
}

func newCaller(n *Network, r reach, timeouts Timeouts, limits Limits, scrubber *secret.Scrubber, record func(Record)) *caller {
	if record == nil {
		record = func(Record) {}
	}
	return &caller{
		transport: n.transport(r, timeouts, limits), timeouts: timeouts, limits: limits, scrubber: scrubber, record: record,
		bucket: newBucket(limits.Requests, limits.Burst), gate: &gate{limit: limits.Connections},
	}
}

// beside makes a caller with connections of its own to what r reaches, under the
// same limits.
func (c *caller) beside(n *Network, r reach) *caller {
	other := *c
	other.transport = n.transport(r, c.timeouts, c.limits)
	return &other
}

// hop is one request on the wire.
type hop struct {
	number   int
	method   string
	target   Target
	header   http.Header
	body     []byte
	handles  []string
	deadline time.Time     // zero for none
	total    time.Duration // that the deadline leaves altogether
	// asked is set where not the policy allowed the request but who was asked. It
	// takes no secret along and reaches public addresses only.
	asked bool
	// unscrubbed leaves the body as it is: it is for the host, not for a guest.
	unscrubbed bool
}

// send makes the request and answers with the response's headers.
func (c *caller) send(ctx context.Context, h hop) (*Response, error) {
	e := &exchange{caller: c, hop: h, ctx: ctx, started: time.Now(), leave: func() {}}
	if err := e.admit(); err != nil {
		return nil, e.end(err)
	}
	e.inner, e.cancel = context.WithCancelCause(ctx)
	stop := context.CancelFunc(func() {})
	if !h.deadline.IsZero() {
		e.inner, stop = context.WithDeadlineCause(e.inner, h.deadline, errTotal)
	}
	e.release = func() { stop(); e.cancel(nil) }
	wire, err := http.NewRequestWithContext(httptrace.WithClientTrace(e.inner, e.trace()), h.method, h.target.String(), bytes.NewReader(h.body))
	if err != nil {
		e.release()
		return nil, e.end(policyError("%v", err))
	}
	wire.URL, wire.Header = h.target.wire(), h.header
	answer, err := c.transport.RoundTrip(wire)
	e.disarm()
	if err != nil {
		err = e.failure(err)
		e.release()
		return nil, e.end(err)
	}
	response, err := e.response(answer)
	if err != nil {
		e.release()
		answer.Body.Close()
		return nil, e.end(err)
	}
	return response, nil
}

// admit applies the limits that hold before anything is sent.
func (e *exchange) admit() error {
	limits := e.caller.limits
	if size := int64(len(e.hop.body)); size > limits.RequestBody {
		return limitError("request_body", "the body of the request has %d bytes, the limit is %d", size, limits.RequestBody)
	}
	if err := e.caller.bucket.take(); err != nil {
		return err
	}
	leave, err := e.caller.gate.enter(e.ctx, e.hop.target.Origin, e.caller.timeouts.Connect)
	if err != nil && e.ctx.Err() != nil {
		return fmt.Errorf("call %s: %w", e.hop.target.Origin, err)
	}
	if err == nil {
		e.leave = leave
	}
	return err
}

// response checks the headers and puts the body behind its limits.
func (e *exchange) response(answer *http.Response) (*Response, error) {
	e.status.Store(int32(answer.StatusCode))
	limits, origin := e.caller.limits, e.hop.target.Origin
	count := 0
	for _, values := range answer.Header {
		count += len(values)
	}
	if count > limits.Headers {
		return nil, tooLarge("response_headers", "the answer of %s has %d headers, the limit is %d", origin, count, limits.Headers)
	}
	if answer.StatusCode < 200 {
		return nil, &Error{Kind: KindFailed, Text: fmt.Sprintf("%s answers %d, which was not asked for", origin, answer.StatusCode)}
	}
	wire := &wireBody{exchange: e, inner: answer.Body}
	reader := io.Reader(wire)
	switch encoding := answer.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		reader = &gunzip{wire: wire}
		answer.Header.Del("Content-Encoding")
		answer.Header.Del("Content-Length")
	default:
		return nil, &Error{Kind: KindFailed, Text: fmt.Sprintf("the answer of %s is in the content encoding %q, which is not understood; only gzip is", origin, shown(encoding))}
	}
	reader = &limitedBody{what: origin.String(), inner: reader, limit: limits.Body}
	if !e.hop.unscrubbed {
		reader = e.caller.scrubber.Reader(reader)
	}
	response := &Response{Status: answer.StatusCode, Body: &body{exchange: e, reader: reader, inner: answer.Body}}
	switch answer.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		response.location = answer.Header.Get("Location")
	}
	response.Headers = safeHeaders(answer.Header, e.caller.scrubber)
	return response, nil
}

// safeHeaders leaves out cookies and scrubs the rest.
func safeHeaders(headers http.Header, scrubber *secret.Scrubber) http.Header {
	headers.Del("Set-Cookie")
	safe := make(http.Header, len(headers))
	for name, values := range headers {
		name = scrubber.Scrub(name)
		for _, value := range values {
			safe[name] = append(safe[name], scrubber.Scrub(value))
		}
	}
	return safe
}

// exchange watches one request from the connection to the end of its body.
type exchange struct {
	caller  *caller
	hop     hop
	ctx     context.Context // the caller's
	inner   context.Context // ends with it, and when a watchdog barks
	cancel  context.CancelCauseFunc
	release func() // ends inner
	leave   func() // the gate
	started time.Time

	handshaking atomic.Bool
	status      atomic.Int32
	received    atomic.Int64
	ended       sync.Once

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
			e.arm(e.caller.timeouts.FirstByte, errFirstByte)
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
	origin := e.hop.target.Origin
	if e.ctx.Err() != nil {
		return fmt.Errorf("call %s: %w", origin, context.Cause(e.ctx))
	}
	if cause := context.Cause(e.inner); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	timeouts := e.caller.timeouts
	timeouts.Total = e.hop.total
	return classify(origin, err, e.handshaking.Load(), timeouts)
}

// end records what became of the request, once, and answers err.
func (e *exchange) end(err error) error {
	e.ended.Do(func() {
		e.leave()
		record := e.caller.recordOf(e.hop, err)
		record.Time, record.Duration = e.started, time.Since(e.started)
		record.Status, record.Received = int(e.status.Load()), e.received.Load()
		record.Sent = int64(len(e.hop.body))
		e.caller.record(record)
	})
	return e.caller.scrubbed(err)
}

// scrubbed takes secrets out of the text of an error of ours.
func (c *caller) scrubbed(err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		known.Text = c.scrubber.Scrub(known.Text)
	}
	return err
}

// refuse records a request that is not made, and answers err.
func (c *caller) refuse(h hop, err error) error {
	record := c.recordOf(h, err)
	record.Time = time.Now()
	c.record(record)
	return c.scrubbed(err)
}

func (c *caller) recordOf(h hop, err error) Record {
	record := Record{Method: shown(h.method), Path: c.scrubber.Scrub(h.target.Path), Handles: h.handles, Hop: h.number, Outcome: outcome(err)}
	if h.target.Origin != (Origin{}) {
		record.Origin = h.target.Origin.String()
	}
	return record
}

func outcome(err error) string {
	if err == nil || errors.Is(err, io.EOF) {
		return OutcomeOK
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return string(known.Kind)
	}
	if _, ok := errors.AsType[denied](err); ok {
		return OutcomeDenied
	}
	return OutcomeCancelled
}
