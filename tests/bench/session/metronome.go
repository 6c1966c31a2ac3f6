package main

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/plinthhost/plinth/session"
)

// metronome is a provider that says a fragment at every interval. A fragment begins
// with the time it was due.
type metronome struct {
	epoch time.Time
	ready chan struct{}  // one for each stream that waits to begin
	start chan time.Time // when each begins
}

// release waits until all streams are there and begins them one after the other.
func (m *metronome) release(ctx context.Context) error {
	for range streams {
		select {
		case <-m.ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	first := time.Now().Add(deltaInterval)
	for i := range streams {
		m.start <- first.Add(spread * time.Duration(i) / streams)
	}
	return nil
}

// Stream says the fragments.
func (m *metronome) Stream(ctx context.Context, _ session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	return func(yield func(session.ModelEvent, error) bool) {
		m.ready <- struct{}{}
		var due time.Time
		select {
		case due = <-m.start:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(0)
		defer timer.Stop()
		for range deltas {
			timer.Reset(time.Until(due))
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			if !yield(fragment(stamped(due.Sub(m.epoch))), nil) {
				return
			}
			due = due.Add(deltaInterval)
		}
		yield(finish(), nil)
	}
}

// stamped is a fragment that carries a time, as text of one length.
func stamped(at time.Duration) string {
	return fmt.Sprintf("%0*d", deltaBytes, at.Nanoseconds())
}

// dueAt reads the time that a fragment carries.
func dueAt(text string) (time.Duration, error) {
	nanoseconds, err := strconv.ParseInt(text[:deltaBytes], 10, 64)
	return time.Duration(nanoseconds), err
}
