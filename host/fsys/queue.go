package fsys

import (
	"sync"
	"sync/atomic"
)

// maxQueue bounds the pieces of work that wait; beyond it a worker does its own
// at once.
const maxQueue = 4096

// queue is the work that waits, taken last in first out: what is open stays few.
type queue struct {
	mu      sync.Mutex
	ready   sync.Cond
	waiting []work
	pending int // waiting or being done
	err     error
	stopped atomic.Bool
}

func (q *queue) init() { q.ready.L = &q.mu }

// push queues a piece of work unless too many wait.
func (q *queue) push(w work) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxQueue {
		return false
	}
	q.waiting = append(q.waiting, w)
	q.pending++
	q.ready.Signal()
	return true
}

// take waits for a piece of work. It answers false when there are no more, with
// the error that ended the walk.
func (q *queue) take() (work, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && q.pending > 0 && q.err == nil {
		q.ready.Wait()
	}
	if q.err != nil || len(q.waiting) == 0 {
		return work{}, false, q.err
	}
	last := len(q.waiting) - 1
	w := q.waiting[last]
	q.waiting = q.waiting[:last]
	return w, true, nil
}

// done says that a piece of work taken is finished.
func (q *queue) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pending--; q.pending == 0 {
		q.ready.Broadcast()
	}
}

// fail ends the walk; the first error counts.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	q.stopped.Store(true)
	q.ready.Broadcast()
}

func (q *queue) failed() bool { return q.stopped.Load() }
