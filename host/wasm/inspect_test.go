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
			{Module: Host, Name: Ask, Kind: wasm.KindFunction, Type: "(i32,i32,i32,i32)->(i32)"},
			{Module: Host, Name: Read, Kind: wasm.KindFunction, Type: "(i32)->()"},
			{Module: "wasi_snapshot_preview1", Name: "clock_time_get", Kind: wasm.KindFunction, Type: "(i32,i64,i32)->(i32)"},
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
	manifest, err := wasm.Section(guest.Bytes(), "plinth.manifest")
	if err != nil || string(manifest) != "schema = 1" {
		t.Errorf("manifest %q, %v", manifest, err)
	}
	if absent, err := wasm.Section(guest.Bytes(), "other"); absent != nil || err != nil {
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
	if _, err := wasm.Section(guest.Bytes(), "plinth.manifest"); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("got %v", err)
	}
}

func TestSectionOfWhatIsNoModule(t *testing.T) {
	for module, text := range map[string]string{
		"":                      "not a WebAssembly module",
		"#!/bin/sh":             "not a WebAssembly module",
		header + "\x01\x05\x00": "at byte 8: a section ends behind the module",
		header + "\x00":         "at byte 8",
	} {
		if _, err := wasm.Section([]byte(module), "x"); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", module, err)
		}
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
	// The decoder's own tests have the rest; here is one of each sort.
	tests := []struct{ name, wasm, text string }{
		{"nothing", "", "parse at byte 0: this is not a WebAssembly module"},
		{"half a header", header[:6], "parse at byte 6: the module ends within its header"},
		{"component", "\x00asm\x0d\x00\x01\x00", "this is a component, only core modules are run; build for wasip1"},
		{"too large", header + section(11, strings.Repeat("x", wasm.MaxModuleBytes)), "the module has 16777229 bytes, the limit is 16777216"},
		{"a file too large", header + section(0, "\x01x"+strings.Repeat("x", wasm.MaxFileBytes)), "the limit is 25165824"},
		{"only its custom sections are large", header + section(0, "\x01x"+strings.Repeat("x", wasm.MaxModuleBytes)) + section(5, "\x01\x03\x01\x02"), "threads"},
		{"section too long", header + "\x01\x05\x00", "parse at byte 10: 5 bytes announced, 1 are there (type)"},
		{"proposal", header + section(5, "\x01\x03\x01\x02"), "threads"},
		{"limit", longLocals("\x81\x08"), "1025 locals in a function, the limit is 1024 (code, function 0); split"},
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
