package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/plinthhost/plinth/host/wasm"
)

// bare is a guest on wazero alone, called by hand.
type bare struct {
	runtime     wazero.Runtime
	module      api.Module
	ctx         context.Context // of calls
	alloc, free api.Function    // free is nil when it is not exported
	before      func()          // a call; nil for nothing
	stack       [2]uint64
}

// bareConfig is how wazero runs a bare guest.
type bareConfig struct {
	contract wasm.Contract
	config   wazero.RuntimeConfig
	metered  bool
}

func plainConfig(contract wasm.Contract) bareConfig {
	return bareConfig{contract: contract, config: wazero.NewRuntimeConfigCompiler().WithDebugInfoEnabled(false)}
}

func (c bareConfig) start(ctx context.Context, module []byte) (*bare, error) {
	g := &bare{runtime: wazero.NewRuntimeWithConfig(ctx, c.config), ctx: ctx}
	if err := g.start(ctx, c, module); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *bare) start(ctx context.Context, c bareConfig, module []byte) error {
	wasi_snapshot_preview1.MustInstantiate(ctx, g.runtime)
	if c.metered {
		if err := offerYield(ctx, g.runtime); err != nil {
			return err
		}
	}
	compiled, err := g.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0)), module)
	if err != nil {
		return err
	}
	g.module, err = g.runtime.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return err
	}
	g.alloc, g.free = g.module.ExportedFunction(c.contract.Alloc), g.module.ExportedFunction(c.contract.Free)
	if c.metered {
		if err := g.meter(); err != nil {
			return err
		}
	}
	if initialize := g.module.ExportedFunction("_initialize"); initialize != nil {
		return g.call(initialize)
	}
	return nil
}

func (g *bare) close() error { return g.runtime.Close(context.Background()) }

func (g *bare) call(function api.Function, params ...uint64) error {
	copy(g.stack[:], params)
	if g.before != nil {
		g.before()
	}
	return function.CallWithStack(g.ctx, g.stack[:])
}

// caller copies an input in, calls the entry, copies the answer out and gives its
// room back, as Module.Call does.
func (g *bare) caller(entry string, input []byte) func() error {
	function := g.module.ExportedFunction(entry)
	return func() error {
		answer, err := g.exchange(function, input)
		if err == nil && len(answer) == 0 && entry != "noop" {
			return fmt.Errorf("%s answers nothing", entry)
		}
		return err
	}
}

func (g *bare) exchange(function api.Function, input []byte) ([]byte, error) {
	var at uint64
	if len(input) > 0 {
		if err := g.call(g.alloc, uint64(len(input))); err != nil {
			return nil, err
		}
		at = g.stack[0]
		if !g.module.Memory().Write(uint32(at), input) {
			return nil, errors.New("the allocator's room lies outside of the memory")
		}
	}
	if err := g.call(function, at, uint64(len(input))); err != nil {
		return nil, err
	}
	at, length := g.stack[0]>>32, g.stack[0]&math.MaxUint32
	if length == 0 {
		return nil, nil
	}
	view, ok := g.module.Memory().Read(uint32(at), uint32(length))
	if !ok {
		return nil, errors.New("the answer lies outside of the memory")
	}
	answer := append([]byte(nil), view...)
	if g.free != nil {
		return answer, g.call(g.free, at, length)
	}
	return answer, nil
}
