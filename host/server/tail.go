package server

import (
	"context"

	"github.com/plinthhost/plinth/client/protocol"
)

// tail follows one session's events from a cursor on, for a subscription, an
// event stream or a page. It is used by one goroutine.
type tail struct {
	events  Events
	session string
	log     string
	wake    Wake
	// after is the sequence, cursor the place of the last event that was answered.
	after  int64
	cursor string
	// head is the last sequence that was seen to exist.
	head  int64
	limit int
}

// Sizes of the pages a tail reads, in events, and the bytes of data from which on
// pages get smaller.
const (
	firstRead   = 64
	maxRead     = 256
	pageTooMuch = 512 << 10
)

// openTail registers for commits, then finds the place of the cursor; empty is
// the first event there is. Errors: bad_request, not_found, gone, *ResetError.
func (s *Server) openTail(ctx context.Context, session, cursor string) (*tail, error) {
	t := &tail{
		events: s.backend.Events, session: session, log: s.backend.Events.LogID(),
		wake: s.backend.Events.Watch(session), limit: firstRead,
	}
	if err := t.locate(ctx, cursor); err != nil {
		t.wake.Close()
		return nil, err
	}
	return t, nil
}

// locate sets the tail to the cursor's place and verifies that it is one of this
// session.
func (t *tail) locate(ctx context.Context, text string) error {
	if text == "" {
		page, err := t.events.Read(ctx, t.session, -1, 1)
		if err != nil {
			return err
		}
		t.set(page.First-1, page.Head)
		return nil
	}
	at, err := protocol.ParseCursor(text)
	if err != nil {
		return err
	}
	page, err := t.events.Read(ctx, t.session, max(at.Seq-1, -1), 1)
	if err != nil {
		return err
	}
	switch {
	case at.Log != t.log:
		return t.reset(protocol.ResetLog, page)
	case at.Seq > page.Head:
		return t.reset(protocol.ResetUnknown, page)
	case at.Seq+1 < page.First:
		return t.reset(protocol.ResetPruned, page)
	case at.Seq >= page.First && at.Tag != 0 && !isEvent(page, at):
		return t.reset(protocol.ResetUnknown, page)
	}
	t.set(at.Seq, page.Head)
	t.cursor = text
	return nil
}

// isEvent tells whether the page begins with the event the cursor stands after.
func isEvent(page EventPage, at protocol.Cursor) bool {
	return len(page.Events) > 0 && page.Events[0].Seq == at.Seq && protocol.EventTag(page.Events[0].ID) == at.Tag
}

func (t *tail) set(after, head int64) {
	t.after, t.head = after, head
	t.cursor = t.place(after)
}

// place is the cursor after a sequence whose event is not at hand.
func (t *tail) place(seq int64) string { return protocol.NewCursor(t.log, seq, "").String() }

func (t *tail) reset(reason protocol.ResetReason, page EventPage) error {
	return &protocol.ResetError{Reason: reason, First: t.place(page.First - 1), Head: t.place(page.Head)}
}

// poll answers the next events with their cursors, which may be none. A
// *ResetError says that they were pruned meanwhile.
func (t *tail) poll(ctx context.Context) (EventPage, error) {
	page, err := t.events.Read(ctx, t.session, t.after, t.limit)
	if err != nil {
		return EventPage{}, err
	}
	if t.after+1 < page.First {
		return EventPage{}, t.reset(protocol.ResetPruned, page)
	}
	t.head = page.Head
	size := 0
	for i := range page.Events {
		event := &page.Events[i]
		event.Session = t.session
		event.Cursor = protocol.NewCursor(t.log, event.Seq, event.ID).String()
		t.after, t.cursor = event.Seq, event.Cursor
		size += len(event.Data)
	}
	t.adapt(size, page.More)
	return page, nil
}

// adapt keeps the memory of a page bounded whatever the events weigh.
func (t *tail) adapt(size int, more bool) {
	switch {
	case size > pageTooMuch:
		t.limit = max(1, t.limit/2)
	case more && size < pageTooMuch/4:
		t.limit = min(maxRead, t.limit*2)
	}
}

func (t *tail) close() { t.wake.Close() }
