package memory_test

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/host/wasm/memory"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	page      = memory.PageBytes
	plenty    = 1 << 30
	unbounded = 0 // of a module's maximum
)

// module writes a guest with poke(at, byte), peek(at), grow(pages) and size(), and
// a memory of least to most pages.
func module(least, most uint32) *wasmtest.Module {
	m := new(wasmtest.Module)
	m.Memory(least, most)
	i32 := wasmtest.Types(wasmtest.I32)
	m.Func("poke", wasmtest.Types(wasmtest.I32, wasmtest.I32), nil, nil, wasmtest.Get(0), wasmtest.Get(1), wasmtest.Store8)
	m.Func("peek", i32, i32, nil, wasmtest.Get(0), wasmtest.Load8)
	m.Func("grow", i32, i32, nil, wasmtest.Get(0), wasmtest.Grow)
	m.Func("size", nil, i32, nil, wasmtest.Size)
	return m
}

// engines are those that every test of guests runs on.
func engines() map[string]wazero.RuntimeConfig {
	return map[string]wazero.RuntimeConfig{
		"compiled":    wazero.NewRuntimeConfigCompiler(),
		"interpreted": wazero.NewRuntimeConfigInterpreter(),
	}
}

// onEngines runs a test on both, each with a pool of its own.
func onEngines(t *testing.T, test func(t *testing.T, h *house)) {
	for name, config := range engines() {
		t.Run(name, func(t *testing.T) { test(t, newHouse(t, config, newPool(t))) })
	}
}

func newPool(t testing.TB) *memory.Pool {
	t.Helper()
	pool := memory.NewPool(memory.NewBudget(plenty))
	t.Cleanup(func() { must(t, pool.Close()) })
	return pool
}

// house is a runtime with a pool.
type house struct {
	runtime wazero.Runtime
	pool    *memory.Pool
}

func newHouse(t testing.TB, config wazero.RuntimeConfig, pool *memory.Pool) *house {
	t.Helper()
	h := &house{runtime: wazero.NewRuntimeWithConfig(context.Background(), config), pool: pool}
	t.Cleanup(func() { must(t, h.runtime.Close(context.Background())) })
	return h
}

func (h *house) compile(t testing.TB, m *wasmtest.Module) wazero.CompiledModule {
	t.Helper()
	compiled, err := h.runtime.CompileModule(context.Background(), m.Bytes())
	must(t, err)
	return compiled
}

// guest is an instance with its memory.
type guest struct {
	t      testing.TB
	module api.Module
	memory *memory.Memory
}

// start makes an instance of least pages that may have most.
func (h *house) start(t testing.TB, compiled wazero.CompiledModule, least, most int64) *guest {
	t.Helper()
	m, err := h.pool.New(least*page, most*page)
	must(t, err)
	instance, err := h.runtime.InstantiateModule(m.Context(context.Background()), compiled, wazero.NewModuleConfig().WithName(""))
	must(t, err)
	g := &guest{t: t, module: instance, memory: m}
	t.Cleanup(g.close)
	return g
}

// only makes an instance of a module of its own.
func (h *house) only(t testing.TB, least, most uint32) *guest {
	t.Helper()
	return h.start(t, h.compile(t, module(least, most)), int64(least), 64)
}

func (g *guest) close() {
	g.t.Helper()
	must(g.t, g.module.Close(context.Background()))
	must(g.t, g.memory.Close())
}

func (g *guest) call(function string, arguments ...uint64) uint32 {
	g.t.Helper()
	results, err := g.module.ExportedFunction(function).Call(context.Background(), arguments...)
	must(g.t, err)
	if len(results) == 0 {
		return 0
	}
	return uint32(results[0])
}

func (g *guest) poke(at uint64, value byte) { g.t.Helper(); g.call("poke", at, uint64(value)) }
func (g *guest) peek(at uint64) byte        { g.t.Helper(); return byte(g.call("peek", at)) }
func (g *guest) grow(pages uint64) int32    { g.t.Helper(); return int32(g.call("grow", pages)) }
func (g *guest) pages() uint32              { g.t.Helper(); return g.call("size") }

func (g *guest) traps(at uint64) bool {
	_, err := g.module.ExportedFunction("peek").Call(context.Background(), at)
	return err != nil
}

func (g *guest) image() *memory.Image {
	g.t.Helper()
	image, err := g.memory.Snapshot(g.module.Memory())
	must(g.t, err)
	g.t.Cleanup(func() { must(g.t, image.Close()) })
	return image
}

func (g *guest) restore(image *memory.Image) {
	g.t.Helper()
	must(g.t, g.memory.Restore(g.module.Memory(), image))
}

// failing is a test, or a case of a property.
type failing interface {
	Helper()
	Fatal(arguments ...any)
}

func must(t failing, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t testing.TB, what string, got, expected T) {
	t.Helper()
	if got != expected {
		t.Errorf("%s: %v, expected %v", what, got, expected)
	}
}
