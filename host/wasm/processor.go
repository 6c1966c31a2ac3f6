package wasm

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Lane says in which line a call waits for a processor.
type Lane int

// Lanes. A guest in one never waits for a guest in the other.
const (
	LaneTool  Lane = iota // calls that may take long
	LaneQuick             // codecs, context sources and transforms: a turn waits for them
	lanes
)

func (l Lane) String() string {
	if l == LaneQuick {
		return "quick"
	}
	return "tool"
}

// Scheduling of guests that run.
const (
	slice     = 3 * time.Millisecond // what a guest may run while others wait
	breath    = time.Millisecond     // at most so long without handing the thread to Go
	forEver   = time.Duration(math.MaxInt64)
	quickRuns = 1 // quick calls that run beside the tools, at least
)

// processors bounds how many guests run at a time, each lane for itself, so that
// Go keeps a processor of its own.
type processors [lanes]processor

func newProcessors(tools, quick int) *processors {
	cores := runtime.GOMAXPROCS(0)
	if tools <= 0 {
		tools = max(1, cores-1)
	}
	if quick <= 0 {
		quick = max(quickRuns, cores/2)
	}
	p := new(processors)
	p[LaneTool].free, p[LaneQuick].free = tools, quick
	return p
}

// processor is the running places of one lane.
type processor struct {
	waiting atomic.Int32 // as queue.n, to be read without the lock

	mu    sync.Mutex
	free  int
	queue queue[struct{}]
}

// acquire takes a running place: ErrBusy after the time, or the context's end.
func (p *processor) acquire(ctx context.Context, session string, wait time.Duration) error {
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		p.mu.Unlock()
		return nil
	}
	w := p.enqueue(session)
	p.mu.Unlock()
	_, err := w.await(ctx, wait, func() bool { return p.withdraw(w) })
	return err
}

func (p *processor) enqueue(session string) *waiter[struct{}] {
	w := p.queue.push(session)
	p.waiting.Store(int32(p.queue.n))
	return w
}

func (p *processor) withdraw(w *waiter[struct{}]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(w.granted) > 0 {
		return false
	}
	p.queue.remove(w)
	p.waiting.Store(int32(p.queue.n))
	return true
}

// release gives a running place to who waits, or back.
func (p *processor) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.grant() {
		p.free++
	}
}

// grant serves the next waiter, if there is one.
func (p *processor) grant() bool {
	w := p.queue.next(nil)
	if w == nil {
		return false
	}
	p.waiting.Store(int32(p.queue.n))
	w.granted <- struct{}{}
	return true
}

// contended says whether somebody waits for a place.
func (p *processor) contended() bool { return p.waiting.Load() > 0 }

// handOver gives the caller's place to who waits and waits for another one. It
// fails as acquire does; then the caller has none.
func (p *processor) handOver(ctx context.Context, session string, wait time.Duration) error {
	p.mu.Lock()
	w := p.enqueue(session)
	p.grant() // to who stood before, since the caller's session goes to the end
	p.mu.Unlock()
	_, err := w.await(ctx, wait, func() bool { return p.withdraw(w) })
	return err
}
