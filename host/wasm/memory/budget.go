package memory

import (
	"fmt"
	"sync/atomic"
)

// Budget bounds the bytes that all guests hold together: the pages they have, the
// images taken of them, and what a restore keeps for the next call. It is safe for
// concurrent use.
type Budget struct {
	limit               int64
	used, peak, refused atomic.Int64
}

// NewBudget makes a budget of limit bytes; with none, or less, everything is
// refused.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Usage is a budget's state, in bytes.
type Usage struct {
	Limit   int64
	Used    int64
	Peak    int64 // the most that was used at a time
	Refused int64 // how often Reserve refused
}

// Usage answers the state.
func (b *Budget) Usage() Usage {
	return Usage{Limit: b.limit, Used: b.used.Load(), Peak: b.peak.Load(), Refused: b.refused.Load()}
}

// Reserve takes n bytes, or fails with a *BudgetError and takes none.
func (b *Budget) Reserve(n int64) error {
	for {
		used := b.used.Load()
		if n > b.limit-used {
			b.refused.Add(1)
			return &BudgetError{Wanted: n, Used: used, Limit: b.limit}
		}
		if b.used.CompareAndSwap(used, used+n) {
			b.mark(used + n)
			return nil
		}
	}
}

func (b *Budget) mark(used int64) {
	for {
		peak := b.peak.Load()
		if used <= peak || b.peak.CompareAndSwap(peak, used) {
			return
		}
	}
}

// Release gives n bytes back.
func (b *Budget) Release(n int64) {
	if b.used.Add(-n) < 0 {
		panic(fmt.Sprintf("memory: %d bytes more were released than reserved", -b.used.Load()))
	}
}

// BudgetError is what the budget had no room for.
type BudgetError struct {
	Wanted, Used, Limit int64 // bytes
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("guest memory: %d bytes wanted while %d of %d are in use; raise the memory budget or run fewer instances",
		e.Wanted, e.Used, e.Limit)
}
