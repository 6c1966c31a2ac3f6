package wasm

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// pool holds a module's instances. A call needs a place, of which there are as
// many as Limits.Instances, and memory for it within Limits.PoolMiB; it then has
// an instance for itself. A call that waits for something outside gives its place
// up and keeps its instance.
type pool struct {
	places int
	bytes  int64 // of all leased instances
	sticky bool  // an instance serves one session only

	mu        sync.Mutex
	unit      int64       // bytes of an instance that starts
	idle      []*instance // longest unused first
	held      int64       // bytes of leased instances, as of their lease
	bound     map[string]bool
	returning queue[struct{}] // for a place, with an instance in hand
	waiting   queue[struct{}] // for a place
	stats     Stats
}

// Stats counts a module's instances.
type Stats struct {
	Started   int // since Load
	Discarded int // after a fault, for their age or size, or to make room
	Idle      int
	Leased    int // to calls that have a place
	Parked    int // to calls that wait for something outside
}

func newPool(limits Limits, sticky bool) *pool {
	return &pool{places: limits.Instances, bytes: int64(limits.PoolMiB) << 20, sticky: sticky, bound: make(map[string]bool)}
}

// enter waits for a place: ErrBusy after the time, or the context's end.
func (p *pool) enter(ctx context.Context, session string, wait time.Duration) error {
	p.mu.Lock()
	if p.may(session) && p.waiting.n == 0 && p.returning.n == 0 {
		p.grant(session)
		p.mu.Unlock()
		return nil
	}
	w := p.waiting.push(session)
	p.dispatch() // who stands before may be one that cannot be served
	p.mu.Unlock()
	_, err := w.await(ctx, wait, func() bool { return p.withdraw(&p.waiting, w) })
	return err
}

// may says whether a call of the session could have a place now.
func (p *pool) may(session string) bool {
	if p.stats.Leased >= p.places || p.sticky && p.bound[session] {
		return false
	}
	return p.held == 0 || p.held+p.unit <= p.bytes
}

func (p *pool) grant(session string) {
	p.stats.Leased++
	p.held += p.unit // until the instance is known
	if p.sticky {
		p.bound[session] = true
	}
}

func (p *pool) withdraw(q *queue[struct{}], w *waiter[struct{}]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(w.granted) > 0 {
		return false
	}
	q.remove(w)
	return true
}

// dispatch gives free places away: first to calls that come back from a wait.
func (p *pool) dispatch() {
	for p.stats.Leased < p.places {
		w := p.returning.next(nil)
		if w == nil {
			break
		}
		p.stats.Leased++
		w.granted <- struct{}{}
	}
	for {
		w := p.waiting.next(p.may)
		if w == nil {
			return
		}
		p.grant(w.session)
		w.granted <- struct{}{}
	}
}

// take answers an idle instance for a call that has a place, or nil when one must
// be started. Instances that have to make room for it are the caller's to close.
func (p *pool) take(session string) (found *instance, evicted []*instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, v := range slices.Backward(p.idle) {
		if !p.sticky || v.calls == 0 || v.session == session {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.held += v.bytes - p.unit
			return v, nil
		}
	}
	p.stats.Started++
	return nil, p.evict(p.places - p.stats.Leased - p.stats.Parked)
}

// started counts the bytes of a leased instance that is new.
func (p *pool) started(i *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held += i.bytes - p.unit
}

// replace counts that a leased instance gives way to a new one.
func (p *pool) replace(i *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held += p.unit - i.bytes
	p.stats.Started++
	p.stats.Discarded++
}

// evict takes out the longest unused idle instances beyond a number.
func (p *pool) evict(most int) []*instance {
	n := max(0, len(p.idle)-max(0, most))
	evicted := slices.Clone(p.idle[:n])
	p.idle = slices.Delete(p.idle, 0, n)
	p.stats.Discarded += n
	return evicted
}

// leave ends a lease. The instance, nil when none could be started, becomes idle
// when it is kept. More than there are places are not: calls that waited for
// something outside come back with one each. Those evicted are the caller's to close.
func (p *pool) leave(session string, i *instance, keep bool) (evicted []*instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Leased--
	delete(p.bound, session)
	switch {
	case i == nil:
		p.held -= p.unit
		p.stats.Discarded++
	case keep:
		p.held -= i.bytes
		i.bytes = int64(i.memory.Size())
		p.idle = append(p.idle, i)
	default:
		p.held -= i.bytes
		p.stats.Discarded++
	}
	evicted = p.evict(p.places)
	p.dispatch()
	return evicted
}

// park gives the place of a leased instance up.
func (p *pool) park() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Leased--
	p.stats.Parked++
	p.dispatch()
}

// unpark waits for a place again. Calls that come back go before new ones. When
// the context ends first the call has its place all the same, so that the caller
// need not tell two states apart: it is about to leave.
func (p *pool) unpark(ctx context.Context, session string) error {
	p.mu.Lock()
	p.stats.Parked--
	if p.stats.Leased < p.places && p.returning.n == 0 {
		p.stats.Leased++
		p.mu.Unlock()
		return nil
	}
	w := p.returning.push(session)
	p.mu.Unlock()
	_, err := w.await(ctx, forEver, func() bool { return p.withdraw(&p.returning, w) })
	if err != nil {
		p.mu.Lock()
		p.stats.Leased++
		p.mu.Unlock()
	}
	return err
}

// settle sets what an instance of the module takes at its start, once it is known.
func (p *pool) settle(unit int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held += (unit - p.unit) * int64(p.stats.Leased+p.stats.Parked)
	p.unit = unit
}

func (p *pool) snapshot() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Idle = len(p.idle)
	return stats
}

// trim takes all idle instances out; the caller closes them.
func (p *pool) trim() []*instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.idle
	p.idle = nil
	p.stats.Discarded += len(idle)
	return idle
}

// close closes the idle instances; none may be leased.
func (p *pool) close() error {
	var err error
	for _, i := range p.trim() {
		err = errors.Join(err, i.close())
	}
	return err
}
