package wasm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tetratelabs/wazero"

	"github.com/plinthhost/plinth/host/wasm/memory"
)

// snapshot is how an instance was after its initialisation.
type snapshot struct {
	image   *memory.Image
	globals []uint64
	bytes   int64
	start   Ambient // of the instance it was taken of; Result.Start

	variables variables
}

// take makes the module's snapshot of a new instance. Modules whose calls get a
// fresh instance have none to go back to, only its size.
func (m *Module) take(i *instance) (*snapshot, error) {
	s := &snapshot{bytes: int64(i.memory.Size()), start: i.start}
	if m.isolation == Fresh || m.prepared.Fixed != "" {
		return s, nil
	}
	var err error
	s.image, err = roomy(m.engine, func() (*memory.Image, error) { return i.linear.Snapshot(i.memory) })
	if err != nil {
		return nil, err
	}
	for _, global := range i.globals {
		s.globals = append(s.globals, global.Get())
	}
	s.variables = i.variables.clone()
	return s, nil
}

func (s *snapshot) close() error {
	if s.image == nil {
		return nil
	}
	return s.image.Close()
}

// restore puts an instance back to the snapshot. After an error it must be closed.
func (m *Module) restore(i *instance) error {
	if err := i.linear.Restore(i.memory, m.snapshot.image); err != nil {
		return err
	}
	for at, global := range i.globals {
		global.Set(m.snapshot.globals[at])
	}
	i.variables = m.snapshot.variables.clone()
	i.copied = true
	return nil
}

// again makes an instance from the snapshot, which must have an image: nothing of
// the guest runs.
func (m *Module) again(ctx context.Context) (*instance, error) {
	return roomy(m.engine, func() (*instance, error) {
		i, err := m.instantiate(ctx)
		if err != nil {
			return nil, err
		}
		if err := m.restore(i); err != nil {
			return nil, errors.Join(fmt.Errorf("start an instance from the snapshot: %w", err), i.close())
		}
		i.bytes, i.start = m.snapshot.bytes, m.snapshot.start
		return i, nil
	})
}

// instantiate makes an instance of which nothing has run, with memory from the
// engine's budget.
func (m *Module) instantiate(ctx context.Context) (*instance, error) {
	linear, err := m.newMemory()
	if err != nil {
		return nil, err
	}
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	module, err := m.program.runtime.InstantiateModule(linear.Context(context.WithoutCancel(ctx)), m.program.compiled, config)
	if err != nil {
		return nil, errors.Join(trapOf(err), linear.Close())
	}
	i, err := m.bind(module, linear)
	if err != nil {
		return nil, errors.Join(err, module.Close(ctx), linear.Close())
	}
	return i, nil
}

func (m *Module) newMemory() (*memory.Memory, error) {
	declared, limit := m.prepared.Info.Memory, m.spec.Limits.pages()
	most := limit
	if declared.Max > 0 {
		most = min(most, declared.Max)
	}
	least, cap := int64(declared.Min)*memory.PageBytes, int64(most)*memory.PageBytes
	return roomy(m.engine, func() (*memory.Memory, error) { return m.engine.memories.New(least, cap) })
}

// roomy makes something that takes of the engine's budget, a second time when idle
// instances had to make room. Without enough of it the error is a *LimitError.
func roomy[T any](e *Engine, create func() (T, error)) (T, error) {
	made, err := create()
	if _, full := errors.AsType[*memory.BudgetError](err); full {
		e.trim()
		made, err = create()
	}
	if over, full := errors.AsType[*memory.BudgetError](err); full {
		err = &LimitError{What: "bytes of memory of all guests", Got: over.Used + over.Wanted, Limit: over.Limit, Knob: "Options.MemoryMiB"}
	}
	return made, err
}

// reserve takes bytes of all guests' budget for a call.
func (e *Engine) reserve(bytes int64) error {
	_, err := roomy(e, func() (struct{}, error) { return struct{}{}, e.budget.Reserve(bytes) })
	return err
}

// trim closes what is idle in all modules.
func (e *Engine) trim() {
	e.mu.Lock()
	modules := slices.Collect(maps.Keys(e.modules))
	e.mu.Unlock()
	for _, m := range modules {
		m.discard(m.pool.trim()...)
	}
}
