package wasm

import (
	"context"
	"sync"
	"time"
)

// operationContext is one operation's: it ends with the caller's and when the call's
// time is up, which stands while the call waits for the world outside. What most
// operations never look at is made when it is asked for. It knows its call, so that
// Wait finds it.
type operationContext struct {
	parent context.Context
	call   *call

	mu     sync.Mutex
	at     time.Time // the deadline
	paused bool
	over   bool            // the operation has answered
	live   context.Context // nil until somebody asked
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// operation answers the context of the operation that begins.
func (c *call) operation() *operationContext {
	now := time.Now()
	c.operating = &operationContext{parent: c.parent, call: c, at: now.Add(c.watch.left(now))}
	return c.operating
}

// end is called when the operation has answered. All of its time counts.
func (o *operationContext) end() {
	o.call.lap(time.Now(), forEver)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	if o.live != nil {
		o.timer.Stop()
		o.cancel(nil)
	}
	o.call.operating = nil
}

// pause lets the deadline stand.
func (o *operationContext) pause() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paused = true
	if o.live != nil {
		o.timer.Stop()
	}
}

func (o *operationContext) resume(left time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paused = false
	o.at = time.Now().Add(left)
	if o.live != nil {
		o.timer.Reset(max(left, 0))
	}
}

// lively makes the real context.
func (o *operationContext) lively() context.Context {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.live != nil {
		return o.live
	}
	o.live, o.cancel = context.WithCancelCause(o.parent)
	cancel := o.cancel
	left := time.Until(o.at)
	switch {
	case o.over:
		cancel(nil)
	case left <= 0 && !o.paused:
		cancel(ErrDeadline)
	}
	o.timer = time.AfterFunc(max(left, 0), func() { cancel(ErrDeadline) })
	if o.over || o.paused {
		o.timer.Stop()
	}
	return o.live
}

func (o *operationContext) Done() <-chan struct{} { return o.lively().Done() }
func (o *operationContext) Err() error            { return o.lively().Err() }

// Deadline moves when the call waits for something outside.
func (o *operationContext) Deadline() (time.Time, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if outer, ok := o.parent.Deadline(); ok && outer.Before(o.at) {
		return outer, true
	}
	return o.at, true
}

func (o *operationContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return o.call
	}
	o.mu.Lock()
	live := o.live
	o.mu.Unlock()
	if live != nil {
		return live.Value(key) // the standard library looks for its own there
	}
	return o.parent.Value(key)
}
