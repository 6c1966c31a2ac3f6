// Package memory keeps the linear memories of WebAssembly guests: it bounds them
// all by one budget, gives each a fixed range of addresses, takes an image of one
// that is initialised, and puts a memory back to its image between two calls for
// about the price of the pages the call wrote.
package memory

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync"
	"sync/atomic"
)

// PageBytes is WebAssembly's page, the unit of every size here.
const PageBytes = 64 << 10

// MaxBytes is the most a memory may have: with one page more, wazero's Size is 0.
const MaxBytes = 65535 * PageBytes

// leastExtent is the smallest range of addresses; ranges are powers of two, so
// that those of one module serve another.
const leastExtent = 1 << 20

// What Pool and Memory fail with, besides *BudgetError and the system's errors.
var (
	// ErrClosed is the answer of a closed pool, memory or image.
	ErrClosed = errors.New("guest memory: closed")
	// ErrGrown is a memory that grew and cannot be made shorter again; its contents
	// are restored, but the instance must be closed.
	ErrGrown = errors.New("guest memory: it grew and cannot shrink")
)

// Pool makes memories and recycles their addresses. It is safe for concurrent use.
type Pool struct {
	budget  *Budget
	tracker *tracker // nil where written pages cannot be told
	unit    int      // bytes that are compared and given back at a time
	shrink  bool     // wazero lets a memory shrink
	counts  counts

	mu     sync.Mutex
	closed bool
	live   map[*Memory]struct{}
	free   map[int][]*extent // by length
	lost   []*extent         // could not be cleaned: never used again
}

// NewPool makes a pool under a budget, which other pools may share. It tries out
// what this system and this wazero can do; what they cannot only costs time.
func NewPool(budget *Budget) *Pool {
	return &Pool{
		budget: budget, tracker: newTracker(), unit: os.Getpagesize(), shrink: shrinks(),
		live: make(map[*Memory]struct{}), free: make(map[int][]*extent),
	}
}

// New makes the memory of one instance of a module that declares least bytes and
// may have most, both in whole pages. It fails with a *BudgetError before wazero
// is asked, which would panic. Whoever asked must Close it.
func (p *Pool) New(least, most int64) (*Memory, error) {
	if least < 0 || least > most || most > MaxBytes || (least|most)%PageBytes != 0 {
		return nil, fmt.Errorf("guest memory: from %d to %d bytes; at most %d, in pages of %d", least, most, int64(MaxBytes), PageBytes)
	}
	if err := p.budget.Reserve(least); err != nil {
		return nil, err
	}
	m, err := p.register(least, most)
	if err != nil {
		p.budget.Release(least)
		return nil, err
	}
	return m, nil
}

func (p *Pool) register(least, most int64) (*Memory, error) {
	e, err := p.take(int(most))
	if err != nil {
		return nil, err
	}
	if err := e.commit(int(least)); err != nil {
		return nil, errors.Join(fmt.Errorf("guest memory: commit %d bytes: %w", least, err), p.putBack(e))
	}
	m := &Memory{pool: p, extent: e, most: int(most), shrinkTo: noShrink, charged: least}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.Join(ErrClosed, e.release())
	}
	p.live[m] = struct{}{}
	return m, nil
}

// take answers a clean range for a memory of up to most bytes.
func (p *Pool) take(most int) (*extent, error) {
	length := max(leastExtent, 1<<bits.Len(uint(max(most, 1)-1)))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if free := p.free[length]; len(free) > 0 {
		e := free[len(free)-1]
		p.free[length] = free[:len(free)-1]
		return e, nil
	}
	e, err := reserve(length)
	if err != nil {
		return nil, fmt.Errorf("guest memory: reserve %d bytes of addresses: %w", length, err)
	}
	return e, nil
}

// recycle takes the range of a memory that is closed. It stays mapped, so that a
// view of it that somebody still holds is wrong and not fatal.
func (p *Pool) recycle(m *Memory, e *extent) error {
	err := e.clean()
	p.mu.Lock()
	delete(p.live, m)
	if err != nil && !p.closed {
		p.lost = append(p.lost, e)
		p.mu.Unlock()
		return fmt.Errorf("guest memory: clean a range: %w", err)
	}
	p.mu.Unlock()
	return p.putBack(e)
}

// putBack keeps a clean range, or unmaps it when the pool is closed.
func (p *Pool) putBack(e *extent) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.free[len(e.bytes)] = append(p.free[len(e.bytes)], e)
		return nil
	}
	return errors.Join(e.release(), p.settle())
}

// Close unmaps the free ranges and refuses new memories. Those in use stay valid
// until each is closed; the last one takes the rest along. It may be called twice.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var errs []error
	for _, list := range p.free {
		for _, e := range list {
			errs = append(errs, e.release())
		}
	}
	for _, e := range p.lost {
		errs = append(errs, e.release())
	}
	clear(p.free)
	p.lost = nil
	return errors.Join(append(errs, p.settle())...)
}

// settle closes the tracker when nothing can need it any more. p.mu is held.
func (p *Pool) settle() error {
	if len(p.live) > 0 || p.tracker == nil {
		return nil
	}
	return p.tracker.close()
}

// counts are the figures of Stats that only grow.
type counts struct {
	restores, scans, bytes, dropped, discards atomic.Int64
	images, imageBytes                        atomic.Int64
}
