package main

import (
	"strings"

	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// plain is the module of a bomb that is nothing but its code.
func plain(code ...string) func(*w.Module) string {
	return func(*w.Module) string { return w.Code(code...) }
}

// bombs are beyond a limit, of a module's form or of a call.
func bombs() []bomb {
	const shiftLeft = "\x74"
	return []bomb{
		{"16,000 locals", func(m *w.Module) string { m.Func("", nil, nil, locals(16_000)); return "" }},
		{"blocks 100,000 deep", plain(nested(100_000, w.Block))},
		{"br_table of a million", plain(w.Block, w.Const(0), w.BrTable(1_000_000), w.End)},
		{"table of 100 million", func(m *w.Module) string { m.Table(100_000_000, 0); return "" }},
		{"table that grows", func(m *w.Module) string {
			m.Table(1, 0)
			return w.Code(w.NullFunc, w.Const(100_000_000), w.TableGrow(), w.Drop)
		}},
		{"memory of 4 GiB", func(m *w.Module) string { m.Memory(65536, 0); return "" }},
		{"memory that grows and is written", plain(
			w.Loop, w.Const(1), w.Grow, w.Const(-1), w.Eq, w.Eqz, w.BrIf(0), w.End,
			w.Const(0), w.Const(1), w.Size, w.Const(16), shiftLeft, w.Fill)},
		{"recursion", func(m *w.Module) string {
			self := m.Next()
			return w.Call(m.Func("", nil, nil, nil, w.Call(self), w.Call(self)))
		}},
		{"recursion in large frames", func(m *w.Module) string { return w.Call(largeFrames(m)) }},
		{"recursion through a table", func(m *w.Module) string {
			m.Table(1, 1)
			again := w.Code(w.Const(0), w.CallIndirect(m.Type(nil, nil)))
			m.Elements(0, m.Func("", nil, nil, nil, again, again))
			return again
		}},
	}
}

// edges keep to the limits of a module's form, as far as these go.
func edges() []bomb {
	return []bomb{
		{"1,024 locals in loops", func(m *w.Module) string {
			const count, loops = 1024, 120
			var body strings.Builder
			body.WriteString(strings.Repeat(w.Loop, loops))
			for at := range uint32(count) {
				body.WriteString(w.Code(w.Get(at), w.Get((at+1)%count), w.Add, w.Set(at)))
			}
			body.WriteString(strings.Repeat(w.Get(0)+w.BrIf(0)+w.End, loops))
			m.Func("", nil, nil, locals(count), body.String())
			return ""
		}},
		{"blocks 9,900 deep", plain(nested(9_900, w.Block))},
		{"loops 9,900 deep", plain(nested(9_900, w.Loop))},
		{"br_table of 20,000", plain(w.Block, w.Const(0), w.BrTable(19_990), w.End)},
		{"a megabyte of additions", plain(w.Get(0), strings.Repeat(w.Get(1)+w.Add, 340_000), w.Drop)},
		{"99,000 functions", func(m *w.Module) string {
			for range 99_000 {
				m.Func("", nil, nil, nil)
			}
			return ""
		}},
	}
}

func locals(n int) []byte { return []byte(strings.Repeat(string([]byte{w.I32}), n)) }

func nested(depth int, open string) string {
	return strings.Repeat(open, depth) + strings.Repeat(w.Get(0)+w.BrIf(0)+w.End, depth)
}

// largeFrames calls itself with a thousand values that live over the call.
func largeFrames(m *w.Module) uint32 {
	const values = 1000
	self := m.Next()
	var before, after strings.Builder
	for at := range uint32(values) {
		before.WriteString(w.Code(w.Const(int32(at)), w.Load, w.Set(at)))
		after.WriteString(w.Code(w.Const(int32(at)), w.Get(at), w.Store))
	}
	return m.Func("", nil, nil, locals(values), before.String(), w.Call(self), w.Call(self), after.String())
}
