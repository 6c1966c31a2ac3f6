package wasm_test

import (
	"context"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// each runs a benchmark in every isolation.
func each(b *testing.B, spec wasm.Spec, run func(b *testing.B, module *wasm.Module)) {
	b.Helper()
	for _, isolation := range []wasm.Isolation{wasm.Sticky, wasm.Restore, wasm.Fresh} {
		b.Run(string(isolation), func(b *testing.B) {
			spec.Isolation = isolation
			module := load(b, spec)
			b.ReportAllocs()
			run(b, module)
		})
	}
}

// BenchmarkEmptyCall is what a call costs besides the guest's own work.
func BenchmarkEmptyCall(b *testing.B) {
	each(b, wasm.Spec{}, func(b *testing.B, module *wasm.Module) {
		input := make([]byte, 200)
		for b.Loop() {
			if _, err := module.Call(context.Background(), wasm.Request{Entry: "echo", Input: input}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOperation is a call with one host operation.
func BenchmarkOperation(b *testing.B) {
	spec := wasm.Spec{Wasm: asker().Bytes(), Entries: []string{"ask"}}
	each(b, spec, func(b *testing.B, module *wasm.Module) {
		for b.Loop() {
			if _, err := module.Call(context.Background(), wasm.Request{Entry: "ask", Input: []byte("x"), Operations: operations(echo)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTurnOf50Frames is the decoding of a model's answer, one call per
// frame, by a guest that looks at every byte some times, as a parser does.
func BenchmarkTurnOf50Frames(b *testing.B) {
	frame := `{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":null}]}` + strings.Repeat(" ", 60)
	guest := new(Module).Core()
	// For each byte: 16 rounds of sum = sum*31 + byte.
	guest.Entry("scan",
		Loop,
		Const(16), Set(3),
		Loop,
		Get(2), Const(31), Mul, Get(0), Load8, Add, Set(2),
		Get(3), Const(1), Sub, "\x22\x03", BrIf(0), // local.tee 3
		End,
		Get(0), Const(1), Add, Set(0),
		Get(1), Const(1), Sub, "\x22\x01", BrIf(0), // local.tee 1
		End,
		Const(Room), Get(2), Store, Answer(Const(Room), Const(4)))
	spec := wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"scan"}}
	each(b, spec, func(b *testing.B, module *wasm.Module) {
		for b.Loop() {
			for range 50 {
				if _, err := module.Call(context.Background(), wasm.Request{Entry: "scan", Input: []byte(frame)}); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkTurnOf50FramesGo is the same by a guest of the Go toolchain that splits
// each frame into words, with all that its allocator does.
func BenchmarkTurnOf50FramesGo(b *testing.B) {
	frame := []byte(strings.Repeat("data: of a frame that is split\n", 5))
	each(b, goGuest(b), func(b *testing.B, module *wasm.Module) {
		for b.Loop() {
			for range 50 {
				if _, err := module.Call(context.Background(), wasm.Request{Entry: "frames", Input: frame}); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
