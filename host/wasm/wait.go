package wasm

import (
	"context"
	"time"
)

// Wait runs something of an operation that waits for the world outside: a person,
// a process, another session, the network. Meanwhile the guest's call holds no
// processor and no place in its pool, and its deadline stands. ctx is the
// operation's; fn gets one that ends when the call is cancelled, but has no
// deadline. Outside of an operation fn just runs, and within another Wait. Only the
// operation's own goroutine may call it.
//
// An error is fn's, or the call's end: before, when fn does not run, or while it
// waited for its turn to go on.
func Wait(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return fn(ctx)
	}
	if ended := c.ended(time.Now()); ended != nil {
		return ended
	}
	if !c.running {
		return fn(c.parent)
	}
	c.park()
	defer func() { // also when fn panics: what was given up is counted
		if resumed := c.unpark(); err == nil {
			err = resumed
		}
	}()
	return fn(c.parent)
}

// park gives up all that others could use.
func (c *call) park() {
	c.watch.stop(time.Now())
	if c.operating != nil {
		c.operating.pause()
	}
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
	if c.operating != nil {
		c.operating.resume(c.watch.left(now))
	}
	return err
}
