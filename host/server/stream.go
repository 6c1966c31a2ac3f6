package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/plinthhost/plinth/client/protocol"
)

// streamType is the media type of an event stream that follows a session.
type streamType string

const (
	streamSSE    streamType = "text/event-stream"
	streamNDJSON streamType = "application/x-ndjson"
)

// streamFormat answers the stream an Accept header asks for, empty for a page.
func streamFormat(accept string) streamType {
	switch {
	case strings.Contains(accept, string(streamSSE)):
		return streamSSE
	case strings.Contains(accept, string(streamNDJSON)):
		return streamNDJSON
	default:
		return ""
	}
}

// followEvents answers a stream of the session's events that ends with the
// client, the token or the server. A cursor that cannot be resumed is an ordinary
// error, because nothing was sent.
func (s *Server) followEvents(ctx context.Context, session, after string, format streamType) (*eventsOutput, error) {
	if !s.enterLive() {
		return nil, tooManyLive()
	}
	guarded, stop, err := s.guard(ctx, principalOf(ctx))
	if err != nil {
		s.leaveLive()
		return nil, err
	}
	t, err := s.openTail(guarded, session, after)
	if err != nil {
		stop()
		s.leaveLive()
		return nil, err
	}
	return &eventsOutput{Body: func(ctx huma.Context) {
		defer s.leaveLive()
		defer stop()
		defer t.close()
		_, w := humago.Unwrap(ctx)
		stream := &eventStream{w: w, control: http.NewResponseController(w), format: format, timeout: s.options.WriteTimeout}
		defer stream.hurry(guarded)()
		if err := stream.run(guarded, t, s.options.Heartbeat); err != nil {
			stream.fail(s.wireError("events", err))
		}
	}}, nil
}

// enterLive takes one place for something long-lived, leaveLive gives it back.
func (s *Server) enterLive() bool {
	select {
	case s.live <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *Server) leaveLive() { <-s.live }

func tooManyLive() *protocol.Error {
	return protocol.Errorf(protocol.Busy, "the server has as many live connections as it takes; try again later")
}

// eventStream writes events in one of the two framings.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	format  streamType
	timeout time.Duration
	buffer  bytes.Buffer
}

// run writes what the tail gives until the context ends.
func (e *eventStream) run(ctx context.Context, t *tail, heartbeat time.Duration) error {
	e.w.Header().Set("Content-Type", string(e.format))
	e.w.Header().Set("Connection", "close")     // it carries deadlines of its own
	e.w.Header().Set("X-Accel-Buffering", "no") // proxies must not hold it back
	e.w.WriteHeader(http.StatusOK)
	if err := e.flush(ctx); err != nil {
		return endOf(ctx, context.Canceled)
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		page, err := t.poll(ctx)
		if err != nil {
			return endOf(ctx, err)
		}
		for i := range page.Events {
			if err := e.event(&page.Events[i]); err != nil {
				return err
			}
		}
		if err := e.flush(ctx); err != nil {
			return endOf(ctx, context.Canceled) // the client is gone, or the stream's time is over
		}
		if page.More {
			continue
		}
		if err := e.wait(ctx, t, beat.C); err != nil {
			return endOf(ctx, err)
		}
	}
}

// wait returns when there may be events, writing heartbeats meanwhile.
func (e *eventStream) wait(ctx context.Context, t *tail, beat <-chan time.Time) error {
	for {
		select {
		case <-t.wake.C():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-beat:
			if e.format == streamSSE {
				e.buffer.WriteString(":\n\n")
			} else {
				e.buffer.WriteByte('\n') // readers of ndjson skip empty lines
			}
			if err := e.flush(ctx); err != nil {
				return context.Canceled
			}
		}
	}
}

// endOf answers why the stream ends; nil when the client is gone.
func endOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (e *eventStream) event(event *protocol.Event) error {
	if e.format == streamSSE {
		fmt.Fprintf(&e.buffer, "id: %s\ndata: ", event.Cursor)
	}
	if err := protocol.EncodeTo(&e.buffer, event); err != nil {
		return err
	}
	e.end()
	return nil
}

// end ends one record.
func (e *eventStream) end() {
	e.buffer.WriteByte('\n')
	if e.format == streamSSE {
		e.buffer.WriteByte('\n')
	}
}

// fail tells why the stream ends, as its last record.
func (e *eventStream) fail(err *protocol.Error) {
	var record any = err
	if e.format == streamSSE {
		e.buffer.WriteString("event: error\ndata: ")
	} else {
		record = map[string]any{"error": err}
	}
	if protocol.EncodeTo(&e.buffer, record) != nil {
		return
	}
	e.end()
	_ = e.flush(context.Background()) // the client may be gone
}

// flush sends what was written. A client that takes nothing for the timeout is
// given up, at once when ctx ends.
func (e *eventStream) flush(ctx context.Context) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(e.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if ctx.Err() != nil { // seen only after the deadline is set, so hurry's comes later
		return context.Cause(ctx)
	}
	if _, err := e.w.Write(e.buffer.Bytes()); err != nil {
		return err
	}
	e.buffer.Reset()
	return e.control.Flush()
}

// hurry makes a write that waits for a slow client end soon after ctx does. The
// function it answers ends that and returns when nothing touches the connection.
func (e *eventStream) hurry(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = e.control.SetWriteDeadline(time.Now().Add(closeGrace / 2)) // fails only where there is none to set
	})
	return func() {
		if !cancel() {
			<-done
		}
	}
}
