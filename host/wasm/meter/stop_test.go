package meter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/plinthhost/plinth/host/wasm/binary"
	"github.com/plinthhost/plinth/host/wasm/meter"
)

// hostile is a module with ways not to end. Its functions are of type ()->(),
// its memory has 64 pages.
func hostile() *binary.Module {
	constant := func(n uint64) binary.Const { return binary.Const{Op: binary.OpI32Const, Value: n} }
	m := &binary.Module{
		Types:    []binary.FuncType{{}, {Params: []binary.ValueType{binary.I32}}},
		Tables:   []binary.Table{{Type: binary.Funcref, Range: binary.Range{Min: 10_000}}},
		Memories: []binary.Memory{{Range: binary.Range{Min: 64}}},
	}
	size := "\x41\x80\x80\xfc\x01" // i32.const 63 pages
	bodies := []struct{ name, code string }{
		{"loop", "\x03\x40\x0c\x00\x0b"},
		{"loop with a parameter", "\x41\x00\x03\x01\x0c\x00\x0b\x00"},
		{"recursion", "\x41\x00\x04\x40\x0b\x10\x02\x10\x02"},
		{"recursion through a table", "\x41\x00\x11\x00\x00"},
		{"fill", "\x03\x40\x41\x00\x41\x00" + size + "\xfc\x0b\x00\x0c\x00\x0b"},
		{"copy", "\x03\x40\x41\x08\x41\x00" + size + "\xfc\x0a\x00\x00\x0c\x00\x0b"},
		{"copy upwards", "\x03\x40\x41\x00\x41\x08" + size + "\xfc\x0a\x00\x00\x0c\x00\x0b"},
		{"init", "\x03\x40\x41\x00\x41\x00\x41\x80\x80\x10\xfc\x08\x00\x00\x0c\x00\x0b"},
		{"table fill", "\x03\x40\x41\x00\xd0\x70\x41\x90\xce\x00\xfc\x11\x00\x0c\x00\x0b"},
		{"long body", "\x03\x40" + strings.Repeat("\x20\x00\x20\x00\x6c\x21\x00", 50_000) + "\x0c\x00\x0b"},
	}
	for i, body := range bodies {
		m.Functions = append(m.Functions, 0)
		m.Bodies = append(m.Bodies, binary.Body{Locals: []binary.Locals{{Count: 1, Type: binary.I32}}, Code: []byte(body.code + "\x0b")})
		m.Exports = append(m.Exports, binary.Export{Name: body.name, Index: uint32(i)})
	}
	m.Elements = []binary.Element{{Mode: binary.Active, Offset: constant(0), Type: binary.Funcref, Entries: []binary.Entry{{Op: binary.OpRefFunc, Index: 3}}}}
	m.Data = []binary.Data{{Bytes: make([]byte, 1<<18)}}
	m.Facts.MemoryInit = true
	start := uint32(0)
	m.Start = &start
	return m
}

// TestNothingRunsForEver stops every way not to end from within the yield, and
// finds the host's own error again.
func TestNothingRunsForEver(t *testing.T) {
	m := hostile()
	wasm, report, err := meter.Rewrite(m, meter.Options{})
	if err != nil || !report.Start {
		t.Fatalf("%v, %+v", err, report)
	}
	stop := errors.New("budget spent")
	ctx := context.Background()
	names := []string{meter.Start}
	for _, export := range m.Exports {
		names = append(names, export.Name)
	}
	for _, interpreter := range []bool{false, true} {
		s := newSide(t, sideOptions{interpreter: interpreter})
		t.Cleanup(func() { s.close(t) })
		// The quantum is what a thousandth of a second takes at least.
		const quantum = 100_000
		yields := 0
		yield := func(_ context.Context, m api.Module) {
			if yields++; yields > 3 {
				panic(stop)
			}
			m.ExportedGlobal(meter.Counter).(api.MutableGlobal).Set(quantum)
		}
		if _, err := s.runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().WithFunc(yield).Export(meter.Yield).Instantiate(ctx); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			t.Run(fmt.Sprintf("%s, interpreter %t", name, interpreter), func(t *testing.T) {
				instance, err := s.runtime.InstantiateWithConfig(ctx, wasm, moduleConfig())
				if err != nil {
					t.Fatal(err)
				}
				defer instance.Close(ctx)
				yields = 0
				began := time.Now()
				_, err = instance.ExportedFunction(name).Call(ctx)
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("stopped after %s", took)
				}
				switch {
				case errors.Is(err, stop):
				case interpreter && strings.HasPrefix(name, "recursion") && failureKind(err) == "stack overflow": // at 2,000 frames
				default:
					t.Errorf("ended with %v", err)
				}
			})
		}
	}
}

// bulkModule has one function for each bulk operation on memory, (to, from or
// value, size) -> (), and a memory of 20 pages in which byte i is i*7 mod 251.
func bulkModule() *binary.Module {
	params := []binary.ValueType{binary.I32, binary.I32, binary.I32}
	m := &binary.Module{
		Types:    []binary.FuncType{{Params: params}},
		Memories: []binary.Memory{{Range: binary.Range{Min: 20}}},
		Data: []binary.Data{
			{Mode: binary.Active, Offset: binary.Const{Op: binary.OpI32Const}, Bytes: pattern(20 << 16)}, {Bytes: pattern(200_000)},
		},
		Functions: []uint32{0, 0, 0, 0},
	}
	m.Facts.MemoryInit = true
	args := "\x20\x00\x20\x01\x20\x02"
	for i, code := range []string{args + "\xfc\x0a\x00\x00", args + "\xfc\x0b\x00", args + "\xfc\x08\x01\x00", "\xfc\x09\x01"} {
		m.Bodies = append(m.Bodies, binary.Body{Code: []byte(code + "\x0b")})
		m.Exports = append(m.Exports, binary.Export{Name: []string{"copy", "fill", "init", "drop"}[i], Index: uint32(i)})
	}
	return m
}

func pattern(n int) []byte {
	content := make([]byte, n)
	for i := range content {
		content[i] = byte(i * 7 % 251)
	}
	return content
}

// TestBulkInPieces compares bulk operations that are done in pieces with Go's
// copy: overlapping both ways, at the edges of pieces, and out of bounds, where
// nothing may be written. They are charged by their size.
func TestBulkInPieces(t *testing.T) {
	const memory = 20 << 16
	sizes := []int{0, 1, 1023, 1024, 1025, 65535, 65536, 65537, 131072, 200_000, 200_001, 1_000_000, memory}
	wasm := bulkModule().Encode()
	for _, interpreter := range []bool{false, true} {
		s := newSide(t, sideOptions{form: metered, quantum: 1_000, interpreter: interpreter})
		t.Cleanup(func() { s.close(t) })
		for _, name := range []string{"copy", "fill", "init"} {
			m, err := s.instantiate("", wasm)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range sizes {
				for _, places := range [][2]int{{0, 0}, {0, 70_000}, {70_000, 0}, {100, 0}, {0, 100}, {memory - size, 0}, {0, max(0, 200_000-size)}, {memory - size + 1, 0}, {0, memory - size + 1}} {
					checkBulk(t, s, m, name, places[0], places[1], size)
				}
			}
		}
		dropped, err := s.instantiate("", wasm)
		if err != nil {
			t.Fatal(err)
		}
		s.call(dropped, "drop", []uint64{0, 0, 0})
		for size, want := range map[uint64]string{0: "", 100: "out of bounds memory access", 100_000: "out of bounds memory access"} {
			if _, o := s.call(dropped, "init", []uint64{0, 0, size}); o.failure != want {
				t.Errorf("init of %d bytes of a dropped segment: %q", size, o.failure)
			}
		}
	}
}

func checkBulk(t *testing.T, s *side, m api.Module, name string, to, from, size int) {
	t.Helper()
	view, _ := m.Memory().Read(0, m.Memory().Size())
	want := slices.Clone(view)
	bounds := to+size <= len(want)
	switch name {
	case "copy":
		if bounds = bounds && from+size <= len(want); bounds {
			copy(want[to:to+size], want[from:from+size])
		}
	case "fill":
		if bounds {
			copy(want[to:], bytes.Repeat([]byte{byte(from)}, size))
		}
	case "init":
		segment := pattern(200_000)
		if bounds = bounds && from+size <= len(segment); bounds {
			copy(want[to:], segment[from:from+size])
		}
	}
	_, o := s.call(m, name, []uint64{uint64(to), uint64(from), uint64(size)})
	if (o.failure == "") != bounds || o.failure != "" && o.failure != "out of bounds memory access" {
		t.Errorf("%s %d, %d, %d: %q", name, to, from, size, o.failure)
	}
	if !bytes.Equal(view, want) {
		t.Errorf("%s %d, %d, %d: the memory differs", name, to, from, size)
		copy(view, want)
	}
	if least := int64(size / 16); bounds && size > 1024 && (o.fuel < least || o.fuel > least+least/10+10) {
		t.Errorf("%s of %d bytes: %d units", name, size, o.fuel)
	}
}

// A host that sets the counter and the globals puts them where the guest finds
// them, in the middle of a call too.
func TestGlobalsAreSetFromOutside(t *testing.T) {
	m := &binary.Module{
		Types: []binary.FuncType{{Results: []binary.ValueType{binary.I32, binary.F64}}},
		Globals: []binary.Global{
			{GlobalType: binary.GlobalType{Type: binary.I32, Mutable: true}, Init: binary.Const{Op: binary.OpI32Const, Value: 5}},
			{GlobalType: binary.GlobalType{Type: binary.F64, Mutable: true}, Init: binary.Const{Op: binary.OpF64Const}},
		},
		Functions: []uint32{0},
		// Adds one to the global and gives both.
		Bodies:  []binary.Body{{Code: []byte("\x23\x00\x41\x01\x6a\x24\x00\x23\x00\x23\x01\x0b")}},
		Exports: []binary.Export{{Name: "next"}},
	}
	wasm, report, err := meter.Rewrite(m, meter.Options{})
	if err != nil || len(report.Globals) != 2 || len(report.Unrestorable) != 0 {
		t.Fatalf("%v, %+v", err, report)
	}
	s := newSide(t, sideOptions{quantum: 1})
	t.Cleanup(func() { s.close(t) })
	instance, err := s.instantiateTreated("", wasm, false)
	if err != nil {
		t.Fatal(err)
	}
	var snapshot []uint64
	for _, g := range report.Globals {
		snapshot = append(snapshot, instance.ExportedGlobal(g.Name).Get())
	}
	for range 3 {
		for i, g := range report.Globals {
			instance.ExportedGlobal(g.Name).(api.MutableGlobal).Set(snapshot[i])
		}
		if _, o := s.call(instance, "next", nil); o.results != "[6 0]" {
			t.Errorf("got %s", o.results)
		}
	}
}

// A trap names the functions as the original does.
func TestTracesHaveTheRightNames(t *testing.T) {
	m := &binary.Module{
		Types: []binary.FuncType{{}}, Functions: []uint32{0, 0},
		Bodies:  []binary.Body{{Code: []byte("\x10\x01\x0b")}, {Code: []byte("\x00\x0b")}},
		Exports: []binary.Export{{Name: "outer"}},
		Names:   &binary.Names{Functions: []binary.Name{{Index: 0, Name: "outer"}, {Index: 1, Name: "inner"}}},
	}
	traces := make(map[string]string)
	for name, treat := range map[string]form{"original": asWritten, "metered": metered} {
		s := newSide(t, sideOptions{form: treat, quantum: 1})
		t.Cleanup(func() { s.close(t) })
		wasm, start, err := treat(m.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if name == "original" {
			s.quantum = 0
		}
		instance, err := s.instantiateTreated("", wasm, start)
		if err != nil {
			t.Fatal(err)
		}
		_, err = instance.ExportedFunction("outer").Call(context.Background())
		traces[name] = err.Error()
	}
	if traces["original"] != traces["metered"] || !strings.Contains(traces["metered"], ".inner()\n\t.outer()") {
		t.Errorf("%q, want %q", traces["metered"], traces["original"])
	}
}
