package sqlite

import (
	"context"
	"sync"

	"github.com/plinthhost/plinth/store/sqllog"
)

// request is one write that waits for the writer.
type request struct {
	// run does the write inside a savepoint. It may run more than once, and only
	// the last run counts.
	run func(ctx context.Context, tx sqllog.Tx) error
	// committed runs on the writer after the commit and before the caller has its
	// answer; nil for nothing.
	committed func()
	// size is about how many bytes it writes.
	size int
	// alone asks for a transaction of its own.
	alone bool

	dropped bool       // guarded by the queue: the caller went away in time
	taken   bool       // guarded by the queue: the writer has it
	done    chan error // one answer
}

// queue holds the requests that wait, in the order they came. It needs no bound:
// each request has a caller that waits for it.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	closed  error // nil while requests are taken
	ready   chan struct{}
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

// push adds a request, or answers why none is taken any more.
func (q *queue) push(r *request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed != nil {
		return q.closed
	}
	q.waiting = append(q.waiting, r)
	q.signal()
	return nil
}

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// drop takes a request back. It answers false when the writer has it already.
func (q *queue) drop(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	r.dropped = !r.taken
	return r.dropped
}

// groupBytes ends a group early, so that one commit stays short.
const groupBytes = 4 << 20

// take waits for requests and answers those that wait, at most limit of them. It
// answers nil when the queue is closed and empty.
func (q *queue) take(limit int) []*request {
	for {
		group, closed := q.next(limit)
		if len(group) > 0 || closed {
			return group
		}
		<-q.ready
	}
}

func (q *queue) next(limit int) (group []*request, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size, used := 0, 0
	for _, r := range q.waiting {
		if !r.dropped {
			if len(group) > 0 && (len(group) == limit || size+r.size > groupBytes || r.alone || group[0].alone) {
				break
			}
			r.taken = true
			size += r.size
			group = append(group, r)
		}
		used++
	}
	rest := copy(q.waiting, q.waiting[used:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	return group, q.closed != nil
}

// close refuses later requests with err and answers those that wait with it when
// abandon is set; otherwise they are still served.
func (q *queue) close(err error, abandon bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed == nil {
		q.closed = err
	}
	if abandon {
		for _, r := range q.waiting {
			r.done <- err
		}
		q.waiting = nil
	}
	q.signal()
}
