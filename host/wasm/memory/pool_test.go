package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/tetratelabs/wazero"

	"github.com/plinthhost/plinth/host/wasm/memory"
)

func TestNewRefusesSizes(t *testing.T) {
	pool := newPool(t)
	for _, sizes := range [][2]int64{
		{-page, page}, {2 * page, page}, {1, page}, {page, page + 1}, {0, memory.MaxBytes + page},
	} {
		if _, err := pool.New(sizes[0], sizes[1]); err == nil || !strings.Contains(err.Error(), "pages of 65536") {
			t.Errorf("from %d to %d bytes: %v", sizes[0], sizes[1], err)
		}
	}
	equal(t, "used after refusals", pool.Stats().Budget.Used, 0)
}

func TestNewFailsWithinTheBudgetBeforeWazeroIsAsked(t *testing.T) {
	pool := memory.NewPool(memory.NewBudget(3 * page))
	defer pool.Close()
	first, err := pool.New(2*page, 8*page)
	must(t, err)
	var refused *memory.BudgetError
	if _, err := pool.New(2*page, 8*page); !errors.As(err, &refused) || refused.Used != 2*page {
		t.Fatalf("a second memory: %v", err)
	}
	must(t, first.Close())
	second, err := pool.New(2*page, 8*page)
	must(t, err)
	must(t, second.Close())
}

func TestGrowAnswersNoBeyondBudgetAndCap(t *testing.T) {
	for name, config := range engines() {
		t.Run(name, func(t *testing.T) {
			pool := memory.NewPool(memory.NewBudget(10 * page))
			h := newHouse(t, config, pool)
			a, b := h.only(t, 1, unbounded), h.only(t, 1, unbounded)
			equal(t, "grow within", a.grow(7), 1)
			equal(t, "grow beyond the budget", b.grow(2), -1)
			equal(t, "grow to the budget", b.grow(1), 1)
			usage := pool.Stats().Budget
			equal(t, "used", usage.Used, 10*page)
			equal(t, "peak", usage.Peak, 10*page)
			equal(t, "refused", usage.Refused, 1)
			a.close()
			equal(t, "grow after another's end", b.grow(8), 2)
			c := newHouse(t, config, newPool(t)).only(t, 1, unbounded)
			equal(t, "grow to the cap", c.grow(63), 1)
			equal(t, "grow beyond the cap", c.grow(1), -1)
		})
	}
}

func TestAddressIsStableAndRecycled(t *testing.T) {
	pool := newPool(t)
	m, err := pool.New(page, 64*page)
	must(t, err)
	at := unsafe.SliceData(m.Reallocate(page))
	for pages := uint64(2); pages <= 64; pages++ {
		bytes := m.Reallocate(pages * page)
		if unsafe.SliceData(bytes) != at || len(bytes) != int(pages)*page {
			t.Fatalf("%d pages: %d bytes at %p, began at %p", pages, len(bytes), unsafe.SliceData(bytes), at)
		}
		bytes[len(bytes)-1] = 1
	}
	stale := m.Bytes()
	must(t, m.Close())
	must(t, m.Close())
	equal(t, "a view of a closed memory", stale[len(stale)-1], 0)
	equal(t, "free ranges", pool.Stats().Free, 1)
	next, err := pool.New(64*page, 64*page)
	must(t, err)
	bytes := next.Reallocate(64 * page)
	if unsafe.SliceData(bytes) != at {
		t.Errorf("the range was not used again")
	}
	expectZero(t, bytes)
	must(t, next.Close())
	if next.Reallocate(page) != nil {
		t.Error("a closed memory can be had")
	}
}

// An instance that cannot be made leaves its memory to the owner.
func TestFailedInstantiation(t *testing.T) {
	onEngines(t, func(t *testing.T, h *house) {
		m := module(1, unbounded)
		m.Data(page-1, "too long")
		compiled := h.compile(t, m)
		for range 3 {
			owned, err := h.pool.New(page, 8*page)
			must(t, err)
			if _, err := h.runtime.InstantiateModule(owned.Context(context.Background()), compiled, wazero.NewModuleConfig()); err == nil {
				t.Fatal("data beyond the memory was accepted")
			}
			must(t, owned.Close())
		}
		stats := h.pool.Stats()
		equal(t, "memories", stats.Memories, 0)
		equal(t, "used", stats.Budget.Used, 0)
		equal(t, "free ranges", stats.Free, 1)
	})
}

func TestContextServesOneInstance(t *testing.T) {
	h := newHouse(t, wazero.NewRuntimeConfigInterpreter(), newPool(t))
	g := h.only(t, 1, unbounded)
	defer func() {
		if recover() == nil {
			t.Error("two instances share a memory")
		}
	}()
	_, _ = h.runtime.InstantiateModule(g.memory.Context(context.Background()), h.compile(t, module(1, 0)), wazero.NewModuleConfig().WithName(""))
}

func TestPoolCloses(t *testing.T) {
	budget := memory.NewBudget(plenty)
	pool := memory.NewPool(budget)
	h := newHouse(t, wazero.NewRuntimeConfigCompiler(), pool)
	g := h.only(t, 20, unbounded)
	spare, err := pool.New(page, page)
	must(t, err)
	must(t, spare.Close())
	image := g.image()
	must(t, pool.Close())
	must(t, pool.Close())
	if _, err := pool.New(page, page); !errors.Is(err, memory.ErrClosed) {
		t.Errorf("a memory of a closed pool: %v", err)
	}
	equal(t, "free ranges", pool.Stats().Free, 0)
	// What is in use stays usable.
	g.poke(77, 1)
	g.restore(image)
	equal(t, "restored", g.peek(77), 0)
	g.close()
	must(t, image.Close())
	if err := g.memory.Restore(g.module.Memory(), image); !errors.Is(err, memory.ErrClosed) {
		t.Errorf("restore a closed memory: %v", err)
	}
	if _, err := g.memory.Snapshot(g.module.Memory()); !errors.Is(err, memory.ErrClosed) {
		t.Errorf("snapshot of a closed memory: %v", err)
	}
	equal(t, "used", budget.Usage().Used, 0)
	equal(t, "figures of a closed memory", g.memory.Stats(), memory.Stats{})
	must(t, pool.Close())
}

func expectZero(t testing.TB, bytes []byte) {
	t.Helper()
	for i, b := range bytes {
		if b != 0 {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
}
