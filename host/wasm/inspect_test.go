package wasm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

const header = "\x00asm\x01\x00\x00\x00"

func TestInspectReadsAModule(t *testing.T) {
	guest := new(Module)
	guest.Operations()
	guest.Import("wasi_snapshot_preview1", "clock_time_get", Types(I32, I64, I32), Types(I32))
	guest.Core().Memory(2, 5)
	guest.Entry("run", Const64(0))
	guest.Custom("plinth.manifest", []byte("schema = 1"))
	info, err := wasm.Inspect(guest.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	want := wasm.Info{
		Size: len(guest.Bytes()), Digest: info.Digest, Functions: 3,
		Imports: []wasm.Import{
			{Module: Host, Name: Ask, Type: "(i32,i32,i32,i32)->(i32)"},
			{Module: Host, Name: Read, Type: "(i32)->()"},
			{Module: "wasi_snapshot_preview1", Name: "clock_time_get", Type: "(i32,i64,i32)->(i32)"},
		},
		Exports: []wasm.Export{
			{Name: "memory", Kind: wasm.KindMemory},
			{Name: Marker, Kind: wasm.KindFunction, Type: "()->()"},
			{Name: Alloc, Kind: wasm.KindFunction, Type: "(i32)->(i32)"},
			{Name: "run", Kind: wasm.KindFunction, Type: "(i32,i32)->(i64)"},
		},
		Memory: wasm.Memory{Min: 2, Max: 5},
	}
	for i := range info.Imports {
		want.Imports[i].Offset = info.Imports[i].Offset
	}
	want.Custom = info.Custom
	if diff := cmp.Diff(want, info); diff != "" {
		t.Error(diff)
	}
	manifest, err := info.Section("plinth.manifest")
	if err != nil || string(manifest) != "schema = 1" {
		t.Errorf("manifest %q, %v", manifest, err)
	}
	if absent, err := info.Section("other"); absent != nil || err != nil {
		t.Errorf("absent section: %q, %v", absent, err)
	}
	if len(info.Digest) != 64 {
		t.Errorf("digest %q", info.Digest)
	}
}

func TestSectionTwice(t *testing.T) {
	guest := new(Module).Core()
	guest.Custom("plinth.manifest", nil)
	guest.Custom("plinth.manifest", []byte("another"))
	info, err := wasm.Inspect(guest.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := info.Section("plinth.manifest"); err == nil {
		t.Error("no error")
	}
}

func section(id byte, content string) string { return string(Section(id, []byte(content))) }

// longLocals is a module with one function of n locals.
func longLocals(n string) string {
	body := "\x01" + n + "\x7f\x0b"
	return header + section(1, "\x01\x60\x00\x00") + section(3, "\x01\x00") + section(5, "\x01\x00\x01") +
		section(10, "\x01"+string(rune(len(body)))+body)
}

func TestInspectRefuses(t *testing.T) {
	tests := []struct{ name, wasm, text string }{
		{"nothing", "", "at byte 0: this is not a WebAssembly module"},
		{"text", "(module)", "this is not a WebAssembly module"},
		{"half a header", header[:6], "at byte 6: the module ends within its header"},
		{"component", "\x00asm\x0d\x00\x01\x00", "this is a component, only core modules are run; build for wasip1"},
		{"version", "\x00asm\x02\x00\x00\x00", "at byte 4: unknown binary version 02 00 00 00"},
		{"no memory", header, "the module defines no memory"},
		{"too large", header + section(0, "\x01x"+strings.Repeat("x", wasm.MaxModuleBytes)), "the limit is 16777216"},
		{"section too long", header + "\x01\x05\x00", "at byte 10: 5 bytes announced, 1 are there"},
		{"bytes left", header + section(1, "\x00\x00"), "at byte 11: 1 bytes too many in section"},
		{"order", header + section(3, "\x00") + section(1, "\x00"), "at byte 11: section 1 is there twice or out of order"},
		{"twice", header + section(1, "\x00") + section(1, "\x00"), "section 1 is there twice"},
		{"tags", header + section(13, "\x00"), "unknown section 13; build without exception handling"},
		{"long number", header + "\x01\x80\x80\x80\x80\x80\x00", "number does not fit 32 bits"},
		{"large number", header + "\x01\xff\xff\xff\xff\x1f", "number does not fit 32 bits"},
		{"type form", header + section(1, "\x01\x5f\x00"), "type form 0x5f is not a function"},
		{"reference type", header + section(1, "\x01\x60\x01\x6f\x00"), "value type 0x6f is not supported"},
		{"many types", header + section(1, "\xff\xff\x03"), "65535 types, the limit is 10000"},
		{"imported memory", header + section(2, "\x01\x03env\x06memory\x02\x00\x01"), "env.memory imports a memory, only functions"},
		{"import of no type", header + section(2, "\x01\x01a\x01b\x00\x00"), "type 0 does not exist"},
		{"name", header + section(2, "\x01\x01\xff\x01b\x00\x00"), "a name is not UTF-8"},
		{"function of no type", header + section(3, "\x01\x07"), "type 7 does not exist"},
		{"table", header + section(4, "\x01\x70\x00\x91\x4e"), "a table of 10001 entries, the limit is 10000"},
		{"table of references", header + section(4, "\x01\x6f\x00\x01"), "table of type 0x6f"},
		{"two tables", header + section(4, "\x02\x70\x00\x01\x70\x00\x01"), "2 tables, the limit is 1"},
		{"two memories", header + section(5, "\x02\x00\x01\x00\x01"), "2 memories, the limit is 1"},
		{"shared memory", header + section(5, "\x01\x03\x01\x02"), "shared memory is not supported; build without threads"},
		{"memory64", header + section(5, "\x01\x04\x01"), "limits flag 0x4: 64-bit memories"},
		{"memory maximum", header + section(5, "\x01\x01\x05\x01"), "the maximum 1 is below the minimum 5"},
		{"memory of 8 GiB", header + section(5, "\x01\x00\x80\x80\x08"), "a memory of 131072 pages"},
		{"globals", header + section(6, "\xff\xff\x7f"), "2097151 globals, the limit is 10000"},
		{"segments", header + section(12, "\xff\xff\xff\x07"), "data segments, the limit is 200000"},
		{"export kind", header + section(7, "\x01\x01a\x04\x00"), `export "a" is of the unknown kind 4`},
		{"export twice", header + section(7, "\x02\x01a\x00\x00\x01a\x00\x00"), `export "a" is there twice`},
		{"export of nothing", header + section(5, "\x01\x00\x01") + section(7, "\x01\x01a\x00\x00"), "names a function that does not exist"},
		{"bodies", header + section(5, "\x01\x00\x01") + section(10, "\x01\x02\x00\x0b"), "0 functions are declared, 1 have bodies"},
		{"locals", longLocals("\x81\x08"), "a function with 1025 locals, the limit is 1024"},
		{"body without end", header + section(10, "\x01\x02\x00\x00"), "does not end with its end"},
		{"long body", header + section(10, "\x01\x81\x80\x40"), "a function of 1048577 bytes, the limit is 1048576; split"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := wasm.Inspect([]byte(test.wasm))
			var refusal *wasm.AdmissionError
			if !errors.As(err, &refusal) || refusal.Stage != wasm.StageParse {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %q", err)
			}
		})
	}
	if _, err := wasm.Inspect([]byte(longLocals("\x80\x08"))); err != nil {
		t.Errorf("1,024 locals: %v", err)
	}
}

// Every cut of a module is refused, or is the module that ends before its custom
// sections.
func TestInspectRefusesEveryCut(t *testing.T) {
	whole := Guest().Bytes()
	required := len(whole) - customBytes(t, whole)
	for n := range required {
		if _, err := wasm.Inspect(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are accepted", n, required)
		}
	}
}

// customBytes is the size of the name section, the last of a guest.
func customBytes(t *testing.T, whole []byte) int {
	t.Helper()
	info, err := wasm.Inspect(whole)
	if err != nil || len(info.Custom) != 1 {
		t.Fatalf("%d custom sections, %v", len(info.Custom), err)
	}
	return len(Section(0, append([]byte("\x04name"), info.Custom[0].Data...)))
}

// checkInspect holds for any bytes: a refusal is typed and points into them, and
// what is accepted the compiler can be asked about without a panic.
func checkInspect(t interface{ Fatalf(string, ...any) }, module []byte) {
	before := slices.Clone(module)
	info, err := wasm.Inspect(module)
	if !slices.Equal(before, module) {
		t.Fatalf("the module was changed")
	}
	if err == nil {
		if len(info.Digest) != 64 || info.Size != len(module) {
			t.Fatalf("accepted with %+v", info)
		}
		return
	}
	var refusal *wasm.AdmissionError
	if !errors.As(err, &refusal) || refusal.Offset < -1 || refusal.Offset > len(module) || refusal.Reason == "" {
		t.Fatalf("refused with %+v", err)
	}
}

func FuzzInspect(f *testing.F) {
	f.Add(Guest().Bytes())
	f.Add([]byte(longLocals("\x80\x08")))
	f.Fuzz(func(t *testing.T, module []byte) { checkInspect(t, module) })
}

// A module with a few bytes changed is refused or runs; it never brings the
// engine down.
func TestChangedModules(t *testing.T) {
	engine := newEngine(t, options())
	whole := Guest().Bytes()
	rapid.Check(t, func(t *rapid.T) {
		module := slices.Clone(whole)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			module[rapid.IntRange(8, len(module)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		checkInspect(t, module)
		loaded, err := engine.Load(context.Background(), wasm.Spec{Name: "changed", Wasm: module, Entries: []string{"echo"}})
		if err != nil {
			if _, ok := errors.AsType[*wasm.AdmissionError](err); !ok {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if err := loaded.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	})
}
