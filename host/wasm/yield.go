package wasm

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// Fuel is counted in units of the metered code: one stands for up to 16 simple
// instructions, 0.3 to 1.3 ns of a common guest.
const (
	// quantum is the fuel between two yields, some 10 µs; of a guest whose every
	// instruction waits for the memory, which takes 100 ns and more, some milliseconds.
	quantum = 2_500
	// graceFuel is what a guest may use after an operation told it that its call
	// has ended, to say what it did: about a millisecond. Each further operation
	// takes graceOperation of it.
	graceFuel      = 1_000_000
	graceOperation = graceFuel / 50
)

// yield is the import that metered code calls when its quantum is used up. It runs
// on the guest's goroutine, so it is where the collector gets its safepoint, the
// call's end is noticed, and the processor handed to another guest.
func yield(ctx context.Context, _ []uint64) { callOf(ctx).safepoint() }

// safepoint is a yield, also for host functions: a guest that does little else than
// call them uses next to no fuel.
func (c *call) safepoint() {
	c.account()
	c.pause()
	c.refill()
}

// charge takes fuel for what the host does in the guest's place.
func (c *call) charge(fuel int64) {
	left := int64(c.instance.counter.Get()) - fuel
	c.instance.counter.Set(uint64(left))
	if left < 0 {
		c.safepoint()
	}
}

// pause checks the call and lets others run.
func (c *call) pause() {
	now := time.Now()
	c.lap(now, stretch)
	c.check(now)
	if now.Sub(c.breathed) >= breath {
		runtime.Gosched()
		now = time.Now()
		c.lap(now, 0)
		c.breathed = now
	}
	// A guest that was told of its end has no time to wait for, and little to go on.
	if now.Sub(c.turn) >= slice && !c.told {
		c.turn = now
		if c.processor.contended() {
			c.waitTurn(c.processor.handOver)
		}
	}
}

// lap counts at most that much of what passed since the last look at a quick call. A
// tool's time is what passes.
func (c *call) lap(now time.Time, most time.Duration) {
	if c.lane == LaneQuick {
		c.watch.lap(now, most)
	}
}

// account adds what ran since the last refill to the call's fuel.
func (c *call) account() {
	left := int64(c.instance.counter.Get())
	c.fuel += c.quantum - left
	c.quantum = left
}

// refill sets the counter for the next stretch.
func (c *call) refill() {
	c.quantum = quantum
	if c.most > 0 {
		c.quantum = min(c.quantum, c.most-c.fuel)
	}
	c.instance.counter.Set(uint64(c.quantum))
}

// check stops a guest whose call has ended or that used more than it may.
func (c *call) check(now time.Time) {
	limits := &c.module.spec.Limits
	if c.most > 0 && c.fuel > c.most {
		c.stop(&LimitError{What: "fuel of a call", Limit: c.most, Knob: "Fuel"})
	}
	if bytes := c.instance.running.stackBytes(); bytes > int64(limits.StackKiB)<<10 {
		c.stop(&LimitError{What: "bytes of stack", Got: bytes, Limit: int64(limits.StackKiB) << 10, Knob: "StackKiB"})
	}
	if c.told {
		if c.fuel > c.toldAt+graceFuel {
			c.stop(c.ended(now))
		}
		return
	}
	if err := c.ended(now); err != nil {
		c.stop(err)
	}
}

// ended answers why the call has to end: ErrDeadline, ErrCancelled with its cause,
// or nil.
func (c *call) ended(now time.Time) error {
	if err := endOf(c.parent); err != nil {
		return err
	}
	if c.watch.left(now) <= 0 {
		return ErrDeadline
	}
	return nil
}

// waitTurn waits for a place on the processor, or stops the guest when its call ends
// first. A tool's time runs meanwhile, a quick call's does not.
func (c *call) waitTurn(take func(ctx context.Context, session string, wait time.Duration) error) {
	now := time.Now()
	wait := c.watch.left(now)
	if c.lane == LaneQuick {
		c.watch.stop(now)
		wait = forEver
	}
	err := take(c.parent, c.session, wait)
	now = time.Now()
	c.watch.start(now)
	c.turn, c.breathed = now, now
	if c.running = err == nil; c.running {
		return
	}
	if errors.Is(err, ErrBusy) {
		err = ErrDeadline
	}
	c.stop(err)
}

var _ api.GoFunc = yield
