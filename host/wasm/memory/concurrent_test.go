package memory_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/plinthhost/plinth/host/wasm/memory"
)

// Many instances of one image are called, restored, replaced and looked at, under
// a budget that does not suffice for all.
func TestConcurrentUse(t *testing.T) {
	const workers, rounds, size = 6, 60, 16
	pool := memory.NewPool(memory.NewBudget((1 + 1 + 3*(size+4)) * size * page))
	h := newHouse(t, wazero.NewRuntimeConfigCompiler(), pool)
	compiled := h.compile(t, module(size, unbounded))
	first := h.start(t, compiled, size, 64)
	first.poke(1234, 99)
	image := first.image()
	expected := bytes.Clone(first.memory.Bytes())
	first.close()

	done, looked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		for {
			select {
			case <-done:
				return
			default:
				if stats := pool.Stats(); stats.Budget.Used > stats.Budget.Limit {
					t.Errorf("%+v", stats.Budget)
				}
			}
		}
	}()
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for round := range rounds {
				w := &worked{t: t, h: h, image: image, expected: expected, seed: byte(worker*rounds + round + 1)}
				w.run(compiled)
			}
		})
	}
	group.Wait()
	close(done)
	<-looked
	equal(t, "memories", pool.Stats().Memories, 0)
	equal(t, "used", pool.Stats().Budget.Used, size*page)
	must(t, pool.Close())
}

type worked struct {
	t        *testing.T
	h        *house
	image    *memory.Image
	expected []byte
	seed     byte
}

// run makes an instance, calls it a few times and closes it.
func (w *worked) run(compiled wazero.CompiledModule) {
	owned, err := w.h.pool.New(w.image.Size(), 64*page)
	if _, ok := errors.AsType[*memory.BudgetError](err); ok {
		return
	}
	if err != nil {
		w.t.Error(err)
		return
	}
	defer owned.Close()
	instance, err := w.h.runtime.InstantiateModule(owned.Context(context.Background()), compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		w.t.Error(err)
		return
	}
	defer instance.Close(context.Background())
	linear := instance.Memory()
	for call := range 5 {
		if err := owned.Restore(linear, w.image); err != nil {
			w.t.Error(err)
			return
		}
		view, _ := linear.Read(0, linear.Size())
		if !bytes.Equal(view, w.expected) {
			w.t.Error("an instance differs from its image")
			return
		}
		linear.Grow(uint32(call % 3))
		view, _ = linear.Read(0, linear.Size())
		for at := int(w.seed); at < len(view); at += 5000 {
			view[at] += w.seed
		}
	}
}
