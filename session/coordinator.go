package session

import (
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// Drain works on a session until nothing is eligible. Forced, it makes at least
// one provider request. It ends early, after cleaning up, when ctx ends.
type Drain func(ctx context.Context, session string, force bool) error

// Coordinator runs at most one drain per session and any number of sessions side
// by side. Wakes are advice: what is eligible stands in the log, so a lost or
// doubled wake changes nothing.
type Coordinator struct {
	drain  Drain
	logger hclog.Logger
	group  sync.WaitGroup

	mu     sync.Mutex
	owned  map[string]*ownership // sessions with a drain; an idle session costs nothing
	closed bool
}

// ownership is one session's chain of drains.
type ownership struct {
	current  demand
	pending  *demand
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed when the current drain has cleaned up
	stopping bool
	boundary int64 // sequence of the interrupt that is being carried out
}

// demand is why a drain runs: a wake with the sequence of its event, or a run.
type demand struct {
	force   bool
	seq     int64
	waiters []chan error
}

func (d *demand) settle(err error) {
	for _, waiter := range d.waiters {
		waiter <- err
	}
}

// NewCoordinator runs drains with the given function.
func NewCoordinator(drain Drain, logger hclog.Logger) *Coordinator {
	return &Coordinator{drain: drain, logger: logger, owned: map[string]*ownership{}}
}

// Wake says that the event at seq left work. It starts a drain, or makes the one
// that runs be followed by another. During an interrupt only a wake that is newer
// than its boundary counts.
func (c *Coordinator) Wake(session string, seq int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	o := c.owned[session]
	switch {
	case o == nil:
		c.start(session, demand{seq: seq})
	case o.stopping && seq <= o.boundary:
	case o.pending == nil:
		o.pending = &demand{seq: seq}
	default:
		o.pending.seq = max(o.pending.seq, seq)
	}
}

// Run makes a forced drain and answers how it ended. It joins a forced drain that
// runs; behind a wake's drain, or one that is stopping, it runs after it.
func (c *Coordinator) Run(ctx context.Context, session string) error {
	waiter := make(chan error, 1)
	if err := c.force(session, waiter); err != nil {
		return err
	}
	select {
	case err := <-waiter:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Start asks for a forced drain as Run does and does not wait for it.
func (c *Coordinator) Start(session string) error { return c.force(session) }

func (c *Coordinator) force(session string, waiters ...chan error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrShutdown
	}
	o := c.owned[session]
	switch {
	case o == nil:
		c.start(session, demand{force: true, waiters: waiters})
	case o.current.force && !o.stopping:
		o.current.waiters = append(o.current.waiters, waiters...)
	case o.pending == nil:
		o.pending = &demand{force: true, waiters: waiters}
	default:
		o.pending.force = true
		o.pending.waiters = append(o.pending.waiters, waiters...)
	}
	return nil
}

// Interrupt stops the drain whose demand is not newer than seq, drops what waited
// behind it unless that is newer, and waits until the drain has cleaned up.
// Without a drain it does nothing.
func (c *Coordinator) Interrupt(ctx context.Context, session string, seq int64) error {
	c.mu.Lock()
	o := c.owned[session]
	if o == nil {
		c.mu.Unlock()
		return nil
	}
	if p := o.pending; p != nil && (p.force || p.seq <= seq) {
		p.settle(ErrInterrupted)
		o.pending = nil
		if p.seq > seq {
			o.pending = &demand{seq: p.seq}
		}
	}
	if !o.current.force && o.current.seq > seq {
		c.mu.Unlock()
		return nil
	}
	o.stopping = true
	o.boundary = max(o.boundary, seq)
	o.cancel(ErrInterrupted)
	done := o.done
	c.mu.Unlock()
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

// Close stops all drains with ErrShutdown and waits for them. Later wakes are
// ignored and runs refused. Safe twice.
func (c *Coordinator) Close() {
	c.mu.Lock()
	c.closed = true
	for _, o := range c.owned {
		if o.pending != nil {
			o.pending.settle(ErrShutdown)
			o.pending = nil
		}
		o.cancel(ErrShutdown)
	}
	c.mu.Unlock()
	c.group.Wait()
}

// start begins a chain. c.mu is held.
func (c *Coordinator) start(session string, first demand) {
	o := &ownership{}
	c.owned[session] = o
	ctx := o.begin(first)
	c.group.Go(func() { c.chain(ctx, session, o) })
}

// begin makes d the current demand. The coordinator's lock is held.
func (o *ownership) begin(d demand) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	o.current, o.pending = d, nil
	o.cancel, o.done = cancel, make(chan struct{})
	o.stopping = false
	return ctx
}

// chain runs drains until no demand is left.
func (c *Coordinator) chain(ctx context.Context, session string, o *ownership) {
	for ctx != nil {
		err := c.drain(ctx, session, o.current.force)
		var recorded *Failure // stands in the log already
		if err != nil && !o.current.force && !errors.Is(err, ErrInterrupted) && !errors.Is(err, ErrShutdown) && !errors.As(err, &recorded) {
			c.logger.Error("session drain failed", "session", session, "error", err)
		}
		ctx = c.settle(session, o, err)
	}
}

// settle ends the current drain and answers the context of the next, if any.
func (c *Coordinator) settle(session string, o *ownership, err error) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.cancel(nil)
	o.current.settle(err)
	close(o.done)
	if o.pending == nil {
		delete(c.owned, session)
		return nil
	}
	return o.begin(*o.pending)
}
