package memory_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/plinthhost/plinth/host/wasm/memory"
)

// kinds are the ways a pool can work, by what the system lacks.
func kinds() map[string]func(testing.TB) *memory.Pool {
	return map[string]func(testing.TB) *memory.Pool{
		"tracked":          newPool,
		"without counting": func(t testing.TB) *memory.Pool { return newPool(t).Lacks(false, true, false) },
		"without tracking": func(t testing.TB) *memory.Pool { return newPool(t).Lacks(true, true, false) },
	}
}

// onAll runs a test with every kind of pool on both engines.
func onAll(t *testing.T, test func(t *testing.T, h *house)) {
	for kind, pool := range kinds() {
		for engine, config := range engines() {
			t.Run(kind+"/"+engine, func(t *testing.T) { test(t, newHouse(t, config, pool(t))) })
		}
	}
}

func TestRestoreAfterWrites(t *testing.T) {
	onAll(t, func(t *testing.T, h *house) {
		g := h.only(t, 20, unbounded)
		g.poke(5*page+3, 7)
		image := g.image()
		equal(t, "image", image.Size(), 20*page)
		expected := bytes.Clone(g.memory.Bytes())
		for round := range uint64(5) {
			for i := range uint64(40) {
				g.poke((i*31%20)*page+round*4096+i, byte(i+1))
			}
			g.restore(image)
			if !bytes.Equal(g.memory.Bytes(), expected) {
				t.Fatalf("round %d: the memory differs from its image", round)
			}
			equal(t, "what the guest wrote before", g.peek(5*page+3), 7)
		}
	})
}

// A guest that grew is as long as its image afterwards, is kept from what lies
// beyond, and finds it zero when it grows again.
func TestRestoreAfterGrowth(t *testing.T) {
	for _, size := range []uint32{0, 1, 3, 20} {
		onAll(t, func(t *testing.T, h *house) {
			g := h.only(t, size, unbounded)
			image := g.image()
			for range 4 {
				equal(t, "grow", g.grow(5), int32(size))
				for at := uint64(size) * page; at < uint64(size+5)*page; at += 1000 {
					equal(t, "a new page", g.peek(at), 0)
					g.poke(at, 9)
				}
				g.restore(image)
				equal(t, "size for the guest", g.pages(), size)
				equal(t, "size for the host", g.module.Memory().Size(), size*page)
				if !g.traps(uint64(size) * page) {
					t.Fatal("the guest reads beyond its memory")
				}
				if _, ok := g.module.Memory().Read(size*page, 1); ok {
					t.Fatal("the host reads beyond the memory")
				}
			}
			equal(t, "grow at last", g.grow(44), int32(size))
			expectZero(t, g.memory.Bytes()[size*page:])
		})
	}
}

// What a long growth left is given back, what a short one left is kept; both are
// zero and both are counted.
func TestRestoreKeepsOnlySomeOfTheTail(t *testing.T) {
	onAll(t, func(t *testing.T, h *house) {
		compiled := h.compile(t, module(1, unbounded))
		g := h.start(t, compiled, 1, 256)
		image := g.image()
		g.restore(image)
		fill := func(pages uint64) {
			equal(t, "grow", g.grow(pages), 1)
			tail := g.memory.Bytes()[page:]
			expectZero(t, tail)
			for i := range tail {
				tail[i] = 3
			}
			g.restore(image)
		}
		fill(8)
		equal(t, "charged after a short growth", g.memory.Stats().Charged, 9*page)
		fill(2)
		equal(t, "charged after a shorter one", g.memory.Stats().Charged, 9*page)
		fill(memory.KeptTail/page + 1)
		stats := g.memory.Stats()
		equal(t, "charged after a long growth", stats.Charged, page)
		if stats.Resident > page {
			t.Errorf("%d bytes resident after a long growth", stats.Resident)
		}
		g.grow(1)
		equal(t, "charged for the next growth", g.memory.Stats().Charged, 2*page)
		g.restore(image)
		fill(200)
		equal(t, "budget", h.pool.Stats().Budget.Used, 2*page) // with the image
	})
}

// Growing beyond scattered pages that a restore kept must not count them twice,
// nor forget them.
func TestKeptPagesCountOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, h *house) {
		if !h.pool.Stats().Tracks {
			t.Skip("pages are not tracked here, so all are kept")
		}
		g := h.only(t, 1, unbounded)
		image := g.image()
		g.restore(image)
		g.grow(10)
		g.poke(8*page, 1)
		g.restore(image)
		equal(t, "charged for a kept page", g.memory.Stats().Charged, page+4096)
		g.grow(2)
		equal(t, "charged while it lies beyond", g.memory.Stats().Charged, 3*page+4096)
		for at := uint64(page); at < 3*page; at += 4096 {
			g.poke(at, 1)
		}
		g.restore(image)
		equal(t, "charged for all kept", g.memory.Stats().Charged, 3*page+4096)
		g.grow(10)
		equal(t, "charged when it lies within", g.memory.Stats().Charged, 11*page)
		equal(t, "the page", g.peek(8*page), 0)
	})
}

func TestRestoreThatCannotShrink(t *testing.T) {
	onEngines(t, func(t *testing.T, h *house) {
		atMaximum := h.only(t, 1, 3)
		image := atMaximum.image()
		atMaximum.grow(1)
		atMaximum.restore(image) // one page is left to ask for
		atMaximum.grow(2)
		atMaximum.poke(5, 5)
		if err := atMaximum.memory.Restore(atMaximum.module.Memory(), image); !errors.Is(err, memory.ErrGrown) {
			t.Errorf("at the declared maximum: %v", err)
		}
		equal(t, "restored all the same", atMaximum.peek(5), 0)
		h.pool.Lacks(false, false, true)
		grown := h.only(t, 1, unbounded)
		image = grown.image()
		grown.restore(image)
		grown.grow(1)
		if err := grown.memory.Restore(grown.module.Memory(), image); !errors.Is(err, memory.ErrGrown) {
			t.Errorf("without the means: %v", err)
		}
		equal(t, "discards", h.pool.Stats().Discards, 2)
	})
}

// Instances are made from an image, which they share until they write.
func TestInstancesOfAnImage(t *testing.T) {
	onAll(t, func(t *testing.T, h *house) {
		m := module(2, unbounded)
		m.Data(100, "of the module")
		compiled := h.compile(t, m)
		first := h.start(t, compiled, 2, 64)
		first.grow(14)
		first.poke(100, 'O')
		first.poke(15*page, 42)
		image := first.image()
		expected := bytes.Clone(first.memory.Bytes())
		first.close()
		var others []*guest
		for range 3 {
			other := h.start(t, compiled, 2, 64)
			other.restore(image)
			equal(t, "size", other.pages(), 16)
			if !bytes.Equal(other.memory.Bytes(), expected) {
				t.Fatal("an instance differs from its image")
			}
			if h.pool.Stats().Tracks {
				equal(t, "resident", other.memory.Stats().Resident, 0)
			}
			others = append(others, other)
		}
		others[0].poke(15*page, 1)
		equal(t, "another's byte", others[1].peek(15*page), 42)
		must(t, image.Close())
		others[0].restore(image) // it was closed, but is in use
		equal(t, "restored", others[0].peek(15*page), 42)
		late := h.start(t, compiled, 2, 64)
		if err := late.memory.Restore(late.module.Memory(), image); !errors.Is(err, memory.ErrClosed) {
			t.Errorf("a new instance of a closed image: %v", err)
		}
		equal(t, "images in use", h.pool.Stats().Images, 1)
		for _, other := range others {
			other.close()
		}
		equal(t, "images in the end", h.pool.Stats().Images, 0)
		equal(t, "bytes of images in the end", h.pool.Stats().ImageBytes, 0)
	})
}

// A memory can be given another image, longer or shorter.
func TestRestoreToAnotherImage(t *testing.T) {
	onAll(t, func(t *testing.T, h *house) {
		g := h.only(t, 3, unbounded)
		g.poke(3*page-1, 1)
		short := g.image()
		g.grow(5)
		g.poke(8*page-1, 2)
		long := g.image()
		for range 3 {
			g.restore(short)
			equal(t, "pages of the short one", g.pages(), 3)
			equal(t, "grow", g.grow(5), 3)
			equal(t, "beyond the short one", g.peek(8*page-1), 0)
			g.restore(long)
			equal(t, "pages of the long one", g.pages(), 8)
			equal(t, "within the long one", g.peek(8*page-1), 2)
			equal(t, "as in the short one", g.peek(3*page-1), 1)
		}
	})
}

func TestImagesAndInstancesKeepToTheBudget(t *testing.T) {
	pool := memory.NewPool(memory.NewBudget(21 * page))
	h := newHouse(t, wazero.NewRuntimeConfigCompiler(), pool)
	compiled := h.compile(t, module(1, unbounded))
	g := h.start(t, compiled, 1, 64)
	g.grow(9)
	image := g.image()
	equal(t, "used with an image", pool.Stats().Budget.Used, 20*page)
	var refused *memory.BudgetError
	if _, err := g.memory.Snapshot(g.module.Memory()); !errors.As(err, &refused) {
		t.Errorf("a second image: %v", err)
	}
	other := h.start(t, compiled, 1, 64)
	if err := other.memory.Restore(other.module.Memory(), image); !errors.As(err, &refused) {
		t.Errorf("a second instance of ten pages: %v", err)
	}
	other.close()
	g.close()
	must(t, image.Close())
	equal(t, "used in the end", pool.Stats().Budget.Used, 0)
}

func TestRestoreRefusesWhatDoesNotFit(t *testing.T) {
	h := newHouse(t, wazero.NewRuntimeConfigInterpreter(), newPool(t))
	a, b := h.only(t, 1, unbounded), h.only(t, 40, unbounded)
	if err := a.memory.Restore(b.module.Memory(), a.image()); err == nil || !strings.Contains(err.Error(), "another's") {
		t.Errorf("another instance: %v", err)
	}
	small := h.start(t, h.compile(t, module(1, unbounded)), 1, 20)
	if err := small.memory.Restore(small.module.Memory(), b.image()); err == nil || !strings.Contains(err.Error(), "may have 1310720") {
		t.Errorf("an image beyond the cap: %v", err)
	}
	declared := h.only(t, 1, 2)
	if err := declared.memory.Restore(declared.module.Memory(), b.image()); err == nil || !strings.Contains(err.Error(), "refuses to grow") {
		t.Errorf("an image beyond the declared maximum: %v", err)
	}
}

// Closing an instance does not give its memory away: its owner does.
func TestInstanceClosedBeforeItsMemory(t *testing.T) {
	h := newHouse(t, wazero.NewRuntimeConfigCompiler(), newPool(t))
	g := h.only(t, 1, unbounded)
	g.poke(9, 9)
	must(t, g.module.Close(context.Background()))
	equal(t, "the memory of a closed instance", g.memory.Bytes()[9], 9)
	equal(t, "free ranges", h.pool.Stats().Free, 0)
	equal(t, "used", h.pool.Stats().Budget.Used, page)
	must(t, g.memory.Close())
	equal(t, "free ranges in the end", h.pool.Stats().Free, 1)
	equal(t, "used in the end", h.pool.Stats().Budget.Used, 0)
}

// A fault is counted for the process, also when its thread has ended since.
func TestRestoreSeesWritesOfEveryThread(t *testing.T) {
	for kind, pool := range kinds() {
		t.Run(kind, func(t *testing.T) {
			h := newHouse(t, wazero.NewRuntimeConfigCompiler(), pool(t))
			g := h.only(t, 32, unbounded)
			image := g.image()
			g.restore(image)
			for at := range 32 {
				done := make(chan struct{})
				go func() {
					defer close(done)
					runtime.LockOSThread() // and ends with the goroutine
					g.memory.Bytes()[at*page+at] = 1
				}()
				<-done
				g.restore(image)
				equal(t, "restored", g.memory.Bytes()[at*page+at], 0)
			}
		})
	}
}

// Pages that were written once and are never needed again are given back.
func TestRestoreDropsWhatItKeepsInVain(t *testing.T) {
	pool := newPool(t)
	if !pool.Stats().Tracks {
		t.Skip("pages are not tracked here, so none are kept")
	}
	h := newHouse(t, wazero.NewRuntimeConfigCompiler(), pool)
	g := h.only(t, 32, unbounded)
	image := g.image()
	g.restore(image)
	for at := range uint64(32 * 16) {
		g.poke(at*4096, 1)
	}
	g.restore(image)
	equal(t, "resident after a call that wrote everything", g.memory.Stats().Resident, 32*page)
	for range memory.Patience {
		g.poke(0, 1)
		g.restore(image)
	}
	equal(t, "dropped", pool.Stats().Dropped, 32*page-4096)
	equal(t, "resident after calls that wrote one page", g.memory.Stats().Resident, 4096)
	for round := range uint64(10 * memory.Patience) {
		g.poke(0, 1)
		g.poke((round%2+9)*page, 1) // every other time is often enough
		g.restore(image)
		equal(t, "restored", g.peek((round%2+9)*page), 0)
	}
	equal(t, "dropped of what is needed", pool.Stats().Dropped, 32*page-4096)
}

// The same beyond the image: a guest that grew once need not be as long again.
func TestRestoreDropsTheTailInTime(t *testing.T) {
	pool := newPool(t)
	if !pool.Stats().Tracks {
		t.Skip("pages are not tracked here, so all are kept")
	}
	h := newHouse(t, wazero.NewRuntimeConfigCompiler(), pool)
	g := h.only(t, 4, unbounded)
	image := g.image()
	g.restore(image)
	g.grow(3)
	for at := uint64(4 * page); at < 7*page; at += 4096 {
		g.poke(at, 1)
	}
	for round := range 10 * memory.Patience {
		if round%2 == 0 {
			g.grow(3)
		}
		g.restore(image)
		equal(t, "charged", g.memory.Stats().Charged, 7*page)
	}
	g.grow(3)
	for range memory.Patience {
		g.restore(image)
		equal(t, "charged", g.memory.Stats().Charged, 7*page)
	}
	g.restore(image)
	equal(t, "charged in the end", g.memory.Stats().Charged, 4*page)
	equal(t, "resident in the end", g.memory.Stats().Resident, 0)
	g.restore(image)
	g.grow(1)
	equal(t, "charged without what was dropped", g.memory.Stats().Charged, 5*page)
	g.grow(2)
	expectZero(t, g.memory.Bytes())
}

// Without new pages the kernel need not be asked.
func TestRestoreAsksOnlyAfterFaults(t *testing.T) {
	pool := newPool(t)
	if !pool.Stats().Tracks {
		t.Skip("pages are not tracked here")
	}
	h := newHouse(t, wazero.NewRuntimeConfigCompiler(), pool)
	g := h.only(t, 32, unbounded)
	image := g.image()
	g.restore(image)
	const rounds = 2000
	for range rounds {
		g.memory.Bytes()[100] = 1
		g.restore(image)
	}
	if scans := pool.Stats().Scans; scans == 0 || scans > rounds/2 {
		t.Errorf("%d of %d restores asked the kernel", scans, rounds)
	}
}

// What a restore allocates would be garbage on every call.
func TestRestoreAllocatesNothing(t *testing.T) {
	for kind, pool := range kinds() {
		if kind == "without counting" && raceDetector {
			continue // which has the buffer of a read on the heap
		}
		t.Run(kind, func(t *testing.T) {
			h := newHouse(t, wazero.NewRuntimeConfigCompiler(), pool(t))
			g := h.only(t, 16, unbounded)
			image := g.image()
			guest := g.module.Memory()
			if n := testing.AllocsPerRun(100, func() {
				g.memory.Bytes()[3*page] = 1
				if _, ok := guest.Grow(2); !ok {
					t.Error("it cannot grow")
				}
				g.memory.Bytes()[17*page] = 1
				if err := g.memory.Restore(guest, image); err != nil {
					t.Error(err)
				}
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
