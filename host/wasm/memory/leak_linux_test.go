package memory_test

import (
	"bytes"
	"os"
	"runtime"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/plinthhost/plinth/host/wasm/memory"
)

// held is what a process has of the system.
type held struct{ descriptors, mappings, goroutines int }

func holds(t *testing.T) held {
	t.Helper()
	runtime.GC()
	descriptors, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	maps, err := os.ReadFile("/proc/self/maps")
	must(t, err)
	return held{len(descriptors), bytes.Count(maps, []byte("\n")), runtime.NumGoroutine()}
}

// Wherever Linux has a page table to read, restores must make use of it.
func TestLinuxTracks(t *testing.T) {
	_, missing := os.Stat("/proc/self/pagemap")
	stats := newPool(t).Stats()
	equal(t, "tracks", stats.Tracks, missing == nil)
	equal(t, "shrinks", stats.Shrinks, true)
}

func TestNothingLeaks(t *testing.T) {
	h := newHouse(t, wazero.NewRuntimeConfigInterpreter(), nil)
	compiled := h.compile(t, module(9, unbounded))
	life := func(rounds int) {
		h.pool = memory.NewPool(memory.NewBudget(plenty))
		keeper := h.start(t, compiled, 9, 64)
		for range rounds {
			g := h.start(t, compiled, 9, 64)
			image := g.image()
			g.restore(image)
			g.poke(8*page, 1)
			g.grow(3)
			g.poke(11*page, 1)
			g.restore(image)
			g.close()
			must(t, image.Close())
		}
		stats := h.pool.Stats()
		equal(t, "free ranges", stats.Free, 1)
		equal(t, "lost ranges", stats.Lost, 0)
		must(t, h.pool.Close())
		keeper.close()
	}
	life(20)
	before := holds(t)
	life(1000)
	after := holds(t)
	equal(t, "descriptors", after.descriptors, before.descriptors)
	equal(t, "goroutines", after.goroutines, before.goroutines)
	// The runtime maps heap of its own; a leak would show 1,000 times.
	if more := after.mappings - before.mappings; more > 20 {
		t.Errorf("%d mappings more than before", more)
	}
}

// A kernel that stops telling which pages were written makes restores slower, not
// wrong.
func TestRestoreWithoutThePageTable(t *testing.T) {
	pool := newPool(t)
	if !pool.Stats().Tracks {
		t.Skip("pages are not tracked here")
	}
	h := newHouse(t, wazero.NewRuntimeConfigCompiler(), pool)
	g := h.only(t, 20, unbounded)
	image := g.image()
	g.restore(image)
	must(t, pool.Break())
	for round := range uint64(50) {
		g.grow(2)
		g.poke(round%22*page, 1)
		g.poke(21*page+9, 1)
		g.restore(image)
		equal(t, "size", g.pages(), 20)
		expectZero(t, g.memory.Bytes())
	}
}
