package server

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/gorilla/websocket"

	"github.com/plinthhost/plinth/client/protocol"
)

// closeGrace is how long a connection whose right has ended may still take what
// is being written to it.
const closeGrace = 800 * time.Millisecond

// writer writes everything a connection is sent after the welcome and owns its
// subscriptions. It holds no queue: it pulls from one subscription after the
// other, a page at a time, and TCP holds it back.
type writer struct {
	*conn
	wantPong bool
	subs     []*subscription
	pings    int64
	silent   int // heartbeats in a row in which nothing was heard
}

func newWriter(c *conn, hello *protocol.Hello) *writer {
	return &writer{conn: c, wantPong: hello.Want.Pong}
}

// run writes until ctx ends or the client is gone, and says goodbye.
func (w *writer) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { w.closeSoon(context.Cause(ctx)) })
	defer stop()
	err := w.loop(ctx)
	w.finish(err)
	for _, sub := range w.subs {
		sub.close()
	}
	return err
}

// closeSoon makes a blocked write end when the connection's time is over.
func (w *writer) closeSoon(cause error) {
	grace := closeGrace
	if errors.Is(cause, errDraining) {
		grace += w.server.options.DrainTimeout
	}
	time.AfterFunc(grace, func() { w.ws.NetConn().Close() })
}

func (w *writer) loop(ctx context.Context) error {
	beat := time.NewTicker(w.server.options.Heartbeat)
	defer beat.Stop()
	for ctx.Err() == nil {
		more, err := w.round(ctx)
		switch {
		case err != nil && ctx.Err() != nil && !errors.Is(err, errLost):
			return context.Cause(ctx) // a read that was given up says less
		case err != nil:
			return err
		}
		if more { // a heartbeat is due all the same
			select {
			case <-beat.C:
				err = w.heartbeat()
			default:
			}
		} else {
			err = w.wait(ctx, beat.C)
		}
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// round does what is there to do, once for each source, answers first. More says
// that some is left.
func (w *writer) round(ctx context.Context) (more bool, err error) {
	if err := w.answers(ctx); err != nil {
		return false, err
	}
	now := time.Now()
	for _, sub := range w.subs {
		left, err := sub.step(ctx, w, now)
		if err != nil {
			// When that ended the subscription only, the list of them has changed.
			return true, w.failed(ctx, sub, err)
		}
		more = more || left
	}
	return more, nil
}

// answers writes the results and carries out the commands that wait.
func (w *writer) answers(ctx context.Context) error {
	for range cap(w.commands) {
		var err error
		select {
		case res := <-w.results:
			err = w.result(res)
		case cmd := <-w.commands:
			err = w.do(ctx, cmd)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wait blocks until something is to be done.
func (w *writer) wait(ctx context.Context, beat <-chan time.Time) error {
	var deltas <-chan time.Time
	if due, ok := w.nextDelta(); ok {
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		deltas = timer.C
	}
	select {
	case <-ctx.Done():
		return nil
	case res := <-w.results:
		return w.result(res)
	case cmd := <-w.commands:
		return w.do(ctx, cmd)
	case <-w.poke:
		return nil
	case <-deltas:
		return nil
	case <-beat:
		return w.heartbeat()
	}
}

func (w *writer) result(res protocol.Res) error {
	w.inflight.Add(-1)
	return w.send(res)
}

// do carries out one command of the reader.
func (w *writer) do(ctx context.Context, cmd command) error {
	switch cmd := cmd.(type) {
	case *protocol.Sub:
		return w.subscribe(ctx, cmd)
	case *protocol.Unsub:
		sub := w.find(cmd.Sub)
		if sub == nil {
			return w.send(errFrame(&protocol.FrameError{Of: cmd.Sub, Err: protocol.Errorf(protocol.NotFound, "there is no subscription of that name")}))
		}
		return w.end(sub, protocol.EndUnsubscribed)
	default:
		return w.send(cmd)
	}
}

// heartbeat pings, and gives up a client of which nothing was heard for two
// heartbeats. It also makes every subscription look at the log, so that a lost
// wake costs one heartbeat at most.
func (w *writer) heartbeat() error {
	if w.heard.Swap(false) {
		w.silent = 0
	} else if w.silent++; w.silent >= 2 {
		return errLost
	}
	if err := w.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(w.server.options.WriteTimeout)); err != nil {
		return errLost
	}
	heads := make(map[string]string, len(w.subs))
	for _, sub := range w.subs {
		sub.eventsDirty.Store(true)
		heads[sub.name] = sub.tail.headCursor()
	}
	if !w.wantPong {
		return nil
	}
	w.pings++
	return w.send(protocol.Ping{T: "ping", N: w.pings, Heads: heads})
}

// finish tells the client why the connection ends, as far as it still listens.
func (w *writer) finish(cause error) {
	switch {
	case errors.Is(cause, errDraining):
		if w.send(protocol.Bye{T: "bye", Code: "draining", ReconnectMS: 500}) != nil {
			return
		}
		for w.inflight.Load() > 0 {
			if w.result(<-w.results) != nil {
				return
			}
		}
	case errors.Is(cause, errRevoked):
		for _, sub := range w.subs {
			if w.send(protocol.End{T: "end", Sub: sub.name, Reason: protocol.EndRevoked}) != nil {
				return
			}
		}
	}
	w.close(cause)
}

// send writes one frame. It is called by the handshake, then by the writer only.
func (c *conn) send(frame any) error {
	var buffer bytes.Buffer
	if err := protocol.EncodeTo(&buffer, frame); err != nil {
		return err
	}
	if err := c.ws.SetWriteDeadline(time.Now().Add(c.server.options.WriteTimeout)); err != nil {
		return errLost
	}
	if err := c.ws.WriteMessage(websocket.TextMessage, buffer.Bytes()); err != nil {
		return errLost
	}
	return nil
}

// close writes the close frame that goes with the cause.
func (c *conn) close(cause error) {
	var end *closing
	switch {
	case errors.Is(cause, errLost), errors.Is(cause, context.Canceled):
		return
	case errors.As(cause, &end):
	case errors.Is(cause, errRevoked):
		end = &closing{protocol.CloseRevoked, errRevoked.Error()}
	case errors.Is(cause, errDraining):
		end = &closing{protocol.CloseDraining, errDraining.Error()}
	default:
		c.server.logger.Error("live connection failed", "error", cause)
		end = &closing{protocol.CloseInternal, "the server failed; its log says why"}
	}
	message := websocket.FormatCloseMessage(end.code, end.reason)
	_ = c.ws.WriteControl(websocket.CloseMessage, message, time.Now().Add(closeGrace)) // the client may be gone
}
