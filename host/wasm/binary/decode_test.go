package binary_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm/binary"
)

func TestMalformedModules(t *testing.T) {
	const (
		types  = "\x60\x00\x00"
		memory = "\x05\x03\x01\x00\x01"
	)
	function := section(1, vector(types)) + section(3, vector("\x00"))
	tests := []struct{ name, wasm, text string }{
		{"nothing", "", "byte 0: this is not a WebAssembly module; give the .wasm file"},
		{"text", "(module)", "this is not a WebAssembly module"},
		{"half a header", header[:6], "byte 6: the module ends within its header"},
		{"version", "\x00asm\x02\x00\x00\x00", "byte 4: unknown binary version 02 00 00 00"},
		{"unknown section", header + section(14), "module section at byte 8: unknown section 14"},
		{"no size", header + "\x01", "module section at byte 9: unexpected end"},
		{"section too long", header + "\x01\x05\x00", "type section at byte 10: 5 bytes announced, 1 are there"},
		{"bytes left", header + section(1, "\x00\x00"), "type section at byte 11: 1 bytes too many in the section"},
		{"order", header + section(3, "\x00") + section(1, "\x00"), "at byte 11: section 1 is there twice or out of order"},
		{"twice", header + section(1, "\x00") + section(1, "\x00"), "section 1 is there twice"},
		{"data count behind the code", header + section(10, "\x00") + section(12, "\x00"), "section 12 is there twice or out of order"},
		{"long number", header + "\x01\x80\x80\x80\x80\x80\x00", "number does not fit 32 bits"},
		{"large number", header + "\x01\xff\xff\xff\xff\x1f", "number does not fit 32 bits"},
		{"type form", header + section(1, "\x01\x40\x00\x00"), "type form 0x40 is unknown"},
		{"value type", header + section(1, "\x01\x60\x01\x40\x00"), "value type 0x40 is unknown"},
		{"types that are not there", header + section(1, "\x7f"), "127 types announced, 0 bytes are there"},
		{"import of no type", header + section(2, "\x01\x01a\x01b\x00\x00"), "type 0 does not exist"},
		{"import kind", header + section(2, "\x01\x01a\x01b\x05\x00"), "import of a.b is of the unknown kind 5"},
		{"name", header + section(2, "\x01\x01\xff\x01b\x00\x00"), "import section at byte 11: a name is not UTF-8"},
		{"function of no type", header + section(3, "\x01\x07"), "type 7 does not exist"},
		{"table type", header + section(4, "\x01\x7f\x00\x01"), "reference type 0x7f is unknown"},
		{"limits flag", header + section(5, "\x01\x10\x01"), "unknown limits flag 0x10"},
		{"memory maximum", header + section(5, "\x01\x01\x05\x01"), "the most size 1 of a memory is below the least size 5"},
		{"memory of 8 GiB", header + section(5, "\x01\x00\x80\x80\x08"), "a memory of 131072, 32 bits reach 65536"},
		{"memory up to 8 GiB", header + section(5, "\x01\x01\x01\x80\x80\x08"), "a memory of 131072, 32 bits reach 65536"},
		{"mutability", header + section(6, "\x01\x7f\x04\x41\x00\x0b"), "unknown mutability 0x4"},
		{"global of another type", header + section(6, "\x01\x7e\x00\x41\x00\x0b"), "a constant expression of type i32 where one of i64"},
		{"global of a call", header + section(6, "\x01\x7f\x00\x10\x00\x0b"), "instruction 0x10 is not constant"},
		{"global of a vector sum", header + section(6, "\x01\x7b\x00\xfd\xae\x01\x0b"), "instruction 0xfd 0xae is not constant"},
		{"global of itself", header + section(6, "\x01\x7f\x00\x23\x00\x0b"), "global 0 does not exist"},
		{"global of one before", header + section(6, "\x02\x7f\x00\x41\x00\x0b\x7f\x00\x23\x00\x0b"), "global 0 does not exist"},
		{"global of no function", header + section(6, "\x01\x70\x00\xd2\x00\x0b"), "function 0 does not exist"},
		{"global without end", header + section(6, "\x01\x7f\x00\x41\x00\x05"), "instruction 0x5 is not constant"},
		{"export kind", header + section(7, "\x01\x01a\x05\x00"), `export "a" is of the unknown kind 5`},
		{"export twice", header + memory + section(7, "\x02\x01a\x02\x00\x01a\x02\x00"), `export "a" is there twice`},
		{"export of nothing", header + section(7, "\x01\x01a\x00\x00"), `export "a": function 0 does not exist`},
		{"long name in an error", header + section(7, "\x01", sized(strings.Repeat("a", 100)), "\x00\x00"), `"` + strings.Repeat("a", 64) + `..."`},
		{"start of nothing", header + section(8, "\x00"), "start section at byte 10: function 0 does not exist"},
		{"start with parameters", header + section(1, vector("\x60\x01\x7f\x00")) + section(3, vector("\x00")) + section(8, "\x00"),
			"the start function 0 is of type (i32)->(), it takes and gives nothing"},
		{"element flag", header + section(9, "\x01\x08"), "unknown flag 0x8 of an element segment"},
		{"element without table", header + section(9, "\x01\x00\x41\x00\x0b\x00"), "table 0 does not exist"},
		{"element of another table", header + section(4, "\x01\x70\x00\x01") + section(9, "\x01\x02\x01\x41\x00\x0b\x00\x00"), "table 1 does not exist"},
		{"element of another type", header + section(4, "\x01\x6f\x00\x01") + section(9, "\x01\x00\x41\x00\x0b\x00"),
			"an element segment of type funcref for table 0 of type externref"},
		{"element kind", header + section(9, "\x01\x01\x01\x00"), "unknown kind 0x1 of an element segment"},
		{"element of no function", header + section(9, "\x01\x01\x00\x01\x00"), "function 0 does not exist"},
		{"element entry of another type", header + section(9, "\x01\x05\x70\x01\xd0\x6f\x0b"), "a constant expression of type externref where one of funcref"},
		{"element offset", header + section(4, "\x01\x70\x00\x01") + section(9, "\x01\x00\x42\x00\x0b\x00"), "of type i64 where one of i32"},
		{"data flag", header + memory + section(11, "\x01\x03\x00"), "unknown flag 0x3 of a data segment"},
		{"data without memory", header + section(11, "\x01\x00\x41\x00\x0b\x00"), "a data segment, but the module has no memory"},
		{"data offset", header + memory + section(11, "\x01\x00\x42\x00\x0b\x00"), "of type i64 where one of i32"},
		{"data that is cut", header + section(11, "\x01\x01\x05ab"), "5 bytes announced, 2 are there"},
		{"data count", header + section(12, "\x02") + section(11, vector("\x01\x00")), "2 data segments are counted, 1 are there"},
		{"data count without data", header + section(12, "\x01"), "1 data segments are counted, 0 are there"},
		{"data named but not counted", header + function + section(10, vector(sized("\x00\xfc\x09\x00\x0b"))) + section(11, vector("\x01\x00")),
			"names a data segment, but there is no data count section"},
		{"bodies without functions", header + section(10, vector(sized("\x00\x0b"))), "0 functions are declared, 1 have bodies"},
		{"functions without bodies", header + function, "1 functions are declared, 0 have bodies"},
		{"body that is cut", header + function + section(10, "\x01\x05\x00\x0b"), "5 bytes announced, 2 are there"},
		{"body without end", header + function + section(10, vector(sized("\x00\x01"))), "unexpected end"},
		{"empty body", header + function + section(10, vector(sized("\x00"))), "unexpected end"},
		{"locals of an unknown type", header + function + section(10, vector(sized("\x01\x00\x40\x0b"))), "value type 0x40 is unknown"},
		{"access without memory", header + function + section(10, vector(sized("\x00\x3f\x00\x0b"))), "an access to memory, but the module has none"},
		{"load without memory", header + function + section(10, vector(sized("\x00\x28\x00\x00\x0b"))), "an access to memory, but the module has none"},
		{"reference that is not declared", header + function + section(10, vector(sized("\x00\xd2\x00\x1a\x0b"))),
			"ref.func of function 0, which no export, element segment or global declares"},
		{"reference that only the start declares", header + function + section(8, "\x00") + section(10, vector(sized("\x00\xd2\x00\x1a\x0b"))),
			"ref.func of function 0, which no export"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := refusal(t, test.wasm, binary.DefaultLimits())
			if !strings.Contains(err.Error(), test.text) || err.Proposal != "" || err.Knob != "" {
				t.Errorf("got %+v", err)
			}
			if compiles(t, []byte(test.wasm)) {
				t.Error("the compiler takes it")
			}
		})
	}
}

// A constant expression reads immutable globals only. The compiler does not mind.
func TestConstantOfMutableGlobal(t *testing.T) {
	wasm := header + section(2, vector("\x01a\x01b\x03\x7f\x01")) + section(6, vector("\x7f\x01\x23\x00\x0b"))
	if err := refusal(t, wasm, binary.DefaultLimits()); !strings.Contains(err.Reason, "a constant expression of the mutable global 0") {
		t.Errorf("got %v", err)
	}
}

// Every cut of a module is refused, or ends before its first function is
// declared.
func TestEveryCutIsRefused(t *testing.T) {
	whole := around("\x41\x01\x0e\x01\x00\x00\x0b")
	types := len(header + section(1, vector("\x60\x00\x00", "\x60\x01\x7f\x01\x7f")))
	for n := range len(whole) {
		_, err := binary.Decode([]byte(whole[:n]), binary.DefaultLimits())
		if complete := n == len(header) || n == types; (err == nil) != complete {
			t.Errorf("the first %d of %d bytes: %v", n, len(whole), err)
		}
	}
}

// What a module says is all there, and what says the same is written the same.
func TestModule(t *testing.T) {
	wasm := header +
		section(1, vector("\x60\x00\x00", "\x60\x02\x7f\x7b\x02\x70\x6f", "\x60\x00\x01\x7d")) +
		section(2, vector("\x01a\x01b\x00\x01", "\x01a\x01t\x01\x6f\x01\x01\x02", "\x01a\x01g\x03\x7f\x00", "\x01a\x01m\x02\x00\x01")) +
		section(3, vector("\x00", "\x80\x80\x00")) + // a number that is longer than it has to be
		section(4, vector("\x70\x00\x03")) +
		section(6, vector("\x7f\x01\x23\x00\x0b", "\x7b\x00\xfd\x0c0123456789abcdef\x0b", "\x70\x00\xd2\x01\x0b", "\x7c\x00\x44abcdefgh\x0b", "\x7d\x00\x43abcd\x0b", "\x7e\x00\x42\x7f\x0b")) +
		section(7, vector("\x01f\x00\x02", "\x01g\x03\x01")) +
		section(8, "\x01") +
		section(9, vector(
			"\x02\x01\x41\x01\x0b\x00\x01\x02",         // active, table 1
			"\x01\x00\x01\x01",                         // passive
			"\x03\x00\x01\x02",                         // declarative
			"\x06\x01\x41\x00\x0b\x70\x01\xd0\x70\x0b", // active expressions
			"\x05\x6f\x01\xd0\x6f\x0b",                 // passive expressions
			"\x07\x70\x01\xd2\x01\x0b",                 // declarative expressions of functions alone
		)) +
		section(10, vector(sized("\x03\x01\x7f\x00\x7e\x02\x7f\x0b"), sized("\x00\x0b"))) +
		section(11, vector("\x02\x00\x23\x00\x0b\x01x", "\x01\x00")) +
		section(0, "\x04name", section(0, sized("mod")), section(1, vector("\x00\x01i", "\x02\x01d")), section(2, "\x00")) +
		section(0, "\x01c", "content")
	m := decode(t, wasm)
	want := &binary.Module{
		Types: []binary.FuncType{
			{}, {Params: []binary.ValueType{binary.I32, binary.V128}, Results: []binary.ValueType{binary.Funcref, binary.Externref}},
			{Results: []binary.ValueType{binary.F32}},
		},
		Imports: []binary.Import{
			{Module: "a", Name: "b", Type: 1},
			{Module: "a", Name: "t", Kind: binary.KindTable, Table: binary.Table{Type: binary.Externref, Range: binary.Range{Min: 1, Max: 2, HasMax: true}}},
			{Module: "a", Name: "g", Kind: binary.KindGlobal, Global: binary.GlobalType{Type: binary.I32}},
			{Module: "a", Name: "m", Kind: binary.KindMemory, Memory: binary.Memory{Range: binary.Range{Min: 1}}},
		},
		Functions: []uint32{0, 0},
		Tables:    []binary.Table{{Type: binary.Funcref, Range: binary.Range{Min: 3}}},
		Globals: []binary.Global{
			{GlobalType: binary.GlobalType{Type: binary.I32, Mutable: true}, Init: binary.Const{Op: binary.OpGlobalGet}},
			{GlobalType: binary.GlobalType{Type: binary.V128}, Init: binary.Const{Op: binary.OpV128Const, Value: 0x3736353433323130, High: 0x6665646362613938}},
			{GlobalType: binary.GlobalType{Type: binary.Funcref}, Init: binary.Const{Op: binary.OpRefFunc, Value: 1}},
			{GlobalType: binary.GlobalType{Type: binary.F64}, Init: binary.Const{Op: binary.OpF64Const, Value: 0x6867666564636261}},
			{GlobalType: binary.GlobalType{Type: binary.F32}, Init: binary.Const{Op: binary.OpF32Const, Value: 0x64636261}},
			{GlobalType: binary.GlobalType{Type: binary.I64}, Init: binary.Const{Op: binary.OpI64Const, Value: 1<<64 - 1}},
		},
		Exports: []binary.Export{{Name: "f", Index: 2}, {Name: "g", Kind: binary.KindGlobal, Index: 1}},
		Start:   new(uint32),
		Elements: []binary.Element{
			{Mode: binary.Active, Table: 1, Offset: binary.Const{Op: binary.OpI32Const, Value: 1}, Type: binary.Funcref, Entries: []binary.Entry{{Op: binary.OpRefFunc, Index: 2}}},
			{Type: binary.Funcref, Entries: []binary.Entry{{Op: binary.OpRefFunc, Index: 1}}},
			{Mode: binary.Declarative, Type: binary.Funcref, Entries: []binary.Entry{{Op: binary.OpRefFunc, Index: 2}}},
			{Mode: binary.Active, Table: 1, Offset: binary.Const{Op: binary.OpI32Const}, Type: binary.Funcref, Entries: []binary.Entry{{Op: binary.OpRefNull}}},
			{Type: binary.Externref, Entries: []binary.Entry{{Op: binary.OpRefNull}}},
			{Mode: binary.Declarative, Type: binary.Funcref, Entries: []binary.Entry{{Op: binary.OpRefFunc, Index: 1}}},
		},
		Bodies: []binary.Body{
			{Locals: []binary.Locals{{Count: 3, Type: binary.I32}}, Code: []byte{0x0b}},
			{Code: []byte{0x0b}},
		},
		Data: []binary.Data{
			{Mode: binary.Active, Offset: binary.Const{Op: binary.OpGlobalGet}, Bytes: []byte("x")}, {},
		},
		Customs: []binary.Custom{{Name: "c", Data: []byte("content")}},
		Names:   &binary.Names{Module: "mod", Functions: []binary.Name{{Index: 0, Name: "i"}, {Index: 2, Name: "d"}}},
	}
	*want.Start = 1
	if d := diff(want, m); d != "" {
		t.Error(d)
	}
	if m.Imports[1].Offset-m.Imports[0].Offset != len("\x01a\x01b\x00\x01") {
		t.Errorf("imports at %d and %d", m.Imports[0].Offset, m.Imports[1].Offset)
	}
	again := decode(t, string(m.Encode()))
	if d := diff(m, again); d != "" {
		t.Error(d)
	}
	if !compiles(t, m.Encode()) || len(m.Encode()) >= len(wasm) {
		t.Errorf("%d bytes from %d", len(m.Encode()), len(wasm))
	}
}

func TestModuleAnswers(t *testing.T) {
	m := decode(t, header+
		section(1, vector("\x60\x01\x7f\x01\x7e", "\x60\x00\x00"))+
		section(2, vector("\x01a\x01b\x00\x00", "\x01a\x01t\x01\x6f\x00\x01", "\x01a\x01g\x03\x7f\x01"))+
		section(3, vector("\x01"))+
		section(4, vector("\x70\x00\x02"))+
		section(5, vector("\x01\x01\x02"))+
		section(6, vector("\x7e\x00\x42\x00\x0b"))+
		section(10, vector(sized("\x00\x0b"))))
	got := []any{
		m.FunctionCount(), m.GlobalCount(), m.Imported(binary.KindFunction), m.Imported(binary.KindMemory),
		m.FunctionType(0).String(), m.FunctionType(1).String(),
		m.Table(0).Type, m.Table(1).Min, m.GlobalType(0).Mutable, m.GlobalType(1).Type,
	}
	want := []any{2, 2, 1, 0, "(i32)->(i64)", "()->()", binary.Externref, uint32(2), true, binary.I64}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	memory, ok := m.Memory()
	if !ok || memory.Min != 1 || memory.Max != 2 || !memory.HasMax {
		t.Errorf("memory %+v, %t", memory, ok)
	}
	if _, ok := decode(t, header).Memory(); ok {
		t.Error("an empty module has a memory")
	}
	imported := decode(t, header+section(2, vector("\x01a\x01m\x02\x00\x03")))
	if memory, ok := imported.Memory(); !ok || memory.Min != 3 {
		t.Errorf("imported memory %+v, %t", memory, ok)
	}
	before := len(imported.Imports)
	other := *imported
	if n := other.AddImport(binary.Import{Module: "x", Name: "y", Kind: binary.KindGlobal}); n != 0 || other.Imported(binary.KindGlobal) != 1 {
		t.Errorf("the import has number %d", n)
	}
	if len(imported.Imports) != before || imported.Imported(binary.KindGlobal) != 0 {
		t.Error("a copy shares its imports")
	}
}

func TestNamesOfTypesAndKinds(t *testing.T) {
	var text []string
	for _, v := range []binary.ValueType{binary.I32, binary.I64, binary.F32, binary.F64, binary.V128, binary.Funcref, binary.Externref, 1} {
		text = append(text, v.String())
	}
	for kind := range binary.Kind(5) {
		text = append(text, kind.String())
	}
	want := "i32 i64 f32 f64 v128 funcref externref type 0x1 function table memory global kind 4"
	if got := strings.Join(text, " "); got != want {
		t.Errorf("got %s", got)
	}
	for body, want := range map[string]string{"\x02\x40\x0b\x0b": "type 0x40 false", "\x02\x7b\x00\x0b\x0b": "v128 true", "\x02\x00\x0b\x0b": "type 0x0 false"} {
		block := decode(t, around(body)).Bodies[0].Instructions(nil)[0].Block()
		if result, ok := block.Result(); result.String()+map[bool]string{true: " true", false: " false"}[ok] != want {
			t.Errorf("%x: %s %t, want %s", body, result, ok, want)
		}
	}
}
