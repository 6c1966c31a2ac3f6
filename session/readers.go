package session

import (
	"context"
	"sync"
)

// readers are those who read a session's events up to an end that they wait for. What a
// pruning takes away is there until they have come to it.
type readers struct {
	mu sync.Mutex
	of map[string]*reading
}

type reading struct {
	count int
	over  chan struct{} // closed with the last one's end
}

func newReaders() *readers { return &readers{of: map[string]*reading{}} }

// Reading says that the caller reads the session's events up to an end, until it calls
// done, once. A pruning leaves the events alone until then, some seconds at most.
func (s *Sessions) Reading(id string) (done func()) { return s.readers.enter(id) }

func (r *readers) enter(id string) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.of[id]
	if one == nil {
		one = &reading{over: make(chan struct{})}
		r.of[id] = one
	}
	one.count++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if one.count--; one.count == 0 {
			delete(r.of, id)
			close(one.over)
		}
	}
}

// await returns when nobody reads the session, or ctx ends.
func (r *readers) await(ctx context.Context, id string) {
	r.mu.Lock()
	one := r.of[id]
	r.mu.Unlock()
	if one == nil {
		return
	}
	select {
	case <-one.over:
	case <-ctx.Done():
	}
}
