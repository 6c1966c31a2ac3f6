package store

import (
	"context"
	"sync"
)

// Wake is an advisory, coalesced signal that an aggregate may have new events.
// It carries no data: the reader asks the log.
type Wake struct {
	ready  chan struct{}
	once   sync.Once
	remove func()
}

// NewWake makes a wake whose Close calls remove once.
func NewWake(remove func()) *Wake {
	return &Wake{ready: make(chan struct{}, 1), remove: remove}
}

// Poke marks the wake. Pokes between two receives are one. It never blocks.
func (w *Wake) Poke() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// C receives once for any number of pokes since the last receive.
func (w *Wake) C() <-chan struct{} { return w.ready }

// Close ends the registration. Safe twice.
func (w *Wake) Close() {
	w.once.Do(func() {
		if w.remove != nil {
			w.remove()
		}
	})
}

// Tail follows one aggregate from a sequence on: history first, then what is
// committed, each event once and in order. It is used by one goroutine.
type Tail struct {
	log       Log
	aggregate string
	after     int64
	wake      *Wake
}

// NewTail registers for commits at once, so that nothing is lost between this
// call and the first Next.
func NewTail(log Log, aggregate string, after int64) *Tail {
	return &Tail{log: log, aggregate: aggregate, after: after, wake: log.Watch(aggregate)}
}

// Next answers the next events, at least one and at most limit. It waits until
// there are some or ctx ends.
func (t *Tail) Next(ctx context.Context, limit int) (Page, error) {
	for {
		page, err := t.Poll(ctx, limit)
		if err != nil && ctx.Err() != nil {
			return Page{}, context.Cause(ctx) // whatever the log made of it
		}
		if err != nil || len(page.Events) > 0 {
			return page, err
		}
		select {
		case <-t.wake.C():
		case <-ctx.Done():
			return Page{}, context.Cause(ctx)
		}
	}
}

// Poll is Next without waiting: the page may be empty.
func (t *Tail) Poll(ctx context.Context, limit int) (Page, error) {
	page, err := t.log.Read(ctx, t.aggregate, t.after, limit)
	if err != nil {
		return Page{}, err
	}
	if n := len(page.Events); n > 0 {
		t.after = page.Events[n-1].Seq
	}
	return page, nil
}

// C is the wake's channel, for a caller that waits for several things.
func (t *Tail) C() <-chan struct{} { return t.wake.C() }

// After is the sequence of the last event that was answered.
func (t *Tail) After() int64 { return t.after }

// Close ends the registration. Safe twice.
func (t *Tail) Close() { t.wake.Close() }
