package wasm

import (
	"context"
	"time"
)

// Wait runs something of an operation that waits for the world outside: a person,
// a process, another session, the network. Meanwhile the guest's call holds no
// processor and no place in its pool, and its deadline stands. ctx is the
// operation's; fn gets one that ends when the call is cancelled, but has no
// deadline. Outside of an operation fn just runs.
//
// An error is fn's, or the call's end while it waited for its turn to go on.
func Wait(ctx context.Context, fn func(ctx context.Context) error) error {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return fn(ctx)
	}
	c.park()
	err := fn(c.parent)
	if resumed := c.unpark(); err == nil {
		err = resumed
	}
	return err
}

// park gives up all that others could use.
func (c *call) park() {
	c.watch.stop(time.Now())
	c.deadline.pause()
	c.processor.release()
	c.running = false
	c.module.pool.park()
}

// unpark takes it again. When the call ends first, it goes on without a processor
// and must not enter the guest.
func (c *call) unpark() error {
	err := c.module.pool.unpark(c.parent, c.session)
	if err == nil {
		err = c.processor.acquire(c.parent, c.session, forEver)
		c.running = err == nil
	}
	now := time.Now()
	c.turn, c.breathed = now, now
	c.watch.start(now)
	c.deadline.resume(c.watch.left(now))
	return err
}
