package hostile

import (
	"context"
	"strings"

	"github.com/plinthhost/plinth/host/wasm"
	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

func corpus() []hostile {
	return append(append(malformed(), bombs()...), append(running(), answering()...)...)
}

const empty = "\x00asm\x01\x00\x00\x00"

// run makes a module whose entry "run" is the code.
func run(code ...string) func(m *w.Module) {
	return func(m *w.Module) {
		m.Core()
		m.Entry("run", append(code, w.Const64(0))...)
	}
}

// fibonacci makes a function of exponential time without a loop.
func fibonacci(m *w.Module) uint32 {
	self := m.Next()
	return m.Func("", w.Types(w.I32), w.Types(w.I32), nil,
		w.Get(0), w.Const(2), w.LessS, w.IfI32, w.Get(0), w.Else,
		w.Get(0), w.Const(1), w.Sub, w.Call(self),
		w.Get(0), w.Const(2), w.Sub, w.Call(self), w.Add, w.End)
}

// Rows 8, 9, 11, 12 and 14: what must not get past the parser.
func malformed() []hostile {
	section := func(id byte, content string) []byte { return append([]byte(empty), w.Section(id, []byte(content))...) }
	whole := string(w.Guest().Bytes())
	return []hostile{
		{name: "11 no module", bytes: []byte("#!/bin/sh\n"), stage: wasm.StageParse, refused: "not a WebAssembly module"},
		{name: "11 empty file", bytes: []byte{}, stage: wasm.StageParse, refused: "not a WebAssembly module"},
		{name: "11 component", bytes: []byte("\x00asm\x0d\x00\x01\x00"), stage: wasm.StageParse, refused: "component"},
		{name: "11 truncated", bytes: []byte(whole[:len(whole)/2]), stage: wasm.StageParse, refused: "at byte"},
		{name: "11 overlong number", bytes: section(1, "\x80\x80\x80\x80\x80\x00"), stage: wasm.StageParse, refused: "at byte"},
		{name: "11 sections out of order", bytes: append(section(3, "\x00"), w.Section(1, []byte("\x00"))...), stage: wasm.StageParse, refused: "at byte"},
		{name: "11 section longer than the file", bytes: []byte(empty + "\x01\x7f\x00"), stage: wasm.StageParse, refused: "at byte"},
		{name: "11 code that is not valid", module: run(w.Add), stage: wasm.StageCompile, refused: "compile"},
		{name: "12 unknown import", module: func(m *w.Module) {
			m.Import("env", "system", w.Types(w.I32), w.Types(w.I32))
			run()(m)
		}, stage: wasm.StageImports, refused: "env.system"},
		{name: "12 import of another type", module: func(m *w.Module) {
			m.Import(w.Host, w.Ask, w.Types(w.I64), nil)
			run()(m)
		}, stage: wasm.StageImports, refused: "(as (i64)->()"},
		{name: "12 operations in a pure module", pure: true, module: func(m *w.Module) {
			m.Operations()
			run()(m)
		}, stage: wasm.StageImports, refused: "host operation"},
		{name: "14 no marker", module: func(m *w.Module) { m.Memory(1, 0); m.Entry("run", w.Const64(0)) },
			stage: wasm.StageExports, refused: "marker"},
		{name: "a name that belongs to the meter", module: func(m *w.Module) {
			run()(m)
			m.Func("plinth:meter/fuel", nil, nil, nil)
		}, stage: wasm.StageParse, refused: "plinth:meter"},
	}
}

// Rows 5, 7, 8, 9 and 17: what asks for more than there is.
func bombs() []hostile {
	return []hostile{
		{name: "8 memory of 4 GiB", module: func(m *w.Module) { run()(m); m.Memory(65536, 0) }, stage: wasm.StageParse, refused: "memory"},
		{name: "8 memory above the limit", module: func(m *w.Module) { run()(m); m.Memory(1024, 0) }, stage: wasm.StageLimits, refused: "65536 KiB"},
		{name: "8 table of 100 million", module: func(m *w.Module) { run()(m); m.Table(100_000_000, 0) }, stage: wasm.StageParse, refused: "table"},
		{name: "7 table that grows without end", module: func(m *w.Module) {
			m.Table(1, 0)
			run(w.NullFunc, w.Const(1_000_000), w.TableGrow(), w.Drop)(m)
		}, stage: wasm.StageParse, refused: "table"},
		{name: "8 a million globals", module: func(m *w.Module) {
			for range 1 << 17 {
				m.Global(0)
			}
			run()(m)
		}, stage: wasm.StageParse, refused: "global"},
		{name: "9 16,000 locals", module: func(m *w.Module) {
			m.Core()
			m.Func("run", w.Types(w.I32, w.I32), w.Types(w.I64), []byte(strings.Repeat("\x7f", 16_000)), w.Const64(0))
		}, stage: wasm.StageParse, refused: "locals"},
		{name: "9 a body of 2 MiB", module: run(strings.Repeat(w.Const(1)+w.Drop, 1<<20)), stage: wasm.StageParse, refused: "byte"},
		{name: "9 blocks 100,000 deep", module: run(strings.Repeat(w.Block, 100_000) + strings.Repeat(w.End, 100_000)),
			stage: wasm.StageParse, refused: "blocks in each other"},
		{name: "9 br_table of a million", module: run(w.Block, w.Const(0), w.BrTable(1_000_000), w.End), stage: wasm.StageParse, refused: "at byte"},
		{name: "5 memory.grow to the end", module: func(m *w.Module) {
			m.Core()
			m.Entry("run",
				w.Loop, w.Const(1), w.Grow, w.Const(-1), w.Eq, w.Eqz, w.BrIf(0), w.End,
				w.Const(w.Room), w.Size, w.Store, w.Answer(w.Const(w.Room), w.Const(4)))
		}, limits: wasm.Limits{MemoryMiB: 8, Deadline: 10e9}, output: "\x80\x00\x00\x00"},
		{name: "5 memory.grow by everything", module: run(w.Const(-1), w.Grow, w.Const(-1), w.Eq, w.Eqz, w.If, w.Unreachable, w.End)},
	}
}

// Rows 1 to 3, 16 to 19: what runs and does not end, or ends badly.
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
		{name: "sleep for ever", module: sleeper, kind: wasm.KindDeadline},
		{name: "fuel is used up", module: run(w.Loop, w.Br(0), w.End), limits: wasm.Limits{Fuel: 1_000_000, Deadline: 10e9}, kind: wasm.KindLimit, text: "Fuel"},
		{name: "19 unreachable", module: run(w.Unreachable), kind: wasm.KindTrap, text: "unreachable"},
		{name: "19 division by zero", module: run(w.Const(1), w.Const(0), w.DivS, w.Drop), kind: wasm.KindTrap, text: "divide by zero"},
		{name: "19 out of bounds", module: run(w.Const(-4), w.Load, w.Drop), kind: wasm.KindTrap, text: "out of bounds"},
		{name: "19 call of nothing", module: func(m *w.Module) {
			m.Table(1, 1)
			m.Core()
			m.Entry("run", w.Const(0), w.CallIndirect(m.Type(nil, nil)), w.Const64(0))
		}, kind: wasm.KindTrap, text: "table"},
		{name: "exit", module: exits, kind: wasm.KindTrap, text: "exit with status 3"},
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
		{name: "8 data beyond the memory", module: func(m *w.Module) { run()(m); m.Data(65536-2, "data") },
			stage: wasm.StageLimits, refused: "a data segment ends at byte 65538"},
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

type operations func(ctx context.Context, operation string, request []byte) []byte

func (o operations) Call(ctx context.Context, operation string, request []byte) []byte {
	return o(ctx, operation, request)
}

// Rows 21, 30, 47 and 69, and what else passes the border.
func answering() []hostile {
	answer := func(at, length int32) func(m *w.Module) {
		return func(m *w.Module) {
			m.Core()
			m.Entry("run", w.Answer(w.Const(at), w.Const(length)))
		}
	}
	asks := func(name, request [2]int32) func(m *w.Module) {
		return func(m *w.Module) {
			ask, _ := m.Operations()
			m.Core()
			m.Entry("run", w.Const(name[0]), w.Const(name[1]), w.Const(request[0]), w.Const(request[1]), w.Call(ask), w.Drop, w.Const64(0))
		}
	}
	silent := operations(func(context.Context, string, []byte) []byte { return nil })
	return []hostile{
		{name: "21 an answer of 2 GiB", module: answer(w.Room, -1<<31), kind: wasm.KindAnswer, text: "OutputBytes"},
		{name: "21 an answer above the limit", module: answer(w.Room, 1001), limits: wasm.Limits{OutputBytes: 1000}, kind: wasm.KindAnswer, text: "1000"},
		{name: "21 an answer outside of the memory", module: answer(65532, 8), kind: wasm.KindAnswer, text: "outside"},
		{name: "an allocator that lies", module: func(m *w.Module) {
			m.Memory(1, 0)
			m.Func(w.Marker, nil, nil, nil)
			m.Func(w.Alloc, w.Types(w.I32), w.Types(w.I32), nil, w.Const(-8))
			m.Entry("run", w.Const64(0))
		}, input: []byte("0123456789"), kind: wasm.KindAnswer, text: "outside"},
		{name: "an operation's name outside of the memory", module: asks([2]int32{-4, 8}, [2]int32{0, 0}), operations: silent, kind: wasm.KindTrap, text: "outside"},
		{name: "an operation's request outside of the memory", module: asks([2]int32{0, 4}, [2]int32{65530, 100}), operations: silent, kind: wasm.KindTrap, text: "outside"},
		{name: "69 an operation that panics", module: asks([2]int32{0, 4}, [2]int32{0, 0}),
			operations: operations(func(context.Context, string, []byte) []byte { panic("our own bug") }), kind: wasm.KindHost, text: "our own bug"},
		{name: "operations without end", module: func(m *w.Module) {
			ask, _ := m.Operations()
			m.Core()
			m.Entry("run", w.Loop, w.Const(0), w.Const(4), w.Const(0), w.Const(0), w.Call(ask), w.Drop, w.Br(0), w.End, w.Const64(0))
		}, operations: silent, limits: wasm.Limits{Operations: 10}, kind: wasm.KindDeadline},
		{name: "47 a flood of output", module: flood, kind: wasm.KindDeadline},
	}
}

// flood writes the whole memory to standard output, again and again.
func flood(m *w.Module) {
	write := m.Import("wasi_snapshot_preview1", "fd_write", w.Types(w.I32, w.I32, w.I32, w.I32), w.Types(w.I32))
	m.Core()
	m.Data(1024, "\x00\x00\x00\x00\x00\x00\x01\x00")
	m.Entry("run", w.Loop, w.Const(1), w.Const(1024), w.Const(1), w.Const(2048), w.Call(write), w.Drop, w.Br(0), w.End, w.Const64(0))
}
