package binary_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/host/wasm/binary"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// specification answers the modules of the specification's tests, which the
// wazero module carries: valid, invalid and malformed ones.
func specification(t testing.TB) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatalf("find the wazero module: %v", err)
	}
	folder := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest", "v2", "testdata")
	files, err := filepath.Glob(filepath.Join(folder, "*.wasm"))
	if err != nil || len(files) < 4_000 {
		t.Fatalf("%d modules in %s, %v", len(files), folder, err)
	}
	return files
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkDecode holds for any bytes: they are refused with a place within them, or
// give a module that is written in a form that gives the same module and is
// written the same.
func checkDecode(t failer, wasm []byte, limits binary.Limits) (decoded bool) {
	t.Helper()
	before := bytes.Clone(wasm)
	m, err := binary.Decode(wasm, limits)
	if !bytes.Equal(before, wasm) {
		t.Fatalf("the bytes were changed")
	}
	if err != nil {
		refused, ok := err.(*binary.Error)
		if !ok || refused.Offset < 0 || refused.Offset > len(wasm) || refused.Section == "" || refused.Reason == "" {
			t.Fatalf("refused with %#v", err)
		}
		return false
	}
	encoded := m.Encode()
	again, err := binary.Decode(encoded, limits)
	if err != nil {
		t.Fatalf("what was encoded is refused: %v", err)
	}
	for _, x := range []*binary.Module{m, again} {
		for i := range x.Imports {
			x.Imports[i].Offset = 0
		}
	}
	if d := diff(m, again); d != "" {
		t.Fatalf("%s", d)
	}
	if !bytes.Equal(encoded, again.Encode()) {
		t.Fatalf("two encodings")
	}
	if len(encoded) > len(wasm) {
		t.Fatalf("%d bytes became %d", len(wasm), len(encoded))
	}
	for _, body := range m.Bodies {
		checkInstructions(t, body)
	}
	return true
}

// checkInstructions demands that the list covers the code, block by block.
func checkInstructions(t failer, body binary.Body) {
	t.Helper()
	list := body.Instructions(nil)
	depth, last := 1, -1
	for i, instr := range list {
		if int(instr.At) <= last || depth == 0 {
			t.Fatalf("instruction %d at %d follows one at %d, %d blocks deep", i, instr.At, last, depth)
		}
		last = int(instr.At)
		switch instr.Op {
		case binary.OpBlock, binary.OpLoop, binary.OpIf:
			depth++
		case binary.OpEnd:
			depth--
		case binary.OpBrTable:
			labels := body.Labels(instr, nil)
			if len(labels) != int(instr.X) {
				t.Fatalf("%d labels, want %d", len(labels), instr.X)
			}
		}
	}
	if depth != 0 || last != len(body.Code)-1 {
		t.Fatalf("the last of %d bytes is at %d, %d blocks deep", len(body.Code), last, depth)
	}
}

func looseLimits() binary.Limits {
	limits := binary.DefaultLimits()
	limits.MemoryPages, limits.TableEntries, limits.UnboundedTables, limits.Locals = 65_536, 1<<32-1, true, 2_000
	return limits
}

func TestModulesOfTheSpecification(t *testing.T) {
	decoded := 0
	for _, file := range specification(t) {
		wasm, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if checkDecode(t, wasm, looseLimits()) {
			decoded++
		}
	}
	t.Logf("%d modules", decoded)
	if decoded < 3_000 {
		t.Errorf("only %d modules were decoded", decoded)
	}
}

func TestGuestsOfCompilers(t *testing.T) {
	files, err := filepath.Glob("../../../plugins/builtin/dist/*.wasm")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d modules, %v", len(files), err)
	}
	for _, file := range files {
		wasm, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !checkDecode(t, wasm, binary.DefaultLimits()) {
			t.Errorf("%s is refused", file)
		}
	}
}

// Changed bytes of a sound module are refused or make another sound module.
func TestChangedModules(t *testing.T) {
	whole := []byte(around("\x02\x7f\x41\x01\x0b\x1a\x03\x40\x41\x00\x0d\x00\x0b\xfd\x0c0123456789abcdef\x1a\x0b"))
	rapid.Check(t, func(t *rapid.T) {
		wasm := bytes.Clone(whole)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			wasm[rapid.IntRange(8, len(wasm)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		checkDecode(t, wasm, binary.DefaultLimits())
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(around("\x0b")), false)
	f.Add(wasmtest.Guest().Bytes(), false)
	for i, file := range specification(f) {
		if i%31 != 0 {
			continue
		}
		wasm, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(wasm) < 4096 {
			f.Add(wasm, true)
		}
	}
	f.Fuzz(func(t *testing.T, wasm []byte, loose bool) {
		limits := binary.DefaultLimits()
		if loose {
			limits = looseLimits()
		}
		checkDecode(t, wasm, limits)
	})
}

// Numbers and instructions are written anew: no byte of what was read gets
// through, however it was written.
func TestCodeIsWrittenAnew(t *testing.T) {
	tests := []struct{ name, written, canonical string }{
		{"index", "\x20\x81\x80\x80\x80\x00\x1a", "\x20\x01\x1a"},
		{"i32", "\x41\xff\xff\xff\xff\x7f\x1a", "\x41\x7f\x1a"},
		{"least i32", "\x41\x80\x80\x80\x80\x78\x1a", "\x41\x80\x80\x80\x80\x78\x1a"},
		{"i64", "\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00\x1a", "\x42\x00\x1a"},
		{"least i64", "\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f\x1a", "\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f\x1a"},
		{"address", "\x41\x00\x28\x82\x00\xff\x80\x00\x1a", "\x41\x00\x28\x02\x7f\x1a"},
		{"block type", "\x02\x80\x80\x80\x80\x00\x0b", "\x02\x00\x0b"},
		{"label", "\x0c\x80\x00", "\x0c\x00"},
		{"br_table", "\x41\x00\x0e\x81\x00\x80\x00\x80\x00", "\x41\x00\x0e\x01\x00\x00"},
		{"bulk", "\x00\xfc\x8b\x80\x00\x00", "\x00\xfc\x0b\x00"},
		{"select", "\x00\x1c\x81\x00\x7f", "\x00\x1c\x01\x7f"},
		{"call_indirect", "\x00\x11\x80\x00\x80\x00", "\x00\x11\x00\x00"},
		// The compiler reads one byte behind 0xfd, and would take these for
		// i16x8.shr_s and for v128.load8x8_s.
		{"vector constant", "\xfd\x8c\x000123456789abcdef\x1a", "\xfd\x0c0123456789abcdef\x1a"},
		{"vector load", "\x00\xfd\x81\x00\x00\x00", "\x00\xfd\x01\x00\x00"},
		{"vector instruction above 0x7f", "\x00\xfd\x8c\x81\x00", "\x00\xfd\x8c\x01"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := decode(t, around(test.written+"\x0b"))
			if got := string(m.Bodies[0].Code); got != test.canonical+"\x0b" {
				t.Errorf("got %x, want %x", got, test.canonical)
			}
		})
	}
}

func TestLocalsAreJoined(t *testing.T) {
	wasm := header + section(1, vector("\x60\x00\x00")) + section(3, vector("\x00", "\x00")) +
		section(10, vector(sized("\x05\x01\x7f\x00\x7e\x02\x7f\x01\x7e\x00\x7b\x0b"), sized("\x02\x01\x7e\x01\x7f\x0b")))
	bodies := decode(t, wasm).Bodies
	want := [][]binary.Locals{
		{{Count: 3, Type: binary.I32}, {Count: 1, Type: binary.I64}},
		{{Count: 1, Type: binary.I64}, {Count: 1, Type: binary.I32}},
	}
	for i, groups := range want {
		if len(bodies[i].Locals) != len(groups) || bodies[i].Locals[0] != groups[0] || bodies[i].Locals[1] != groups[1] {
			t.Errorf("got %v, want %v", bodies[i].Locals, groups)
		}
	}
}

// Whatever is wrong with a name section, the module is taken and has no names.
func TestMalformedNamesAreDropped(t *testing.T) {
	function := section(1, vector("\x60\x00\x00")) + section(3, vector("\x00", "\x00"))
	code := section(10, vector(sized("\x00\x0b"), sized("\x00\x0b")))
	tests := []struct{ name, content string }{
		{"nothing", ""},
		{"subsection that is cut", "\x01\x05\x00"},
		{"order of subsections", section(1, vector("\x00\x01f")) + section(0, sized("m"))},
		{"subsection twice", section(1, vector("\x00\x01f")) + section(1, vector("\x00\x01f"))},
		{"function that is not there", section(1, vector("\x02\x01f"))},
		{"order of functions", section(1, vector("\x01\x01f", "\x00\x01g"))},
		{"function twice", section(1, vector("\x01\x01f", "\x01\x01g"))},
		{"not UTF-8", section(1, vector("\x00\x01\xff"))},
		{"module not UTF-8", section(0, sized("\xff"))},
		{"bytes left", section(1, vector("\x00\x01f"), "x")},
		{"name that is cut", section(1, "\x01\x00\x05f")},
		{"names that are not there", section(1, "\x02\x00\x01f")},
		{"long name", section(1, vector("\x00"+sized(strings.Repeat("x", 65<<10))))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wasm := header + function + code + section(0, "\x04name", test.content)
			if m := decode(t, wasm); m.Names != nil || len(m.Customs) != 0 {
				t.Errorf("got %+v, %v", m.Names, m.Customs)
			}
		})
	}
	good := section(0, "\x04name", section(0, sized("m")), section(1, vector("\x01\x01f")), section(2, "junk"), section(9, "more"))
	for place, wasm := range map[string]string{"behind": header + function + code + good, "before": header + good + function + code} {
		m := decode(t, wasm)
		if m.Names == nil || m.Names.Module != "m" || len(m.Names.Functions) != 1 || m.Names.Functions[0] != (binary.Name{Index: 1, Name: "f"}) {
			t.Errorf("%s: got %+v", place, m.Names)
		}
	}
	twice := decode(t, header+function+code+good+section(0, "\x04name", section(0, sized("other"))))
	if twice.Names.Module != "m" {
		t.Errorf("got %+v", twice.Names)
	}
}

func TestFacts(t *testing.T) {
	tests := []struct {
		name, body string
		facts      binary.Facts
		why        string
	}{
		{"nothing", "", binary.Facts{}, ""},
		{"reading tables", "\x41\x00\x25\x00\x1a\xfc\x10\x00\x1a", binary.Facts{}, ""},
		{"table.set", "\x00\x26\x00", binary.Facts{TableSet: true}, "table.set"},
		{"table.grow", "\x00\xfc\x0f\x00", binary.Facts{TableGrow: true}, "table.grow"},
		{"table.fill", "\x00\xfc\x11\x00", binary.Facts{TableFill: true}, "table.fill"},
		{"table.copy", "\x00\xfc\x0e\x00\x00", binary.Facts{TableCopy: true}, "table.copy"},
		{"table.init", "\x00\xfc\x0c\x00\x00", binary.Facts{TableInit: true}, "table.init"},
		{"elem.drop", "\xfc\x0d\x00", binary.Facts{ElemDrop: true}, "elem.drop"},
		{"data.drop", "\xfc\x09\x00", binary.Facts{DataDrop: true}, "data.drop"},
		{"memory.init", "\x00\xfc\x08\x00\x00", binary.Facts{MemoryInit: true}, ""},
		{"bulk of memory", "\x00\xfc\x0a\x00\x00\xfc\x0b\x00", binary.Facts{}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := decode(t, around(test.body+"\x0b"))
			if m.Facts != test.facts || strings.Join(m.Unrestorable(), ",") != test.why {
				t.Errorf("got %+v, %v", m.Facts, m.Unrestorable())
			}
			if data, elements := m.PassiveSegments(); data != 1 || elements != 1 {
				t.Errorf("%d data and %d element segments are passive", data, elements)
			}
		})
	}
	globals := decode(t, header+section(2, vector("\x01a\x01b\x03\x6f\x01"))+section(6, vector(
		"\x7b\x01\xfd\x0c0123456789abcdef\x0b", "\x7b\x01\xfd\x0c0123456789abcdef\x0b", "\x70\x00\xd0\x70\x0b", "\x7f\x01\x41\x00\x0b")))
	want := "mutable global of type externref,mutable global of type v128"
	if got := strings.Join(globals.Unrestorable(), ","); got != want {
		t.Errorf("got %s", got)
	}
}

// The number an instruction carries is the one Instr says.
func TestInstructionOperands(t *testing.T) {
	body := "\x02\x40\x03\x01\x04\x7f\x05\x0b\x0b\x41\x85\x7f\x0d\x01\x0e\x02\x00\x01\x00\x0b\x10\x00\xd2\x00\x42\x81\x01\x20\x01" +
		"\xfc\x08\x00\x00\xfc\x09\x00\xfc\x0c\x00\x01\xfc\x0d\x00\xfd\x54\x00\x81\x01\x01\x0b"
	m := decode(t, around(body))
	want := []binary.Instr{
		{Op: binary.OpBlock, X: uint32(1<<32 - 64)}, {Op: binary.OpLoop, X: 1}, {Op: binary.OpIf, X: 1<<32 - 1},
		{Op: binary.OpElse}, {Op: binary.OpEnd}, {Op: binary.OpEnd},
		{Op: binary.OpI32Const, X: uint32(1<<32 - 123)}, {Op: binary.OpBrIf, X: 1}, {Op: binary.OpBrTable, X: 3}, {Op: binary.OpEnd},
		{Op: binary.OpCall}, {Op: binary.OpRefFunc}, {Op: binary.OpI64Const}, {Op: binary.OpLocalGet},
		{Op: binary.OpMemoryInit}, {Op: binary.OpDataDrop}, {Op: binary.OpTableInit}, {Op: binary.OpElemDrop}, {Op: 0xfd54},
		{Op: binary.OpEnd},
	}
	got := m.Bodies[0].Instructions(nil)
	if len(got) != len(want) {
		t.Fatalf("%d instructions, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].Op != want[i].Op || got[i].X != want[i].X {
			t.Errorf("instruction %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}
