package wasm

import (
	"context"
	"sync/atomic"
	"time"
)

// deadline ends the context of an operation when the call's time is up. It can
// stand while the call waits for the world outside.
type deadline struct {
	timer *time.Timer  // nil outside of an operation
	at    atomic.Int64 // when it ends the context, in Unix nanoseconds
}

// operation answers the context of one operation and what ends it. The context
// knows its call, so that Wait finds it.
func (c *call) operation(left time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(c.parent)
	c.deadline.at.Store(time.Now().Add(left).UnixNano())
	c.deadline.timer = time.AfterFunc(left, func() { cancel(ErrDeadline) })
	return operationContext{Context: ctx, call: c}, func() {
		c.deadline.timer.Stop()
		c.deadline.timer = nil
		cancel(nil)
	}
}

func (d *deadline) pause() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

func (d *deadline) resume(left time.Duration) {
	if d.timer != nil {
		d.at.Store(time.Now().Add(left).UnixNano())
		d.timer.Reset(max(left, 0))
	}
}

// operationContext is an operation's: of the caller, and it knows its call.
type operationContext struct {
	context.Context
	call *call
}

// Deadline moves when the call waits for something outside.
func (o operationContext) Deadline() (time.Time, bool) {
	own := time.Unix(0, o.call.deadline.at.Load())
	if outer, ok := o.Context.Deadline(); ok && outer.Before(own) {
		return outer, true
	}
	return own, true
}

func (o operationContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return o.call
	}
	return o.Context.Value(key)
}
