package hostile

import (
	"strings"

	"github.com/plinthhost/plinth/host/wasm"
	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// Rows 1 to 3: what runs and does not end.
func running() []hostile {
	return []hostile{
		{name: "1 loop", module: run(w.Loop, w.Br(0), w.End), kind: wasm.KindDeadline},
		{name: "2 recursion without a loop", module: func(m *w.Module) {
			m.Core()
			m.Entry("run", w.Const(60), w.Call(fibonacci(m)), w.Drop, w.Const64(0))
		}, kind: wasm.KindDeadline},
		{name: "3 recursion through the table", module: tablePingPong, kind: wasm.KindDeadline},
		{name: "loop of memory.fill", module: run(w.Const(200), w.Grow, w.Drop,
			w.Loop, w.Const(0), w.Const(1), w.Const(12<<20), w.Fill, w.Br(0), w.End), kind: wasm.KindDeadline},
		{name: "loop of memory.copy", module: run(w.Const(200), w.Grow, w.Drop,
			w.Loop, w.Const(64), w.Const(0), w.Const(12<<20), w.Copy, w.Br(0), w.End), kind: wasm.KindDeadline},
		{name: "loop of table.fill", module: func(m *w.Module) {
			m.Table(10_000, 10_000)
			run(w.Loop, w.Const(0), w.NullFunc, w.Const(10_000), w.TableFill, w.Br(0), w.End)(m)
		}, kind: wasm.KindDeadline},
		{name: "loop of a megabyte of straight code", module: run(w.Loop,
			strings.Repeat(w.Get(0)+w.Get(1)+w.DivS+w.Set(2), 110_000), w.Br(0), w.End), input: []byte("1"),
			limits: wasm.Limits{Deadline: 20e6}, kind: wasm.KindDeadline},
		{name: "2 endless recursion", module: func(m *w.Module) {
			m.Core()
			self := m.Next()
			m.Func("", nil, nil, nil, w.Call(self), w.Call(self))
			m.Entry("run", w.Call(self), w.Const64(0))
		}, limits: wasm.Limits{Deadline: 10e9}, kind: wasm.KindLimit, text: "stack"},
		{name: "2 endless recursion with large frames", module: largeFrames, limits: wasm.Limits{Deadline: 10e9}, kind: wasm.KindLimit, text: "stack"},
		{name: "randomness without end", module: forEver("random_get", w.Types(w.I32, w.I32), w.Const(0), w.Const(12<<20)), kind: wasm.KindDeadline},
		{name: "clocks without end", module: forEver("clock_time_get", w.Types(w.I32, w.I64, w.I32), w.Const(0), w.Const64(0), w.Const(0)), kind: wasm.KindDeadline},
		{name: "yields without end", module: forEver("sched_yield", nil), kind: wasm.KindDeadline},
		{name: "closing without end", module: forEver("fd_close", w.Types(w.I32), w.Const(7)), kind: wasm.KindDeadline},
		{name: "sleep for ever", module: sleeper, kind: wasm.KindDeadline},
		{name: "fuel is used up", module: run(w.Loop, w.Br(0), w.End), limits: wasm.Limits{Fuel: 1_000_000, Deadline: 10e9}, kind: wasm.KindLimit, text: "Fuel"},
	}
}

// Rows 8, 16 and 17: what runs before and around a call.
func starting() []hostile {
	return []hostile{
		{name: "16 trap at the start", module: func(m *w.Module) {
			run()(m)
			m.Start(m.Func("", nil, nil, nil, w.Unreachable))
		}, stage: wasm.StageStart, refused: "unreachable"},
		{name: "17 start that never ends", module: func(m *w.Module) {
			run()(m)
			m.Start(m.Func("", nil, nil, nil, w.Loop, w.Br(0), w.End))
		}, limits: wasm.Limits{Start: 20e6}, stage: wasm.StageStart, refused: "does not start within 20ms"},
		{name: "17 _initialize that never ends", module: func(m *w.Module) {
			run()(m)
			m.Func("_initialize", nil, nil, nil, w.Loop, w.Br(0), w.End)
		}, limits: wasm.Limits{Start: 20e6}, stage: wasm.StageStart, refused: "does not start within 20ms"},
		{name: "16 trap in init", module: initial(w.Unreachable), init: []byte("x"), stage: wasm.StageStart, refused: "unreachable"},
		{name: "17 init that never ends", module: initial(w.Loop, w.Br(0), w.End), init: []byte("x"),
			limits: wasm.Limits{Start: 20e6}, stage: wasm.StageStart, refused: "does not start within 20ms"},
		{name: "17 init without end of its stack", module: func(m *w.Module) {
			self := uint32(2) // itself: the marker and the allocator come first
			initial(w.Get(0), w.Get(1), w.Call(self), w.Drop)(m)
		}, init: []byte("x"), stage: wasm.StageStart, refused: "stack"},
		{name: "reseeding that never ends", module: func(m *w.Module) {
			run()(m)
			m.Func(w.Reseed, nil, nil, nil, w.Loop, w.Br(0), w.End)
		}, kind: wasm.KindDeadline},
		{name: "an allocator that never ends", module: func(m *w.Module) {
			m.Memory(1, 0)
			m.Func(w.Marker, nil, nil, nil)
			m.Func(w.Alloc, w.Types(w.I32), w.Types(w.I32), nil, w.Loop, w.Br(0), w.End, w.Const(0))
			m.Entry("run", w.Const64(0))
		}, input: []byte("x"), kind: wasm.KindDeadline},
		{name: "giving back that never ends", module: func(m *w.Module) {
			m.Core()
			m.Func(w.Free, w.Types(w.I32, w.I32), nil, nil, w.Loop, w.Br(0), w.End)
			m.Entry("run", w.Answer(w.Const(0), w.Const(1)))
		}, isolation: wasm.Sticky, output: "\x00"}, // the answer counts
		{name: "8 data beyond the memory", module: func(m *w.Module) { run()(m); m.Data(65536-2, "data") },
			stage: wasm.StageLimits, refused: "a data segment ends at byte 65538"},
	}
}

// Row 19 and what else ends a call by a trap.
func trapping() []hostile {
	return []hostile{
		{name: "19 unreachable", module: run(w.Unreachable), kind: wasm.KindTrap, text: "unreachable"},
		{name: "19 division by zero", module: run(w.Const(1), w.Const(0), w.DivS, w.Drop), kind: wasm.KindTrap, text: "divide by zero"},
		{name: "19 out of bounds", module: run(w.Const(-4), w.Load, w.Drop), kind: wasm.KindTrap, text: "out of bounds"},
		{name: "19 call of nothing", module: func(m *w.Module) {
			m.Table(1, 1)
			m.Core()
			m.Entry("run", w.Const(0), w.CallIndirect(m.Type(nil, nil)), w.Const64(0))
		}, kind: wasm.KindTrap, text: "table"},
		{name: "19 call of another type", module: func(m *w.Module) {
			m.Table(1, 1)
			m.Core()
			m.Elements(0, 0)
			m.Entry("run", w.Const(0), w.Const(0), w.CallIndirect(m.Type(w.Types(w.I32), nil)), w.Const64(0))
		}, kind: wasm.KindTrap, text: "indirect call"},
		{name: "19 call beyond the table", module: func(m *w.Module) {
			m.Table(1, 1)
			m.Core()
			m.Entry("run", w.Const(-1), w.CallIndirect(m.Type(nil, nil)), w.Const64(0))
		}, kind: wasm.KindTrap, text: "table"},
		{name: "19 fill out of bounds", module: run(w.Const(0), w.Const(1), w.Const(-1), w.Fill), kind: wasm.KindTrap, text: "out of bounds"},
		{name: "19 copy out of bounds", module: run(w.Const(-8), w.Const(0), w.Const(16), w.Copy), kind: wasm.KindTrap, text: "out of bounds"},
		{name: "19 a number that is none", module: run("\x43\x00\x00\xc0\x7f\xa8", w.Drop), kind: wasm.KindTrap, text: "conversion"}, // i32.trunc_f32_s of NaN
		{name: "19 the least number by -1", module: run(w.Const(-1<<31), w.Const(-1), w.DivS, w.Drop), kind: wasm.KindTrap, text: "overflow"},
		{name: "19 state left by a trap", module: afterTrap, kind: wasm.KindTrap, text: "unreachable"},
		{name: "19 state left by a trap in a session", module: afterTrap, isolation: wasm.Sticky, kind: wasm.KindTrap, text: "unreachable"},
		{name: "exit", module: exits, kind: wasm.KindTrap, text: "exit with status 3"},
	}
}

// tablePingPong calls two functions through the table, each the other twice.
func tablePingPong(m *w.Module) {
	m.Table(2, 2)
	m.Core()
	kind := m.Type(w.Types(w.I32), nil)
	var both []uint32
	for other := range int32(2) {
		again := w.Code(w.Get(0), w.Const(1), w.Sub, w.Const(1-other), w.CallIndirect(kind))
		both = append(both, m.Func("", w.Types(w.I32), nil, nil, w.Get(0), w.If, again, again, w.End))
	}
	m.Elements(0, both...)
	m.Entry("run", w.Const(60), w.Call(both[0]), w.Const64(0))
}

// sleeper waits for a clock that is a year away.
func sleeper(m *w.Module) {
	poll := m.Import("wasi_snapshot_preview1", "poll_oneoff", w.Types(w.I32, w.I32, w.I32, w.I32), w.Types(w.I32))
	m.Core()
	m.Data(1024+16, "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x70\x00") // monotonic, 2^54 ns and more
	m.Entry("run", w.Const(1024), w.Const(2048), w.Const(1), w.Const(3072), w.Call(poll), w.Drop, w.Const64(0))
}

func exits(m *w.Module) {
	exit := m.Import("wasi_snapshot_preview1", "proc_exit", w.Types(w.I32), nil)
	m.Core()
	m.Entry("run", w.Const(3), w.Call(exit), w.Const64(0))
}

// initial has an init entry of its own.
func initial(code ...string) func(m *w.Module) {
	return func(m *w.Module) {
		m.Core()
		m.Entry(w.Init, append(code, w.Const64(0))...)
		m.Entry("run", w.Const64(0))
	}
}

// afterTrap answers when it finds what its own trap left.
func afterTrap(m *w.Module) {
	m.Core()
	seen := m.Global(0)
	m.Entry("run",
		w.GetGlobal(seen), w.If, w.Answer(w.Const(0), w.Const(4)), w.Return, w.End,
		w.Const(1), w.SetGlobal(seen), w.Unreachable)
}

// largeFrames recurses with 200 values that live over the call.
func largeFrames(m *w.Module) {
	m.Core()
	self := m.Next()
	const values = 200
	var before, after string
	for range values {
		before += w.Get(0) + w.Load
		after += w.Add
	}
	m.Func("", w.Types(w.I32), w.Types(w.I32), nil, before, w.Get(0), w.Call(self), after)
	m.Entry("run", w.Const(0), w.Call(self), w.Drop, w.Const64(0))
}

// forEver calls a function of WASI again and again.
func forEver(name string, params []byte, args ...string) func(m *w.Module) {
	return func(m *w.Module) {
		function := m.Import("wasi_snapshot_preview1", name, params, w.Types(w.I32))
		m.Core().Memory(200, 0)
		m.Entry("run", w.Loop, w.Code(args...), w.Call(function), w.Drop, w.Br(0), w.End, w.Const64(0))
	}
}
