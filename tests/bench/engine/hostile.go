package main

import (
	"context"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// hostile is a guest whose entry "run" prepares, asks the host for an operation and
// then never returns.
type hostile struct {
	name     string
	prepares string
	spins    func(m *w.Module) string // adds what it needs and answers the code
}

// hostiles are the ways not to return.
func hostiles() []hostile {
	forever := func(code ...string) func(*w.Module) string {
		return func(*w.Module) string { return w.Code(w.Loop, w.Code(code...), w.Br(0), w.End) }
	}
	const large = 12 << 20 // bytes
	grows := w.Code(w.Const(200), w.Grow, w.Drop)
	return []hostile{
		{"endless loop", "", forever()},
		{"recursion without a loop", "", func(m *w.Module) string { return w.Code(w.Const(60), w.Call(fibonacci(m)), w.Drop) }},
		{"recursion through a table", "", func(m *w.Module) string { return w.Code(w.Const(60), w.Call(pingPong(m))) }},
		{"loop of memory.fill", grows, forever(w.Const(0), w.Const(1), w.Const(large), w.Fill)},
		{"loop of memory.copy", grows, forever(w.Const(64), w.Const(0), w.Const(large), w.Copy)},
		{"loop of table.fill", "", forever(w.Const(0), w.NullFunc, w.Const(tableEntries), w.TableFill)},
		{"a megabyte of divisions", "", forever(strings.Repeat(w.Get(0)+w.Const(3)+w.DivS+w.Set(2), 110_000))},
		{"a megabyte of loads that miss", scatters(), forever(w.Get(2), strings.Repeat(w.Load, 340_000), w.Set(2))},
		{"loop of loads that miss", scatters(), forever(w.Get(2), strings.Repeat(w.Load, 100), w.Set(2))},
	}
}

const tableEntries = 10_000

// scatters grows the memory to 32 MiB and makes one chain of all its cache lines,
// in an order that nothing can foresee: line i leads to line i*a+c.
func scatters() string {
	const lines, shift = 1 << 19, 6 // of 64 bytes
	const and, shiftLeft = "\x71", "\x74"
	return w.Code(w.Const(511), w.Grow, w.Drop,
		w.Loop,
		w.Get(3), w.Const(shift), shiftLeft,
		w.Get(3), w.Const(1103515245), w.Mul, w.Const(12345), w.Add, w.Const(lines-1), and, w.Const(shift), shiftLeft,
		w.Store,
		w.Get(3), w.Const(1), w.Add, w.Set(3), w.Get(3), w.Const(lines), w.Eq, w.Eqz, w.BrIf(0),
		w.End)
}

func (h hostile) bytes() []byte {
	m := new(w.Module)
	ask, _ := m.Operations()
	m.Table(tableEntries, tableEntries)
	m.Core()
	spins := h.spins(m)
	m.Entry("run", h.prepares, w.Const(0), w.Const(0), w.Const(0), w.Const(0), w.Call(ask), w.Drop, spins, w.Const64(0))
	return m.Bytes()
}

// load admits the guest with nothing that would end it.
func (h hostile) load(ctx context.Context, engine *wasm.Engine) (*wasm.Module, error) {
	return engine.Load(ctx, wasm.Spec{
		Name: h.name, Wasm: h.bytes(), Entries: []string{"run"}, Builtin: true,
		Limits: wasm.Limits{Deadline: time.Hour, Wait: time.Hour},
	})
}

// fibonacci makes a function of exponential time without a loop.
func fibonacci(m *w.Module) uint32 {
	self := m.Next()
	return m.Func("", w.Types(w.I32), w.Types(w.I32), nil,
		w.Get(0), w.Const(2), w.LessS, w.IfI32, w.Get(0), w.Else,
		w.Get(0), w.Const(1), w.Sub, w.Call(self),
		w.Get(0), w.Const(2), w.Sub, w.Call(self), w.Add, w.End)
}

// pingPong makes two functions that call each other twice through the table.
func pingPong(m *w.Module) uint32 {
	kind := m.Type(w.Types(w.I32), nil)
	var both []uint32
	for other := range int32(2) {
		again := w.Code(w.Get(0), w.Const(1), w.Sub, w.Const(1-other), w.CallIndirect(kind))
		both = append(both, m.Func("", w.Types(w.I32), nil, nil, w.Get(0), w.If, again, again, w.End))
	}
	m.Elements(0, both...)
	return both[0]
}

// running is a call that was begun.
type running struct {
	cancel context.CancelFunc
	ended  chan ending
}

type ending struct {
	at  time.Time
	err error
}

// begin calls run and returns when the guest runs.
func begin(ctx context.Context, module *wasm.Module, lane wasm.Lane) running {
	ctx, cancel := context.WithCancel(ctx)
	r := running{cancel, make(chan ending, 1)}
	runs := make(chan struct{})
	go func() {
		_, err := module.Call(ctx, wasm.Request{Entry: "run", Lane: lane, Session: module.Name(), Operations: announcement(runs)})
		r.ended <- ending{time.Now(), err}
	}()
	select {
	case <-runs:
	case e := <-r.ended: // which stop will report
		r.ended <- e
	}
	return r
}

// announcement is the operation that tells that a guest runs.
type announcement chan struct{}

func (a announcement) Call(context.Context, string, []byte) []byte {
	close(a)
	return nil
}

// stop cancels the call and answers how long it took to return.
func (r running) stop() (time.Duration, error) {
	began := time.Now()
	r.cancel()
	e := <-r.ended
	if wasm.Kind(e.err) != wasm.KindCancelled {
		return 0, e.err
	}
	return e.at.Sub(began), nil
}
