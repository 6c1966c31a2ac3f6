package memory_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/host/wasm/memory"
)

func TestBudget(t *testing.T) {
	b := memory.NewBudget(100)
	must(t, b.Reserve(60))
	must(t, b.Reserve(40))
	var refused *memory.BudgetError
	if err := b.Reserve(1); !errors.As(err, &refused) || *refused != (memory.BudgetError{Wanted: 1, Used: 100, Limit: 100}) {
		t.Errorf("reserve beyond the limit: %v", err)
	}
	must(t, b.Reserve(0))
	b.Release(70)
	must(t, b.Reserve(20))
	equal(t, "usage", b.Usage(), memory.Usage{Limit: 100, Used: 50, Peak: 100, Refused: 1})
}

func TestBudgetOfNothingRefuses(t *testing.T) {
	for _, limit := range []int64{0, -5} {
		if memory.NewBudget(limit).Reserve(1) == nil {
			t.Errorf("a budget of %d has room", limit)
		}
	}
}

func TestBudgetReleasedTwicePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("more was released than reserved")
		}
	}()
	memory.NewBudget(10).Release(1)
}

func TestBudgetHoldsUnderConcurrency(t *testing.T) {
	b := memory.NewBudget(10)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 2000 {
				if b.Reserve(3) == nil {
					if used := b.Usage().Used; used > 10 || used < 3 {
						t.Errorf("%d of 10 used", used)
					}
					b.Release(3)
				}
			}
		})
	}
	group.Wait()
	usage := b.Usage()
	equal(t, "used in the end", usage.Used, 0)
	if usage.Peak > 9 || usage.Peak < 3 {
		t.Errorf("peak %d", usage.Peak)
	}
}
