package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
)

// FollowOptions say what to follow of a session.
type FollowOptions struct {
	// After is the cursor to go on from; the first event when empty.
	After string
	// Types are event types, each may end in "*"; all when empty.
	Types []string
	// Deltas asks for the text of parts that are still streaming.
	Deltas bool
	// Retry, when set, is told why a connection was lost and when the next attempt
	// is made.
	Retry func(err error, wait time.Duration)
}

// Update is one thing a session did. Exactly one of Event, Part and Live is set,
// or none when only the cursor moved.
type Update struct {
	Event *protocol.Event
	Part  *PartUpdate
	// Live says that history is through, after every connect.
	Live bool
	// Cursor is where to go on after this update.
	Cursor string
}

// PartUpdate is the text of a part that is still streaming.
type PartUpdate struct {
	Message, Part string
	Kind          protocol.PartKind
	// Text is everything so far, Added what is new in it. After a reconnect Added
	// may be all of it again.
	Text, Added string
}

// EndedError is a subscription that the host ended for good.
type EndedError struct{ Reason protocol.EndReason }

func (e *EndedError) Error() string { return fmt.Sprintf("the host ended the stream: %s", e.Reason) }

// Follow yields what a session did after the cursor and what it does, each event
// once and in order. It reconnects by itself, for as long as ctx lasts; then it
// yields ctx's cause. Other errors end it too: a *protocol.Error (not_found,
// forbidden, …), a *protocol.ResetError when the cursor cannot be resumed, an
// *EndedError. Leaving the loop ends the connection.
func (c *Client) Follow(ctx context.Context, session string, options FollowOptions) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		c.follow(ctx, protocol.Sub{Scope: protocol.ScopeSession, Session: session}, options, yield)
	}
}

// FollowHost is Follow for the events of the host: what becomes of its plugins and
// approvals. There are no parts.
func (c *Client) FollowHost(ctx context.Context, options FollowOptions) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		options.Deltas = false
		c.follow(ctx, protocol.Sub{Scope: protocol.ScopeHost}, options, yield)
	}
}

// follow yields what the scope tells.
func (c *Client) follow(ctx context.Context, scope protocol.Sub, options FollowOptions, yield func(Update, error) bool) {
	f := &follower{client: c, scope: scope, options: options, cursor: options.After, last: -1, yield: yield}
	if err := f.run(ctx); err != nil && !errors.Is(err, errLeft) {
		yield(Update{}, err)
	}
}

// errLeft: the caller left the loop.
var errLeft = errors.New("the loop was left")

// follower follows one scope over one connection after the other.
type follower struct {
	client  *Client
	scope   protocol.Sub // Scope and what it is on
	options FollowOptions
	yield   func(Update, error) bool

	cursor   string // where to go on
	last     int64  // sequence of the last event that was yielded, -1 before
	prev     int64  // of the connection: the sequence the next event follows
	parts    stitcher
	failures int // in a row
	// behind counts pings in a row that told of events we have not been sent.
	behind int
}

func (f *follower) run(ctx context.Context) error {
	for {
		err := f.connection(ctx)
		if ctx.Err() != nil && !errors.Is(err, errLeft) {
			return context.Cause(ctx)
		}
		var lost *lostError
		if !errors.As(err, &lost) {
			return err
		}
		f.failures++
		wait := max(lost.wait, f.client.options.Backoff.after(f.failures))
		if f.options.Retry != nil {
			f.options.Retry(lost.cause, wait)
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// connection follows over one connection. A *lostError asks for another.
func (f *follower) connection(ctx context.Context) error {
	l, err := f.client.openLive(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	f.parts, f.behind = stitcher{}, 0
	if err := l.send(protocol.Sub{
		T: "sub", Sub: subName, Scope: f.scope.Scope, Session: f.scope.Session,
		After: f.cursor, Deltas: f.options.Deltas, Types: f.options.Types,
	}); err != nil {
		return err
	}
	for {
		frame, err := l.read()
		if err != nil {
			return err
		}
		if err := f.frame(l, frame); err != nil {
			return err
		}
	}
}

// subscribed notes the sequence the subscription begins after, which must be the
// one of our cursor.
func (f *follower) subscribed(frame *protocol.Subscribed) error {
	from, err := protocol.ParseCursor(frame.From)
	if err != nil {
		return &lostError{cause: err}
	}
	if f.cursor != "" {
		if at, err := protocol.ParseCursor(f.cursor); err != nil || at.Seq != from.Seq {
			return &lostError{cause: fmt.Errorf("the stream begins after event %d instead of the cursor's", from.Seq)}
		}
	}
	f.prev, f.cursor = from.Seq, frame.From
	return nil
}

// frame handles one frame of the host.
func (f *follower) frame(l *live, frame any) error {
	switch frame := frame.(type) {
	case *protocol.Ev:
		return f.event(frame)
	case *protocol.Delta:
		return f.delta(frame)
	case *protocol.Mark:
		f.cursor = frame.Cursor
		return f.emit(Update{Cursor: f.cursor})
	case *protocol.Live:
		f.cursor, f.failures = frame.Cursor, 0
		return f.emit(Update{Live: true, Cursor: f.cursor})
	case *protocol.Ping:
		return f.ping(l, frame)
	case *protocol.Reset:
		return &protocol.ResetError{Reason: frame.Reason, First: frame.First, Head: frame.Head}
	case *protocol.End:
		if frame.Reason == protocol.EndFailed {
			return &lostError{cause: &EndedError{frame.Reason}}
		}
		return &EndedError{frame.Reason}
	case *protocol.ErrFrame:
		if frame.Error.Retryable || frame.Error.Code == protocol.Internal {
			return &lostError{cause: frame.Error}
		}
		return frame.Error
	case *protocol.Bye:
		return &lostError{cause: errBye, wait: time.Duration(frame.ReconnectMS) * time.Millisecond}
	case *protocol.Subscribed:
		return f.subscribed(frame)
	default: // a frame that is not for us
		return nil
	}
}

// event yields an event once. One that does not follow the one before means that
// events were lost, and the connection begins anew from the cursor.
func (f *follower) event(ev *protocol.Ev) error {
	if ev.Prev != f.prev {
		return &lostError{cause: fmt.Errorf("event %d follows %d, but %d was the last", ev.Seq, ev.Prev, f.prev)}
	}
	f.prev, f.cursor, f.behind = ev.Seq, ev.Cursor, 0
	if ev.Seq <= f.last {
		return nil // it was yielded before
	}
	f.last, f.failures = ev.Seq, 0
	event := ev.Event
	return f.emit(Update{Event: &event, Cursor: f.cursor})
}

func (f *follower) delta(frame *protocol.Delta) error {
	text, ok := f.parts.add(frame)
	if !ok {
		return nil // a part that ended, or a hole that its end will fill
	}
	return f.emit(Update{Cursor: f.cursor, Part: &PartUpdate{
		Message: frame.Message, Part: frame.Part, Kind: frame.Kind, Text: text, Added: frame.Text,
	}})
}

// ping answers a ping. Two in a row that tell of events which do not come mean
// that the subscription is dead.
func (f *follower) ping(l *live, frame *protocol.Ping) error {
	if err := l.send(protocol.Pong{T: "pong", N: frame.N}); err != nil {
		return err
	}
	head, err := protocol.ParseCursor(frame.Heads[subName])
	if err != nil {
		return nil // not subscribed yet
	}
	at, err := protocol.ParseCursor(f.cursor)
	if err != nil || head.Seq <= at.Seq {
		f.behind = 0
		return nil
	}
	if f.behind++; f.behind >= 2 {
		return &lostError{cause: fmt.Errorf("the host has event %d and sends none after %d", head.Seq, at.Seq)}
	}
	return nil
}

func (f *follower) emit(update Update) error {
	if !f.yield(update, nil) {
		return errLeft
	}
	return nil
}
