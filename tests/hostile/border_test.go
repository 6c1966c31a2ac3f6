package hostile

import (
	"context"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

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
	large := make([]byte, 1<<20)
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
			operations: operations(func(context.Context, string, []byte) []byte { panic("our own bug") }), kind: wasm.KindHost, text: "our own bug",
			limits: wasm.Limits{Deadline: 10 * time.Second}}, // a busy machine must not end it
		{name: "operations without end", module: func(m *w.Module) {
			ask, _ := m.Operations()
			m.Core()
			m.Entry("run", w.Loop, w.Const(0), w.Const(4), w.Const(0), w.Const(0), w.Call(ask), w.Drop, w.Br(0), w.End, w.Const64(0))
		}, operations: silent, limits: wasm.Limits{Operations: 10}, kind: wasm.KindDeadline},
		{name: "reading an answer without end", module: func(m *w.Module) {
			ask, read := m.Operations()
			m.Core().Memory(32, 0)
			m.Entry("run",
				w.Const(0), w.Const(4), w.Const(0), w.Const(0), w.Call(ask), w.Drop,
				w.Loop, w.Const(65536), w.Call(read), w.Br(0), w.End, w.Const64(0))
		}, operations: operations(func(context.Context, string, []byte) []byte { return large }), kind: wasm.KindDeadline},
		{name: "a guest that goes on after it was told of its end", module: func(m *w.Module) {
			ask, _ := m.Operations()
			m.Core()
			m.Entry("run", w.Const(0), w.Const(4), w.Const(0), w.Const(0), w.Call(ask), w.Drop, w.Loop, w.Br(0), w.End, w.Const64(0))
		}, operations: operations(func(ctx context.Context, _ string, _ []byte) []byte { <-ctx.Done(); return nil }), kind: wasm.KindDeadline},
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
