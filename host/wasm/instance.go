package wasm

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// instance is one instance of a module, used by one call at a time. Its functions
// are resolved once: looking one up costs more than calling it.
type instance struct {
	module  api.Module
	memory  api.Memory
	alloc   api.Function
	free    api.Function // nil when it is not exported
	entries map[string]api.Function
	stack   [2]uint64 // parameters and results
	size    uint32    // of the memory when the instance was ready, in bytes
	session string    // the one it serves, once used
	used    bool
	broken  bool // a call failed inside it: it must not be used again
}

// instantiate makes an instance and runs what has to run before its first call.
func (m *Module) instantiate(c *call) (*instance, error) {
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	module, err := m.program.runtime.InstantiateModule(c.guest, m.program.compiled, config)
	if err != nil {
		return nil, c.failure(err)
	}
	contract := m.engine.options.Contract
	i := &instance{
		module: module, memory: module.Memory(),
		alloc: module.ExportedFunction(contract.Alloc), free: module.ExportedFunction(contract.Free),
		entries: make(map[string]api.Function, len(m.spec.Entries)),
	}
	for _, entry := range m.spec.Entries {
		i.entries[entry] = module.ExportedFunction(entry)
	}
	if err := m.initialize(c, i); err != nil {
		return nil, errors.Join(err, i.close())
	}
	i.size = i.memory.Size()
	return i, nil
}

func (m *Module) initialize(c *call, i *instance) error {
	if start := i.module.ExportedFunction(exportInitialize); start != nil {
		if err := i.invoke(c, start, nil); err != nil {
			return fmt.Errorf("%s: %w", exportInitialize, err)
		}
	}
	entry := i.module.ExportedFunction(m.engine.options.Contract.Init)
	if entry == nil || m.spec.Init == nil {
		return nil
	}
	answer, err := i.exchange(c, entry, m.spec.Init)
	if err == nil && m.spec.CheckInit != nil {
		err = m.spec.CheckInit(answer)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.engine.options.Contract.Init, err)
	}
	return nil
}

// exchange calls an entry with a message and answers a copy of its answer.
func (i *instance) exchange(c *call, entry api.Function, input []byte) ([]byte, error) {
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

// get copies the answer that a result points to, and gives its room back. An
// answer counts even when giving back fails; then the instance is broken.
func (i *instance) get(c *call, result uint64) ([]byte, error) {
	at, length := uint32(result>>32), uint32(result&math.MaxUint32)
	if length == 0 {
		return []byte{}, nil
	}
	if limit := c.module.spec.Limits.OutputBytes; uint64(length) > uint64(limit) {
		return nil, i.invalid("it claims %d bytes, the limit is %d (OutputBytes)", length, limit)
	}
	view, ok := i.memory.Read(at, length)
	if !ok {
		return nil, i.invalid("%d bytes at %d lie outside of the memory of %d", length, at, i.memory.Size())
	}
	answer := append([]byte(nil), view...)
	if i.free != nil {
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
func (i *instance) invoke(c *call, function api.Function, stack []uint64) error {
	err := endOf(c.ctx)
	if err == nil {
		if err = function.CallWithStack(c.guest, stack); err != nil {
			err = c.failure(err)
		}
	}
	i.broken = i.broken || err != nil
	return err
}

func (i *instance) close() error { return i.module.Close(context.Background()) }
