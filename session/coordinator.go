package session

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/store"
)

// Coordinator runs at most one drain per session and any number of sessions side
// by side. It is told of events that ask for work or stop it, by sequence. What is
// eligible stands in the log, so a doubled or late wake costs a drain that finds
// nothing, and what is lost with the process is found again by the next one.
type Coordinator struct {
	drain   Drain
	logger  hclog.Logger
	root    context.Context // of every drain
	cancel  context.CancelCauseFunc
	parking chan struct{}
	group   sync.WaitGroup // one goroutine per drain

	mu     sync.Mutex
	owned  map[string]*ownership // sessions with a drain; an idle one costs nothing
	closed bool
}

// ownership is one session's chain of drains.
type ownership struct {
	current  *Work
	ended    chan struct{} // closed when the current drain has cleaned up
	idle     chan struct{} // closed when the chain has
	pending  *int64        // sequence of the newest wake behind the current drain
	stopping bool
	boundary int64 // of the interrupt that is being carried out
}

// NewCoordinator runs drains with the given function.
func NewCoordinator(drain Drain, logger hclog.Logger) *Coordinator {
	root, cancel := context.WithCancelCause(context.Background())
	return &Coordinator{drain: drain, logger: logger, root: root, cancel: cancel,
		parking: make(chan struct{}), owned: map[string]*ownership{}}
}

// Wake says that the event at seq left work. It starts a drain, or makes the one
// that runs be followed by another. During an interrupt only a wake that is newer
// than its boundary counts; after Close none does.
func (c *Coordinator) Wake(session string, seq int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owned[session]
	switch {
	case c.closed, o != nil && o.stopping && seq <= o.boundary:
	case o == nil:
		o = &ownership{idle: make(chan struct{})}
		c.owned[session] = o
		c.begin(session, o, seq)
	case o.pending == nil:
		o.pending = &seq
	default:
		*o.pending = max(*o.pending, seq)
	}
}

// Interrupt carries out the interrupt whose event is at seq: it stops the drain
// unless that works on something newer, drops the wake behind it unless that is
// newer, and waits until the drain has cleaned up. Interrupts of a drain that is
// stopping join it. Without a drain there is nothing to do: the boundary is in the
// log, and drains hold to it. The error is the cause of ctx; the drain is stopped
// all the same.
func (c *Coordinator) Interrupt(ctx context.Context, session string, seq int64) error {
	if ended := c.stop(session, seq); ended != nil {
		return wait(ctx, ended)
	}
	return nil
}

// stop answers what to wait for, nil when nothing was stopped.
func (c *Coordinator) stop(session string, seq int64) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.owned[session]
	if o == nil {
		return nil
	}
	if o.pending != nil && *o.pending <= seq {
		o.pending = nil
	}
	if !o.stopping && !o.current.interrupt(seq) {
		return nil
	}
	o.stopping, o.boundary = true, max(o.boundary, seq)
	return o.ended
}

// Settle waits until the session has no drain. The error is the cause of ctx.
func (c *Coordinator) Settle(ctx context.Context, session string) error {
	c.mu.Lock()
	o := c.owned[session]
	c.mu.Unlock()
	if o == nil {
		return nil
	}
	return wait(ctx, o.idle)
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Running reports whether the session has a drain.
func (c *Coordinator) Running(session string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owned[session] != nil
}

// Active lists the sessions with a drain, in no order.
func (c *Coordinator) Active() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	sessions := make([]string, 0, len(c.owned))
	for session := range c.owned {
		sessions = append(sessions, session)
	}
	return sessions
}

// Close asks all drains to park, cancels those that have not ended after the grace
// with ErrShutdown, and returns when all have ended. No drain follows them, and
// later wakes are ignored. Safe twice.
func (c *Coordinator) Close(grace time.Duration) {
	c.park()
	gone := make(chan struct{})
	go func() { c.group.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-time.After(grace):
	}
	c.cancel(ErrShutdown)
	<-gone
}

func (c *Coordinator) park() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	close(c.parking)
	for _, o := range c.owned {
		o.pending = nil
	}
}

// begin starts a drain for the wake at seq. c.mu is held.
func (c *Coordinator) begin(session string, o *ownership, seq int64) {
	ctx, cancel := context.WithCancelCause(c.root)
	work := &Work{Session: session, parking: c.parking, cancel: cancel, newest: seq}
	o.current, o.ended = work, make(chan struct{})
	o.pending, o.stopping, o.boundary = nil, false, 0
	c.group.Go(func() { c.run(ctx, o, work) })
}

// run makes one drain. A panic is the failure of that drain and of nothing else.
func (c *Coordinator) run(ctx context.Context, o *ownership, work *Work) {
	err := errors.New("the drain left its goroutine") // unless it returns
	var stack []any
	defer func() {
		if panicked := recover(); panicked != nil {
			err, stack = fmt.Errorf("panic: %v", panicked), []any{"stack", string(debug.Stack())}
		}
		if unexpected(err) {
			c.logger.Error("session drain failed", append([]any{"session", work.Session, "error", err}, stack...)...)
		}
		work.cancel(nil)
		c.settle(work.Session, o)
	}()
	err = c.drain(ctx, work)
}

// unexpected reports whether an error is news: a *Failure stands in the log already, and
// a session that was removed needs no more.
func unexpected(err error) bool {
	var recorded *Failure
	return err != nil && !errors.Is(err, ErrInterrupted) && !errors.Is(err, ErrShutdown) && !errors.As(err, &recorded) &&
		!errors.Is(err, store.ErrDeleted)
}

// settle follows the drain that ended by the next, or forgets the session.
func (c *Coordinator) settle(session string, o *ownership) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(o.ended)
	if o.pending != nil {
		c.begin(session, o, *o.pending)
		return
	}
	delete(c.owned, session)
	close(o.idle)
}
