package wasm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/plinthhost/plinth/host/wasm/memory"
	"github.com/plinthhost/plinth/host/wasm/meter"
)

// instance is one instance of a module, used by one call at a time. Its functions
// are resolved once: looking one up costs more than calling it.
type instance struct {
	module  api.Module
	memory  api.Memory
	linear  *memory.Memory // what stands behind memory
	counter api.MutableGlobal
	globals []api.MutableGlobal // that restoring puts back, in the report's order
	alloc   *function
	free    *function // nil when it is not exported
	renew   *function // nil when it is not exported
	entries map[string]*function
	stack   [2]uint64 // parameters and results

	variables variables // of an Extism module
	running   *function

	start   Ambient // Result.Start
	session string  // whom a sticky instance serves, once used
	born    time.Time
	calls   int
	bytes   int64 // of the memory when it was last leased or idle
	copied  bool  // it is as the snapshot, so its random state is not its own
	broken  bool  // a call failed inside it: it must not be used again
}

// bind resolves what calls need of a module's instance.
func (m *Module) bind(module api.Module, linear *memory.Memory) (*instance, error) {
	contract := &m.engine.options.Contract
	i := &instance{
		module: module, memory: module.Memory(), linear: linear, born: time.Now(),
		alloc: resolve(module, contract.Alloc), free: resolve(module, contract.Free), renew: resolve(module, contract.Reseed),
		entries: make(map[string]*function, len(m.spec.Entries)),
	}
	for _, entry := range m.spec.Entries {
		i.entries[entry] = resolve(module, entry)
	}
	var err error
	if i.counter, err = mutable(module, meter.Counter); err != nil {
		return nil, err
	}
	for _, name := range m.prepared.Globals {
		global, err := mutable(module, name)
		if err != nil {
			return nil, err
		}
		i.globals = append(i.globals, global)
	}
	return i, nil
}

func mutable(module api.Module, name string) (api.MutableGlobal, error) {
	global, ok := module.ExportedGlobal(name).(api.MutableGlobal)
	if !ok {
		return nil, fmt.Errorf("the metered module has no mutable global %q", name)
	}
	return global, nil
}

// initialize runs what must run before the first call.
func (i *instance) initialize(c *call) error {
	contract, spec := &c.module.engine.options.Contract, &c.module.spec
	for _, name := range i.beginnings(c.module.extism) {
		if start := resolve(i.module, name); start != nil {
			if err := i.invoke(c, start, make([]uint64, len(start.Definition().ParamTypes()))); err != nil {
				return fmt.Errorf("%s: %w", strings.Replace(name, meter.Start, "start function", 1), err)
			}
		}
	}
	entry := resolve(i.module, contract.Init)
	if entry == nil || spec.Init == nil {
		return nil
	}
	answer, err := i.exchange(c, entry, spec.Init)
	if err == nil && spec.CheckInit != nil {
		err = protected("CheckInit", func() error { return spec.CheckInit(answer) })
	}
	if err != nil {
		return fmt.Errorf("%s: %w", contract.Init, err)
	}
	return nil
}

// reseed lets a guest that began from a snapshot take new randomness.
func (i *instance) reseed(c *call) error {
	if !i.copied || i.renew == nil {
		return nil
	}
	i.copied = false
	return i.invoke(c, i.renew, nil)
}

// beginnings are the functions that run before all others, in their order.
func (i *instance) beginnings(extism bool) []string {
	names := []string{meter.Start, exportInitialize}
	if !extism {
		return names
	}
	if resolve(i.module, exportInitialize) == nil && resolve(i.module, exportHaskell) == nil {
		names = append(names, exportConstructors)
	}
	return append(names, exportHaskell)
}

// exchange calls an entry with a message and answers a copy of its answer.
func (i *instance) exchange(c *call, entry *function, input []byte) ([]byte, error) {
	if c.handles != nil {
		return i.exchangeHandles(c, entry, input)
	}
	at, err := i.put(c, input)
	if err != nil {
		return nil, err
	}
	i.stack = [2]uint64{uint64(at), uint64(len(input))}
	if err := i.invoke(c, entry, i.stack[:]); err != nil {
		return nil, err
	}
	return i.get(c, i.stack[0])
}

// put copies a message into the guest, into room of the guest's own making.
func (i *instance) put(c *call, input []byte) (uint32, error) {
	if len(input) == 0 {
		return 0, nil
	}
	i.stack[0] = uint64(len(input))
	if err := i.invoke(c, i.alloc, i.stack[:1]); err != nil {
		return 0, err
	}
	at := uint32(i.stack[0])
	if at == 0 {
		return 0, i.invalid("the allocator has no room for a message of %d bytes", len(input))
	}
	if !i.memory.Write(at, input) {
		return 0, i.invalid("the allocator's room of %d bytes at %d lies outside of the memory of %d", len(input), at, i.memory.Size())
	}
	return at, nil
}

// get copies the answer that a result points to, and gives its room back unless
// the instance is put back anyway. An answer counts even when giving back fails;
// then the instance is broken.
func (i *instance) get(c *call, result uint64) ([]byte, error) {
	at, length := uint32(result>>32), uint32(result&math.MaxUint32)
	if length == 0 {
		return []byte{}, nil
	}
	if limit := c.module.spec.Limits.OutputBytes; uint64(length) > uint64(limit) {
		return nil, i.invalid("it claims %d bytes, the limit is %d (OutputBytes); answer less, or %s", length, limit, raise("OutputBytes"))
	}
	view, ok := i.memory.Read(at, length)
	if !ok {
		return nil, i.invalid("%d bytes at %d lie outside of the memory of %d; an entry answers the pointer in its high half and the length in its low one", length, at, i.memory.Size())
	}
	answer := append([]byte(nil), view...)
	if i.free != nil && c.module.isolation == Sticky {
		i.stack = [2]uint64{uint64(at), uint64(length)}
		if err := i.invoke(c, i.free, i.stack[:]); err != nil {
			c.module.logger.Debug("giving an answer's room back failed", "error", err)
		}
	}
	return answer, nil
}

func (i *instance) invalid(format string, args ...any) error {
	i.broken = true
	return &AnswerError{Reason: fmt.Sprintf(format, args...)}
}

// invoke runs a guest function until it returns, traps or is stopped.
func (i *instance) invoke(c *call, guest *function, stack []uint64) error {
	was := i.broken
	i.running, i.broken = guest, true // also when a fault of ours leaves it half-way
	if err := guest.CallWithStack(&c.guest, stack); err != nil {
		return c.failure(err)
	}
	i.broken = was
	return nil
}

func (i *instance) close() error {
	return errors.Join(i.module.Close(context.Background()), i.linear.Close())
}
