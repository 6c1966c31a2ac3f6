package session

import (
	"context"
	"sync"
)

// Drain works on a session until nothing is eligible. It ends early, after cleaning
// up, when ctx ends; the cause is ErrInterrupted or ErrShutdown.
type Drain func(ctx context.Context, work *Work) error

// Work is one drain as its coordinator sees it. A Work that no coordinator made
// serves a drain that runs by itself.
type Work struct {
	Session string

	parking <-chan struct{}
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	newest int64 // the highest sequence that the drain is known to work on
}

// Opened says that the drain is about to record the start of an activity whose
// opener is the event at seq. An interrupt before that event no longer stops the
// drain. One that came first has ended the drain's context, so look at it between
// this call and the record.
func (w *Work) Opened(seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newest = max(w.newest, seq)
}

// Parking is closed when the host shuts down: the drain should end at its next
// boundary, before its context is cancelled.
func (w *Work) Parking() <-chan struct{} { return w.parking }

// interrupt ends the drain's context, unless its work is newer than seq.
func (w *Work) interrupt(seq int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.newest > seq {
		return false
	}
	w.cancel(ErrInterrupted)
	return true
}
