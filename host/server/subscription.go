package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
)

// subscription is one session, or the host, followed over a live connection. The writer owns
// it; only the two marks are set by its waiter.
type subscription struct {
	name   string
	tail   *tail
	types  typeFilter
	prev   int64 // the sequence of the last ev, at first of the cursor
	live   bool
	deltas *deltas // nil when the client wants none

	eventsDirty atomic.Bool
	stop        chan struct{}
	stopped     chan struct{}
}

// subscribe opens a subscription, or answers why not.
func (w *writer) subscribe(ctx context.Context, frame *protocol.Sub) error {
	sub, err := w.open(ctx, frame)
	var reset *protocol.ResetError
	switch {
	case err == nil:
	case errors.As(err, &reset):
		return w.send(resetFrame(frame.Sub, reset))
	case ctx.Err() != nil:
		return nil
	default:
		return w.send(errFrame(&protocol.FrameError{Of: frame.Sub, Err: w.server.wireError("sub", err)}))
	}
	w.subs = append(w.subs, sub)
	go sub.wait(w.poke)
	return w.send(protocol.Subscribed{T: "subscribed", Sub: sub.name, Head: sub.tail.headCursor(), From: sub.tail.cursor})
}

func (w *writer) open(ctx context.Context, frame *protocol.Sub) (*subscription, error) {
	if err := w.principal.authorise(protocol.ScopeRead); err != nil {
		return nil, err
	}
	log, err := followed(frame)
	switch {
	case err != nil:
		return nil, err
	case frame.Window != 0:
		return nil, protocol.Errorf(protocol.BadRequest, "windows are not served by this version; leave \"window\" out")
	case w.find(frame.Sub) != nil:
		return nil, protocol.Errorf(protocol.Conflict, "there is a subscription of that name")
	case len(w.subs) >= maxSubs:
		return nil, protocol.Errorf(protocol.Busy, "the connection has %d subscriptions, the limit", maxSubs)
	}
	types, err := newTypeFilter(frame.Types)
	if err != nil {
		return nil, err
	}
	t, err := w.server.openTail(ctx, log, frame.After)
	if err != nil {
		return nil, err
	}
	sub := &subscription{
		name: frame.Sub, tail: t, types: types, prev: t.after,
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if frame.Deltas {
		sub.deltas = newDeltas(w.server.backend.Deltas, frame.Session)
	}
	sub.eventsDirty.Store(true)
	return sub, nil
}

// followed is what a subscription is on: a session's id, or HostEvents.
func followed(frame *protocol.Sub) (string, error) {
	switch {
	case frame.Scope == protocol.ScopeSession && frame.Session == "":
		return "", protocol.Errorf(protocol.BadRequest, "field \"session\" is missing")
	case frame.Scope == protocol.ScopeSession:
		return frame.Session, isSession(frame.Session)
	case frame.Scope != protocol.ScopeHost:
		return "", protocol.Errorf(protocol.BadRequest, "scope %q is not served by this version; it serves %q and %q", clip(frame.Scope), protocol.ScopeSession, protocol.ScopeHost)
	case frame.Session != "" || frame.Deltas:
		return "", protocol.Errorf(protocol.BadRequest, "fields \"session\" and \"deltas\" have no place in the scope %q; leave them out", protocol.ScopeHost)
	}
	return protocol.HostEvents, nil
}

// isSession refuses the name of the host's events, which is no session's.
func isSession(id string) error {
	if id == protocol.HostEvents {
		return protocol.Errorf(protocol.NotFound, "session %s: not found", id)
	}
	return nil
}

// wait turns wakes into marks and pokes the writer.
func (s *subscription) wait(poke chan<- struct{}) {
	defer close(s.stopped)
	var grown <-chan struct{}
	if s.deltas != nil {
		grown = s.deltas.wake.C()
	}
	for {
		select {
		case <-s.stop:
			return
		case <-s.tail.wake.C():
			s.eventsDirty.Store(true)
		case <-grown:
			s.deltas.dirty.Store(true)
		}
		select {
		case poke <- struct{}{}:
		default:
		}
	}
}

// close ends the waiter and the registrations.
func (s *subscription) close() {
	close(s.stop)
	<-s.stopped
	s.tail.close()
	if s.deltas != nil {
		s.deltas.wake.Close()
	}
}

// step sends at most one page of events, and when there are none left, what the
// streaming parts have grown by.
func (s *subscription) step(ctx context.Context, w *writer, now time.Time) (more bool, err error) {
	if s.eventsDirty.Swap(false) {
		page, err := s.tail.poll(ctx)
		if err != nil {
			return false, err
		}
		if err := s.sendEvents(w, page.Events); err != nil {
			return false, err
		}
		if page.More {
			s.eventsDirty.Store(true)
			return true, nil
		}
		if !s.live {
			s.live = true
			if err := w.send(protocol.Live{T: "live", Sub: s.name, Cursor: s.tail.cursor}); err != nil {
				return false, err
			}
		}
	}
	if !s.live || s.deltas == nil {
		return false, nil
	}
	return false, s.deltas.send(w, s, now)
}

// sendEvents sends the events the filter lets through, and one mark when the last
// of them were left out.
func (s *subscription) sendEvents(w *writer, events []protocol.Event) error {
	hidden := ""
	for i := range events {
		event := events[i]
		if !s.types.match(event.Type) {
			hidden = event.Cursor
			continue
		}
		hidden = ""
		if err := w.send(protocol.Ev{T: "ev", Sub: s.name, Prev: s.prev, Event: event}); err != nil {
			return err
		}
		s.prev = event.Seq
	}
	if hidden == "" {
		return nil
	}
	return w.send(protocol.Mark{T: "mark", Sub: s.name, Cursor: hidden})
}

// failed ends a subscription whose log cannot be read on, and says why to the
// client. It answers an error that ends the connection instead.
func (w *writer) failed(ctx context.Context, sub *subscription, err error) error {
	var reset *protocol.ResetError
	var wire *protocol.Error
	switch {
	case ctx.Err() != nil, errors.Is(err, errLost):
		return err
	case errors.As(err, &reset):
		w.remove(sub)
		return w.send(resetFrame(sub.name, reset))
	case errors.As(err, &wire) && (wire.Code == protocol.Gone || wire.Code == protocol.NotFound):
		return w.end(sub, protocol.EndDeleted)
	default:
		w.server.logger.Error("subscription failed", "session", sub.tail.session, "error", err)
		return w.end(sub, protocol.EndFailed)
	}
}

// end removes the subscription and says why.
func (w *writer) end(sub *subscription, reason protocol.EndReason) error {
	w.remove(sub)
	return w.send(protocol.End{T: "end", Sub: sub.name, Reason: reason})
}

func (w *writer) remove(sub *subscription) {
	w.subs = slices.DeleteFunc(w.subs, func(s *subscription) bool { return s == sub })
	sub.close()
}

func (w *writer) find(name string) *subscription {
	for _, sub := range w.subs {
		if sub.name == name {
			return sub
		}
	}
	return nil
}

func resetFrame(sub string, err *protocol.ResetError) protocol.Reset {
	return protocol.Reset{T: "reset", Sub: sub, Reason: err.Reason, First: err.First, Head: err.Head}
}

// headCursor is the place after the last event that was seen to exist.
func (t *tail) headCursor() string {
	if t.head == t.after {
		return t.cursor
	}
	return t.place(t.head)
}

// typeFilter lets event types through. Nil lets all through.
type typeFilter []string

// newTypeFilter takes event types, each of which may end in "*".
func newTypeFilter(patterns []string) (typeFilter, error) {
	if len(patterns) > 64 {
		return nil, protocol.Errorf(protocol.BadRequest, "types holds %d patterns, the limit is 64", len(patterns))
	}
	for _, pattern := range patterns {
		star := strings.IndexByte(pattern, '*')
		if pattern == "" || (star >= 0 && star != len(pattern)-1) {
			return nil, protocol.Errorf(protocol.BadRequest, "type %q: write an event type, or its beginning and \"*\"", clip(pattern))
		}
		if pattern == "*" {
			return nil, nil
		}
	}
	return patterns, nil
}

func (f typeFilter) match(eventType string) bool {
	if len(f) == 0 {
		return true
	}
	return slices.ContainsFunc(f, func(pattern string) bool {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(eventType, prefix)
		}
		return eventType == pattern
	})
}
