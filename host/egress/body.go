package egress

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// spare is how much more a body may have as it comes than decompressed, in bytes.
const spare = 64 << 10

// body is a response's body behind everything that watches it. Its error stays.
type body struct {
	exchange *exchange
	reader   io.Reader // wireBody, gunzip, limitedBody and the scrubber
	inner    io.Closer
	err      error
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.reader.Read(p)
	if err != nil {
		b.err = b.exchange.end(err)
		b.exchange.release()
	}
	return n, b.err
}

func (b *body) Close() error {
	e := b.exchange
	e.disarm()
	ended := e.ctx.Err()
	e.release()
	err := b.inner.Close()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if err != nil {
		err = e.failure(err)
	}
	if ended == nil {
		_ = e.end(err)
	} else {
		_ = e.end(context.Cause(e.ctx))
	}
	return err
}

// wireBody is the body as it comes, under the watchdogs.
type wireBody struct {
	exchange *exchange
	inner    io.Reader
	waited   time.Duration // of the window
	brought  int64
	err      error // what went wrong, for readers that hide it
}

func (w *wireBody) Read(p []byte) (int, error) {
	e := w.exchange
	started := time.Now()
	e.arm(e.caller.timeouts.Idle, errIdle)
	n, err := w.inner.Read(p)
	e.disarm()
	w.waited += time.Since(started)
	w.brought += int64(n)
	if err == nil {
		err = w.check(e.received.Add(int64(n)))
	} else {
		e.received.Add(int64(n))
		if !errors.Is(err, io.EOF) {
			err = e.failure(err)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

func (w *wireBody) check(total int64) error {
	limits, origin := w.exchange.caller.limits, w.exchange.hop.target.Origin
	if total > limits.Body+spare {
		return tooLarge("response_body", "the answer of %s is larger than %d bytes as it comes", origin, limits.Body)
	}
	if w.waited < rateWindow {
		return nil
	}
	if float64(w.brought) < float64(limits.Rate)*w.waited.Seconds() {
		return &Error{Kind: KindTooSlow, Limit: "response_rate", Text: fmt.Sprintf("%s sends less than %d bytes a second", origin, limits.Rate)}
	}
	w.waited, w.brought = 0, 0
	return nil
}

// gunzip decompresses. It begins when it is read from, for that may have to wait.
type gunzip struct {
	wire *wireBody
	zip  *gzip.Reader
}

func (g *gunzip) Read(p []byte) (n int, err error) {
	if g.zip == nil {
		g.zip, err = gzip.NewReader(g.wire)
	}
	if err == nil {
		n, err = g.zip.Read(p)
	}
	origin := g.wire.exchange.hop.target.Origin
	switch {
	case err == nil || errors.Is(err, io.EOF): // at once where nothing came, as after HEAD
	case g.wire.err != nil:
		err = g.wire.err
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = &Error{Kind: KindReset, Text: fmt.Sprintf("the answer of %s ends in the middle", origin)}
	default:
		err = &Error{Kind: KindFailed, Text: fmt.Sprintf("the answer of %s is said to be gzip and is not: %v", origin, err)}
	}
	return n, err
}

// limitedBody ends with an error where there is more than limit.
type limitedBody struct {
	what  string // whose answer it is
	inner io.Reader
	limit int64
	read  int64
}

func (l *limitedBody) Read(p []byte) (int, error) {
	n, err := l.inner.Read(p)
	if l.read+int64(n) > l.limit {
		n = int(l.limit - l.read)
		err = tooLarge("response_body", "the answer of %s is larger than %d bytes", l.what, l.limit)
	}
	l.read += int64(n)
	return n, err
}
