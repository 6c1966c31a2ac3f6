package meter

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm/binary"
)

// rewrite rewrites a module that must be taken, and decodes the result.
func rewrite(t testing.TB, m *binary.Module, options Options) (*binary.Module, Report) {
	t.Helper()
	before := m.Encode()
	wasm, report, err := Rewrite(m, options)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, m.Encode()) {
		t.Error("the module was changed")
	}
	again, _, err := Rewrite(m, options)
	if err != nil || !bytes.Equal(wasm, again) {
		t.Errorf("a second rewriting differs, %v", err)
	}
	out, err := binary.Decode(wasm, binary.DefaultLimits())
	if err != nil {
		t.Fatalf("the rewritten module: %v", err)
	}
	return out, report
}

// Code that is inserted. The counter is global 0, the yield function 1.
const (
	yieldBelowZero = "\x23\x00\x42\x00\x59\x04\x40\x05\x10\x01\x0b"
	loopEnd        = "\x0b\x0c\x02\x0b\x10\x01"
	loopAgain      = "\x0c\x00\x0b\x00\x0b"
)

func charge(weight string) string { return "\x23\x00\x42" + weight + "\x7d\x24\x00" }

func check(weight string) string { return charge(weight) + yieldBelowZero }

func loopBegin(kind, weight string) string {
	return "\x02" + kind + "\x03\x40\x02\x40\x03" + kind + charge(weight) + "\x23\x00\x42\x00\x53\x0d\x01"
}

func loopClose(weight string) string {
	return loopEnd + "\x23\x00\x42" + weight + "\x7c\x24\x00" + loopAgain
}

func TestForm(t *testing.T) {
	long := steps(200) // not exempt
	tests := []struct{ name, body, want string }{
		{"exempt function", steps(3), steps(3)},
		{"function", long, check("\x0d") + long},
		{"call of a function", "\x10\x02" + "\x10\x01", check("\x01") + "\x10\x03" + "\x10\x02"}, // recursive
		{"call of an import", "\x10\x00", "\x10\x00"},
		{"loop behind steps", long + loop + again + end, check("\x0d") + long + loopBegin("\x40", "\x01") + again + loopClose("\x01")},
		{"loop that pays for its function", steps(3) + loop + again + end, steps(3) + loopBegin("\x40", "\x01") + again + loopClose("\x01")},
		{"the sum of both is charged", steps(8) + loop + steps(6) + again + end + steps(3),
			steps(8) + loopBegin("\x40", "\x02") + steps(6) + again + loopClose("\x02") + steps(3)},
		{"loop in blocks", block + block + loop + again + end + end + end, block + block + loopBegin("\x40", "\x01") + again + loopClose("\x01") + end + end},
		{"loop behind a branch", block + zero + "\x0d\x00" + loop + again + end + end,
			check("\x01") + block + zero + "\x0d\x00" + loopBegin("\x40", "\x01") + again + loopClose("\x01") + end},
		{"loop behind a call", "\x10\x00" + loop + again + end, check("\x01") + "\x10\x00" + loopBegin("\x40", "\x01") + again + loopClose("\x01")},
		{"dear function, cheap loop", loop + again + end + long, check("\x0d") + loopBegin("\x40", "\x01") + again + loopClose("\x01") + long},
		{"loop nobody goes back to", loop + steps(2) + end, loop + steps(2) + end},
		{"branch out of a loop", block + loop + zero + "\x0d\x01" + again + end + end,
			block + loopBegin("\x40", "\x01") + zero + "\x0d\x04" + again + loopClose("\x01") + end},
		{"branch out of two", block + loop + block + loop + zero + "\x0d\x03" + zero + "\x0d\x02" + again + end + end + again + end + end,
			block + loopBegin("\x40", "\x01") + block + loopBegin("\x40", "\x01") + zero + "\x0d\x09" + zero + "\x0d\x05" + again + loopClose("\x01") + end + again + loopClose("\x01") + end},
		{"branch out of the function", loop + zero + "\x0d\x01" + again + end, loopBegin("\x40", "\x01") + zero + "\x0d\x04" + again + loopClose("\x01")},
		{"br_table in a loop", block + loop + zero + "\x0e\x02\x00\x01\x02" + end + end,
			block + loopBegin("\x40", "\x01") + zero + "\x0e\x02\x00\x04\x05" + loopClose("\x01") + end},
		{"br_table that stays", loop + block + zero + "\x0e\x01\x00\x01" + end + end,
			loopBegin("\x40", "\x01") + block + zero + "\x0e\x01\x00\x01" + end + loopClose("\x01")},
		{"return in a loop", loop + "\x0f" + again + end, loopBegin("\x40", "\x01") + "\x0f" + again + loopClose("\x01")},
		{"loop with a result", "\x03\x7f" + again + zero + end + "\x1a", loopBegin("\x7f", "\x01") + again + zero + loopClose("\x01") + "\x1a"},
		{"loop with a parameter", zero + "\x03\x01\x1a" + zero + zero + "\x0d\x00\x1a" + end,
			zero + "\x03\x01" + check("\x01") + "\x1a" + zero + zero + "\x0d\x00\x1a" + end},
		{"reference", "\xd2\x01\x1a", check("\x01") + "\xd2\x02\x1a"},
		{"small copy", zero + zero + "\x41\x80\x20\xfc\x0a\x00\x00", check("\x82\x02") + zero + zero + "\x41\x80\x20\xfc\x0a\x00\x00"},
		{"copy", zero + zero + "\x20\x00\xfc\x0a\x00\x00", check("\x05") + zero + zero + "\x20\x00" +
			"\x21\x06\x21\x05\x21\x04" + "\x20\x06\x41\x80\x08\x4d\x04\x40" + "\x20\x04\x20\x05\x20\x06\xfc\x0a\x00\x00\x05" +
			"\x20\x04\x20\x05\x20\x06\x10\x04\x0b"},
		{"fill", zero + zero + "\x20\x00\xfc\x0b\x00", check("\x05") + zero + zero + "\x20\x00" +
			"\x21\x06\x21\x05\x21\x04" + "\x20\x06\x41\x80\x08\x4d\x04\x40" + "\x20\x04\x20\x05\x20\x06\xfc\x0b\x00\x05" +
			"\x20\x04\x20\x05\x20\x06\x10\x04\x0b"},
		{"init of a small segment", zero + zero + "\x20\x00\xfc\x08\x00\x00", check("\x08") + zero + zero + "\x20\x00\xfc\x08\x00\x00"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := module(t, "", "\x10\x01") // the other one calls it
			if strings.Contains(test.body, "\xd2") {
				m.Exports = []binary.Export{{Name: "declared", Index: 1}}
			}
			m.Facts.MemoryInit = true
			m.Bodies[0].Code = []byte(test.body + "\x0b")
			out, _ := rewrite(t, decodedAgain(t, m), Options{})
			if got := string(out.Bodies[0].Code); got != test.want+"\x0b" {
				t.Errorf("got\n% x, want\n% x", got, test.want+"\x0b")
			}
		})
	}
}

// decodedAgain is the module after a change, checked.
func decodedAgain(t *testing.T, m *binary.Module) *binary.Module {
	t.Helper()
	decoded, err := binary.Decode(m.Encode(), binary.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// whole is a module with one of everything that numbers refer to.
func whole(t *testing.T) *binary.Module {
	t.Helper()
	start := uint32(1)
	m := module(t, steps(3), zero+zero+"\x20\x00\xfc\x0a\x00\x00"+zero+zero+"\x20\x00\xfc\x0b\x00")
	m.AddImport(binary.Import{Module: "a", Name: "g", Kind: binary.KindGlobal, Global: binary.GlobalType{Type: binary.I32}})
	constant := func(op binary.Op, value uint64) binary.Const { return binary.Const{Op: op, Value: value} }
	m.Globals = []binary.Global{
		{GlobalType: binary.GlobalType{Type: binary.Funcref}, Init: constant(binary.OpRefFunc, 2)},
		{GlobalType: binary.GlobalType{Type: binary.I32, Mutable: true}, Init: constant(binary.OpGlobalGet, 0)},
		{GlobalType: binary.GlobalType{Type: binary.V128, Mutable: true}, Init: constant(binary.OpV128Const, 0)},
		{GlobalType: binary.GlobalType{Type: binary.F64, Mutable: true}, Init: constant(binary.OpF64Const, 0)},
	}
	m.Exports = []binary.Export{{Name: "import", Index: 0}, {Name: "f", Index: 2}, {Name: "memory", Kind: binary.KindMemory}}
	m.Start = &start
	m.Elements = []binary.Element{
		{Mode: binary.Active, Offset: constant(binary.OpI32Const, 0), Type: binary.Funcref, Entries: []binary.Entry{{Op: binary.OpRefFunc, Index: 0}, {Op: binary.OpRefFunc, Index: 1}}},
		{Type: binary.Funcref, Entries: []binary.Entry{{Op: binary.OpRefNull}, {Op: binary.OpRefFunc, Index: 2}}},
	}
	m.Tables[0].Min = 2
	m.Data = []binary.Data{
		{Mode: binary.Active, Offset: constant(binary.OpI32Const, 8), Bytes: []byte("eight")}, {Bytes: []byte("passive")},
		{Mode: binary.Active, Offset: constant(binary.OpI32Const, 0), Bytes: []byte("zero")},
	}
	for _, name := range []string{"producers", ".debug_info", "reloc.CODE", "linking", "sourceMappingURL", "external_debug_info", "metadata.code.branch_hint", "plinth.manifest"} {
		m.Customs = append(m.Customs, binary.Custom{Name: name, Data: []byte{1}})
	}
	m.Names = &binary.Names{Module: "m", Functions: []binary.Name{{Index: 0, Name: "imported"}, {Index: 1, Name: "one"}, {Index: 2, Name: "two"}}}
	return decodedAgain(t, m)
}

func TestEverythingIsRenumbered(t *testing.T) {
	m := whole(t)
	out, report := rewrite(t, m, Options{})
	entry := out.Imports[2]
	if entry.Module != "plinth:meter" || entry.Name != "yield" || out.FunctionType(1).String() != "()->()" || len(out.Imports) != 3 {
		t.Errorf("imports %+v", out.Imports)
	}
	wantExports := []binary.Export{
		{Name: "import", Index: 0}, {Name: "f", Index: 3}, {Name: "memory", Kind: binary.KindMemory},
		{Name: "plinth:meter/global/2", Kind: binary.KindGlobal, Index: 2},
		{Name: "plinth:meter/global/3", Kind: binary.KindGlobal, Index: 3},
		{Name: "plinth:meter/global/4", Kind: binary.KindGlobal, Index: 4},
		{Name: "plinth:meter/counter", Kind: binary.KindGlobal, Index: 5},
		{Name: "plinth:meter/start", Index: 2},
	}
	if d := cmp.Diff(wantExports, out.Exports); d != "" {
		t.Error(d)
	}
	if out.Start != nil || !report.Start {
		t.Errorf("start %v, reported %t", out.Start, report.Start)
	}
	if got := out.Globals[4]; got.Type != binary.I64 || !got.Mutable || got.Init.Value != 0 || out.Globals[0].Init.Value != 3 || out.Globals[1].Init.Value != 0 {
		t.Errorf("globals %+v", out.Globals)
	}
	entries := slices.Concat(out.Elements[0].Entries, out.Elements[1].Entries)
	wantEntries := []binary.Entry{{Op: binary.OpRefFunc, Index: 0}, {Op: binary.OpRefFunc, Index: 2}, {Op: binary.OpRefNull}, {Op: binary.OpRefFunc, Index: 3}}
	if d := cmp.Diff(wantEntries, entries); d != "" {
		t.Error(d)
	}
	wantNames := &binary.Names{Module: "m", Functions: []binary.Name{
		{Index: 0, Name: "imported"}, {Index: 1, Name: "plinth:meter/yield"}, {Index: 2, Name: "one"}, {Index: 3, Name: "two"},
		{Index: 4, Name: "plinth:meter/copy"}, {Index: 5, Name: "plinth:meter/fill"},
	}}
	if d := cmp.Diff(wantNames, out.Names); d != "" {
		t.Error(d)
	}
	if len(out.Customs) != 2 || out.Customs[0].Name != "producers" || out.Customs[1].Name != "plinth.manifest" {
		t.Errorf("custom sections %v", out.Customs)
	}
	wantGlobals := []Global{
		{Name: "plinth:meter/global/2", Type: binary.I32}, {Name: "plinth:meter/global/3", Type: binary.V128}, {Name: "plinth:meter/global/4", Type: binary.F64},
	}
	if d := cmp.Diff(wantGlobals, report.Globals); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"mutable global of type v128"}, report.Unrestorable); d != "" {
		t.Error(d)
	}
	if len(out.Data) != 3 || len(report.Data) != 0 || len(out.Bodies) != 4 || report.Functions != 2 || report.Bulk != 2 {
		t.Errorf("%d segments, %d bodies, %+v", len(out.Data), len(out.Bodies), report)
	}
}

func TestNamesOfAModuleWithoutNames(t *testing.T) {
	m := module(t, steps(1))
	if out, _ := rewrite(t, m, Options{}); out.Names != nil {
		t.Errorf("got %+v", out.Names)
	}
	m.Names = &binary.Names{Functions: []binary.Name{{Index: 0, Name: "only the import"}}}
	out, _ := rewrite(t, m, Options{})
	if len(out.Names.Functions) != 2 || out.Names.Functions[1].Name != "plinth:meter/yield" {
		t.Errorf("got %+v", out.Names)
	}
}

func TestStripData(t *testing.T) {
	segments := []Segment{{Offset: 8, Bytes: []byte("eight")}, {Offset: 0, Bytes: []byte("zero")}}
	// Code names no segment: only the passive one is left.
	m := whole(t)
	m.Facts.MemoryInit = false
	out, report := rewrite(t, m, Options{StripData: true})
	if d := cmp.Diff(segments, report.Data); d != "" || len(out.Data) != 1 || string(out.Data[0].Bytes) != "passive" {
		t.Errorf("%s, %+v", d, out.Data)
	}
	// Code names segments by number: those taken out are empty ones now.
	m = whole(t)
	m.Bodies[0].Code = []byte(zero + zero + zero + "\xfc\x08\x01\x00\x0b")
	m.Facts.MemoryInit = true
	out, report = rewrite(t, decodedAgain(t, m), Options{StripData: true})
	want := []binary.Data{{Bytes: []byte{}}, {Bytes: []byte("passive")}, {Bytes: []byte{}}}
	if d := cmp.Diff(want, out.Data); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(segments, report.Data); d != "" {
		t.Error(d)
	}
	m.Data[0].Offset = binary.Const{Op: binary.OpGlobalGet}
	var refused *Error
	if _, _, err := Rewrite(m, Options{StripData: true}); !errors.As(err, &refused) || !strings.Contains(err.Error(), "imported global") {
		t.Errorf("got %v", err)
	}
	if _, _, err := Rewrite(m, Options{}); err != nil {
		t.Errorf("without StripData: %v", err)
	}
}

func TestReservedNamesAreRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(*binary.Module)
		text   string
	}{
		{"import", func(m *binary.Module) { m.AddImport(binary.Import{Module: "plinth:meter", Name: "yield"}) }, `imports "yield" of "plinth:meter"`},
		{"import below", func(m *binary.Module) { m.AddImport(binary.Import{Module: "plinth:meter/x", Name: "y"}) }, `imports "y" of "plinth:meter/x"`},
		{"counter", func(m *binary.Module) { m.Exports = []binary.Export{{Name: "plinth:meter/counter"}} }, `exports "plinth:meter/counter"`},
		{"anything", func(m *binary.Module) { m.Exports = []binary.Export{{Name: "plinth:meter/"}} }, `exports "plinth:meter/"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := module(t, "")
			test.change(m)
			wasm, _, err := Rewrite(m, Options{})
			var refused *Error
			if !errors.As(err, &refused) || wasm != nil || !strings.Contains(err.Error(), test.text) || refused.Fix == "" {
				t.Errorf("got %v", err)
			}
		})
	}
	m := module(t, "")
	m.Exports = []binary.Export{{Name: "plinth:meters"}, {Name: "plinth"}}
	rewrite(t, m, Options{})
}

// A module that grows beyond what is allowed is refused, in the middle if need
// be.
func TestMaxBytes(t *testing.T) {
	m := module(t, strings.Repeat(loop+again+end, 1000))
	wasm, _, err := Rewrite(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Rewrite(m, Options{MaxBytes: len(wasm)}); err != nil {
		t.Error(err)
	}
	for _, limit := range []int{1, 1000, len(wasm) - 1} {
		_, _, err := Rewrite(m, Options{MaxBytes: limit})
		if err == nil || !strings.Contains(err.Error(), "(Options.MaxBytes); build a smaller module") {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

func TestExemptFunctions(t *testing.T) {
	// Of five functions, the first is the one in question.
	small, long := steps(100), steps(200)
	tests := []struct {
		name   string
		exempt bool
		change func(*binary.Module)
		bodies []string
	}{
		{"small", true, nil, []string{small}},
		{"long", false, nil, []string{long}},
		{"short ways through much code", true, nil, []string{zero + if_ + small + else_ + small + end}},
		{"more code than is looked at", false, nil, []string{strings.Repeat(zero+if_+"\x0f"+steps(20)+end, 64) + strings.Repeat("\x01", 4096)}},
		{"loop", false, nil, []string{loop + again + end}},
		{"loop nobody goes back to", true, nil, []string{loop + end}},
		{"indirect call", false, nil, []string{zero + "\x11\x00\x00"}},
		{"bulk operation", false, nil, []string{zero + zero + zero + "\xfc\x0b\x00"}},
		{"operation on a table", false, nil, []string{zero + "\xd0\x70" + zero + "\xfc\x11\x00"}},
		{"calls a small one", true, nil, []string{"\x10\x02", steps(20)}},
		{"calls too many small ones", false, nil, []string{"\x10\x02\x10\x02", small}},
		{"calls a long one", true, nil, []string{"\x10\x02", long}},
		{"calls itself", false, nil, []string{"\x10\x01"}},
		{"calls itself through another", false, nil, []string{"\x10\x02", "\x10\x01"}},
		{"calls one that calls itself", true, nil, []string{"\x10\x02", "\x10\x02"}},
		{"is called indirectly", false, func(m *binary.Module) {
			m.Elements[0].Entries = []binary.Entry{{Op: binary.OpRefFunc, Index: 1}}
		}, []string{""}},
		{"its reference is in a global", false, func(m *binary.Module) {
			m.Globals = []binary.Global{{GlobalType: binary.GlobalType{Type: binary.Funcref}, Init: binary.Const{Op: binary.OpRefFunc, Value: 1}}}
		}, []string{""}},
		{"its reference is taken", false, func(m *binary.Module) {
			m.Exports = []binary.Export{{Name: "f", Index: 1}}
		}, []string{"", "\xd2\x01\x1a"}},
		{"is exported", true, func(m *binary.Module) { m.Exports = []binary.Export{{Name: "f", Index: 1}} }, []string{""}},
		{"calls an import", true, nil, []string{"\x10\x00"}},
		{"is exported and calls an import", false, func(m *binary.Module) { m.Exports = []binary.Export{{Name: "f", Index: 1}} }, []string{"\x10\x00"}},
		{"is called from one that is called indirectly, calls indirectly through another", true, func(m *binary.Module) {
			m.Elements[0].Entries = []binary.Entry{{Op: binary.OpRefFunc, Index: 3}}
		}, []string{"\x10\x02", zero + "\x11\x00\x00", ""}},
		{"comes to call itself through a table", false, func(m *binary.Module) {
			m.Elements[0].Entries = []binary.Entry{{Op: binary.OpRefFunc, Index: 3}}
		}, []string{"\x10\x02", zero + "\x11\x00\x00", "\x10\x01"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := module(t, slices.Repeat([]string{""}, len(test.bodies))...)
			for i, body := range test.bodies {
				m.Bodies[i].Code = []byte(body + "\x0b")
			}
			if test.change != nil {
				test.change(m)
			}
			r := newRewriter(decodedAgain(t, m), Options{})
			if r.findExempt(); (r.exempt[0] != unreached) != test.exempt {
				t.Errorf("exempt: %v", r.exempt)
			}
		})
	}
}
