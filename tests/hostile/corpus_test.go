package hostile

import (
	"slices"

	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

func corpus() []hostile {
	return slices.Concat(malformed(), bombs(), running(), starting(), trapping(), answering())
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
