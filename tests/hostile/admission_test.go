package hostile

import (
	"strings"

	"github.com/plinthhost/plinth/host/wasm"
	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// Rows 8, 9, 11, 12 and 14: what must not get past the parser.
func malformed() []hostile {
	section := func(id byte, content string) []byte { return append([]byte(empty), w.Section(id, []byte(content))...) }
	whole := string(w.Guest().Bytes())
	runs := new(w.Module)
	run()(runs)
	return []hostile{
		{name: "11 no module", bytes: []byte("#!/bin/sh\n"), stage: wasm.StageParse, refused: "not a WebAssembly module"},
		{name: "11 empty file", bytes: []byte{}, stage: wasm.StageParse, refused: "not a WebAssembly module"},
		{name: "11 component", bytes: []byte("\x00asm\x0d\x00\x01\x00"), stage: wasm.StageParse, refused: "component"},
		{name: "11 truncated", bytes: []byte(whole[:len(whole)/2]), stage: wasm.StageParse, refused: "at byte"},
		{name: "11 overlong number", bytes: section(1, "\x80\x80\x80\x80\x80\x00"), stage: wasm.StageParse, refused: "at byte"},
		{name: "11 sections out of order", bytes: append(section(3, "\x00"), w.Section(1, []byte("\x00"))...), stage: wasm.StageParse, refused: "at byte"},
		{name: "11 section longer than the file", bytes: []byte(empty + "\x01\x7f\x00"), stage: wasm.StageParse, refused: "at byte"},
		{name: "11 wrong version", bytes: []byte("\x00asm\x02\x00\x00\x00"), stage: wasm.StageParse, refused: "version"},
		{name: "11 section twice", bytes: append(section(1, "\x00"), w.Section(1, []byte("\x00"))...), stage: wasm.StageParse, refused: "at byte"},
		{name: "11 section that overlaps the next", bytes: []byte(empty + "\x01\x03\x01\x60\x00\x00\x03\x01\x00"), stage: wasm.StageParse, refused: "at byte"},
		{name: "11 bytes left over in a section", bytes: section(1, "\x00\x00"), stage: wasm.StageParse, refused: "at byte"},
		{name: "11 more functions than bodies", bytes: append(section(1, "\x01\x60\x00\x00"), w.Section(3, []byte("\x01\x00"))...),
			stage: wasm.StageParse, refused: "function"},
		{name: "11 a name that is not UTF-8", bytes: []byte(strings.Replace(whole, "\x04echo", "\x04ec\xffo", 1)), stage: wasm.StageParse, refused: "UTF-8"},
		{name: "11 an export twice", module: func(m *w.Module) { run()(m); m.Export("run", 2, 0) }, stage: wasm.StageParse, refused: "run"},
		{name: "5 two memories", bytes: section(5, "\x02\x00\x01\x00\x01"), stage: wasm.StageParse, refused: "multi-memory"},
		{name: "shared memory", bytes: section(5, "\x01\x03\x01\x02"), stage: wasm.StageParse, refused: "threads"},
		{name: "memory of 64 bits", bytes: section(5, "\x01\x04\x01"), stage: wasm.StageParse, refused: "memory64"},
		{name: "11 code that is not valid", module: run(w.Add), stage: wasm.StageCompile, refused: "compile"},
		{name: "12 unknown import", module: func(m *w.Module) {
			m.Import("env", "system", w.Types(w.I32), w.Types(w.I32))
			run()(m)
		}, stage: wasm.StageImports, refused: "env.system"},
		{name: "12 import of another type", module: func(m *w.Module) {
			m.Import(w.Host, w.Ask, w.Types(w.I64), nil)
			run()(m)
		}, stage: wasm.StageImports, refused: "(as (i64)->()"},
		{name: "12 import of a memory", bytes: section(2, "\x01\x03env\x06memory\x02\x00\x01"), stage: wasm.StageExports, refused: "memory"},
		{name: "12 import of a table", bytes: imported(string(runs.Bytes()), "\x03env\x05table\x01\x70\x00\x01"), stage: wasm.StageImports, refused: "env.table"},
		{name: "12 import of a global", bytes: imported(string(runs.Bytes()), "\x03env\x05stack\x03\x7f\x01"), stage: wasm.StageImports, refused: "env.stack"},
		{name: "12 operations in a pure module", pure: true, module: func(m *w.Module) {
			m.Operations()
			run()(m)
		}, stage: wasm.StageImports, refused: "host operation"},
		{name: "14 no marker", module: func(m *w.Module) { m.Memory(1, 0); m.Entry("run", w.Const64(0)) },
			stage: wasm.StageExports, refused: "marker"},
		{name: "14 the marker of another version", module: func(m *w.Module) {
			m.Memory(1, 0)
			m.Func(w.Marker+"_2", nil, nil, nil)
			m.Entry("run", w.Const64(0))
		}, stage: wasm.StageExports, refused: "this host speaks the ABI that marker names"},
		{name: "a program", module: func(m *w.Module) { run()(m); m.Func("_start", nil, nil, nil) }, stage: wasm.StageExports, refused: "reactor"},
		{name: "a name that belongs to the meter", module: func(m *w.Module) {
			run()(m)
			m.Func("plinth:meter/fuel", nil, nil, nil)
		}, stage: wasm.StageParse, refused: "plinth:meter"},
	}
}

// imported puts one import before the functions of a module that has none.
func imported(module, entry string) []byte {
	types := 2 + int(module[9]) // its first section
	return []byte(module[:8+types] + string(w.Section(2, []byte("\x01"+entry))) + module[8+types:])
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
		{name: "8 table of 10,001", module: func(m *w.Module) { run()(m); m.Table(10_001, 0) }, stage: wasm.StageParse, refused: "table"},
		{name: "8 functions beyond the table", module: func(m *w.Module) {
			run()(m)
			m.Table(1, 1)
			m.Elements(1, 0)
		}, stage: wasm.StageLimits, refused: "an element segment ends at entry 2 of the table, which has 1"},
		{name: "8 data far apart", module: func(m *w.Module) {
			run(w.Answer(w.Const(512<<16-1), w.Const(1)), w.Return)(m)
			m.Memory(512, 0)
			m.Data(512<<16-1, "x")
			m.Data(0, "y")
		}, limits: wasm.Limits{Deadline: 10e9}, output: "x"},
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
		{name: "17 start that takes all memory", module: func(m *w.Module) {
			m.Core()
			m.Func("_initialize", nil, nil, nil, w.Loop, w.Const(1), w.Grow, w.Const(-1), w.Eq, w.Eqz, w.BrIf(0), w.End)
			m.Entry("run", w.Const(w.Room), w.Size, w.Store, w.Answer(w.Const(w.Room), w.Const(4)))
		}, limits: wasm.Limits{MemoryMiB: 8, Deadline: 10e9, Start: 10e9}, output: "\x80\x00\x00\x00"},
		{name: "5 memory.grow by everything", module: run(w.Const(-1), w.Grow, w.Const(-1), w.Eq, w.Eqz, w.If, w.Unreachable, w.End)},
	}
}
