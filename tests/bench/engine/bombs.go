package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// bomb is a module that wants more than it may have, when it is loaded or when
// its entry "run" is called.
type bomb struct {
	name   string
	module func(m *w.Module) string // adds what it needs and answers the code of run
}

func (b bomb) bytes() []byte {
	m := new(w.Module)
	m.Core()
	code := b.module(m)
	m.Entry("run", code, w.Const64(0))
	return m.Bytes()
}

// measureBombs loads and runs every bomb in an engine that compiles in children,
// as the program does, and takes the time until it is refused or ends, and by how
// much this process grew at most.
func measureBombs(ctx context.Context, b *bench) error {
	for _, kind := range []struct {
		name  string
		bombs []bomb
	}{{"bomb", bombs()}, {"bomb_edge", edges()}} {
		var longest, largest float64
		for _, bomb := range kind.bombs {
			took, grew, err := bomb.explode(ctx, b)
			if err != nil {
				return fmt.Errorf("%s: %w", bomb.name, err)
			}
			longest, largest = max(longest, took), max(largest, grew)
		}
		figure("engine."+kind.name+"_ms_max", longest, "ms")
		figure("engine."+kind.name+"_growth_mib_max", largest, "MiB")
	}
	return nil
}

// explode answers the medians of milliseconds and MiB.
func (b bomb) explode(ctx context.Context, shared *bench) (took, grew float64, err error) {
	var times, growths []float64
	var child atomic.Int64
	var outcome error
	module := b.bytes()
	for round := range rounds {
		options := engineOptions(writtenContract())
		options.CacheDir = filepath.Join(shared.folder, "bombs", strings.ReplaceAll(b.name, " ", "-"), fmt.Sprint(round))
		var children []*exec.Cmd
		options.Compiler = func(ctx context.Context) *exec.Cmd {
			children = append(children, compiler(ctx))
			return children[len(children)-1]
		}
		engine, err := wasm.New(options)
		if err != nil {
			return 0, 0, err
		}
		tidyUp()
		before, _, err := resident()
		if err != nil {
			return 0, 0, err
		}
		if err := forgetPeak(); err != nil {
			return 0, 0, err
		}
		began := time.Now()
		outcome = b.ignite(ctx, engine, module)
		times = append(times, milliseconds(time.Since(began)))
		_, most, err := resident()
		if err = errors.Join(err, engine.Close()); err != nil {
			return 0, 0, err
		}
		growths = append(growths, float64(most-before)/mebibyte)
		for _, c := range children {
			if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
				child.Store(max(child.Load(), usage.Maxrss>>10))
			}
		}
	}
	note("%s: %.0f ms, %.1f MiB, child %d MiB, %.120v", b.name, median(times), median(growths), child.Load(), outcome)
	return median(times), median(growths), nil
}

// ignite loads the module and calls it; the error is how that ends.
func (b bomb) ignite(ctx context.Context, engine *wasm.Engine, module []byte) error {
	loaded, err := engine.Load(ctx, wasm.Spec{Name: "bomb", Wasm: module, Entries: []string{"run"}})
	if err != nil {
		return err
	}
	_, err = loaded.Call(ctx, wasm.Request{Entry: "run"})
	return errors.Join(err, loaded.Close())
}

// bombs are beyond a limit.
func bombs() []bomb {
	code := func(code ...string) func(*w.Module) string {
		return func(*w.Module) string { return w.Code(code...) }
	}
	return []bomb{
		{"16,000 locals", func(m *w.Module) string { m.Func("", nil, nil, many(16_000)); return "" }},
		{"blocks 100,000 deep", code(nested(100_000, w.Block))},
		{"br_table of a million", code(w.Block, w.Const(0), w.BrTable(1_000_000), w.End)},
		{"table of 100 million", func(m *w.Module) string { m.Table(100_000_000, 0); return "" }},
		{"table that grows", func(m *w.Module) string {
			m.Table(1, 0)
			return w.Code(w.NullFunc, w.Const(100_000_000), w.TableGrow(), w.Drop)
		}},
		{"memory of 4 GiB", func(m *w.Module) string { m.Memory(65536, 0); return "" }},
		{"memory that grows and is written", code(
			w.Loop, w.Const(1), w.Grow, w.Const(-1), w.Eq, w.Eqz, w.BrIf(0), w.End,
			w.Const(0), w.Const(1), w.Size, w.Const(16), "\x74", w.Fill)}, // i32.shl
		{"recursion", func(m *w.Module) string {
			self := m.Next()
			return w.Call(m.Func("", nil, nil, nil, w.Call(self), w.Call(self)))
		}},
		{"recursion in large frames", func(m *w.Module) string { return w.Call(largeFrames(m)) }},
		{"recursion through a table", func(m *w.Module) string {
			m.Table(1, 1)
			kind := m.Type(nil, nil)
			again := w.Code(w.Const(0), w.CallIndirect(kind))
			m.Elements(0, m.Func("", nil, nil, nil, again, again))
			return again
		}},
	}
}

// edges are within the limits of a module's form, as far as it goes.
func edges() []bomb {
	code := func(code ...string) func(*w.Module) string {
		return func(*w.Module) string { return w.Code(code...) }
	}
	return []bomb{
		{"1,024 locals in loops", func(m *w.Module) string {
			var body strings.Builder
			const loops = 120
			body.WriteString(strings.Repeat(w.Loop, loops))
			for at := range uint32(1024) {
				body.WriteString(w.Code(w.Get(at), w.Get((at+1)%1024), w.Add, w.Set(at)))
			}
			body.WriteString(strings.Repeat(w.Get(0)+w.BrIf(0)+w.End, loops))
			m.Func("", nil, nil, many(1024), body.String())
			return ""
		}},
		{"blocks 9,900 deep", code(nested(9_900, w.Block))},
		{"loops 9,900 deep", code(nested(9_900, w.Loop))},
		{"br_table of 20,000", code(w.Block, w.Const(0), w.BrTable(19_990), w.End)},
		{"br_table through 5,000 blocks", func(*w.Module) string {
			labels := "\x0e" + string(unsigned(5000))
			for at := range uint32(5001) {
				labels += string(unsigned(at))
			}
			return w.Code(strings.Repeat(w.Block, 5001), w.Get(0), labels, strings.Repeat(w.End, 5001))
		}},
		{"a megabyte of additions", code(w.Get(0), strings.Repeat(w.Get(1)+w.Add, 340_000), w.Drop)},
		{"100,000 functions", func(m *w.Module) string {
			for range 99_000 {
				m.Func("", nil, nil, nil)
			}
			return ""
		}},
	}
}

func unsigned(n uint32) []byte {
	var out []byte
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

func many(n int) []byte { return []byte(strings.Repeat(string([]byte{w.I32}), n)) }

func nested(depth int, open string) string {
	return strings.Repeat(open, depth) + strings.Repeat(w.Get(0)+w.BrIf(0)+w.End, depth)
}

// largeFrames calls itself with a thousand values that live over the call.
func largeFrames(m *w.Module) uint32 {
	self := m.Next()
	var before, after strings.Builder
	for at := range uint32(1000) {
		before.WriteString(w.Code(w.Const(int32(at)), w.Load, w.Set(at)))
		after.WriteString(w.Code(w.Const(int32(at)), w.Get(at), w.Store))
	}
	return m.Func("", nil, nil, many(1000), before.String(), w.Call(self), w.Call(self), after.String())
}
