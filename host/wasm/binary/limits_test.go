package binary_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/wasm/binary"
)

// TestEveryLimitBites takes a module that has some of everything, at its exact
// counts and at one less of each.
func TestEveryLimitBites(t *testing.T) {
	code := "\x02\x40\x02\x40\x41\x00\x0e\x02\x00\x01\x02\x0b\x0b" + // two blocks in the function's own, labels 3 with the default
		"\x41\x00\x0e\x01\x00\x00" +
		"\xd0\x70\x41\x00\xfc\x0f\x01\x1a\x0b"
	body := "\x02\x03\x7f\x02\x7e" + code
	wasm := header +
		section(1, vector("\x60\x00\x00", "\x60\x03\x7f\x7f\x7f\x02\x7f\x7f")) +
		section(2, vector("\x01a\x01b\x00\x00", "\x01a\x01t\x01\x6f\x00\x01", "\x01a\x01g\x03\x7f\x00")) +
		section(3, vector("\x00", "\x00")) +
		section(4, vector("\x70\x01\x04\x06")) +
		section(5, vector("\x00\x07")) +
		section(6, vector("\x7f\x01\x41\x00\x0b")) +
		section(7, vector("\x01a\x00\x00", "\x01b\x00\x01")) +
		section(9, vector("\x01\x00\x03\x00\x01\x02", "\x01\x00\x02\x00\x01")) +
		section(10, vector(sized(body), sized("\x00\x0b"))) +
		section(11, vector("\x01\x00", "\x01\x00", "\x01\x00")) +
		section(0, sized("long name")) + section(0, "\x01c")
	exact := binary.Limits{
		ModuleBytes: len(wasm), CustomSections: 2, NameBytes: len("long name"), Types: 2, Params: 3, Results: 2,
		Imports: 3, Exports: 2, Functions: 3, Tables: 2, TableEntries: 6, MemoryPages: 7, Globals: 2,
		Elements: 2, ElementEntries: 5, DataSegments: 3, BodyBytes: len(body), Locals: 5, LocalGroups: 2,
		Nesting: 3, Targets: 2, TargetsTotal: 3,
	}
	if _, err := binary.Decode([]byte(wasm), exact); err != nil {
		t.Fatalf("at its exact counts: %v", err)
	}
	fields := reflect.TypeFor[binary.Limits]()
	for i := range fields.NumField() {
		field := fields.Field(i)
		if field.Type.Kind() != reflect.Int {
			continue
		}
		t.Run(field.Name, func(t *testing.T) {
			limits := exact
			value := reflect.ValueOf(&limits).Elem().Field(i)
			value.SetInt(value.Int() - 1)
			err := refusal(t, wasm, limits)
			if err.Knob != field.Name || err.Limit != value.Int() || err.Got <= err.Limit || err.Proposal != "" {
				t.Errorf("got %+v", err)
			}
			if !strings.Contains(err.Error(), "(Limits."+field.Name+")") {
				t.Errorf("got %q", err)
			}
		})
	}
}

// Limits that several places share bite at each of them.
func TestLimitsOfSeveralPlaces(t *testing.T) {
	tests := []struct {
		name, wasm, knob string
		change           func(*binary.Limits)
	}{
		{"imported functions", header + section(1, vector("\x60\x00\x00")) + section(2, vector("\x01a\x01b\x00\x00")), "Functions", func(l *binary.Limits) { l.Functions = 0 }},
		{"imported tables", header + section(2, vector("\x01a\x01b\x01\x70\x00\x00")), "Tables", func(l *binary.Limits) { l.Tables = 0 }},
		{"imported globals", header + section(2, vector("\x01a\x01b\x03\x7f\x00")), "Globals", func(l *binary.Limits) { l.Globals = 0 }},
		{"globals", header + section(6, vector("\x7f\x01\x41\x00\x0b")), "Globals", func(l *binary.Limits) { l.Globals = 0 }},
		{"tables", header + section(4, vector("\x70\x00\x00")), "Tables", func(l *binary.Limits) { l.Tables = 0 }},
		{"an imported memory", header + section(2, vector("\x01a\x01b\x02\x00\x02")), "MemoryPages", func(l *binary.Limits) { l.MemoryPages = 1 }},
		{"an imported table", header + section(2, vector("\x01a\x01b\x01\x70\x00\x02")), "TableEntries", func(l *binary.Limits) { l.TableEntries = 1 }},
		{"a table", header + section(4, vector("\x70\x00\x91\x4e")), "TableEntries", func(*binary.Limits) {}},
		{"the data count", header + section(12, "\x02") + section(11, vector("\x01\x00", "\x01\x00")), "DataSegments", func(l *binary.Limits) { l.DataSegments = 1 }},
		{"the name of a module", header + section(2, vector("\x02ab\x01b\x01\x70\x00\x00")), "NameBytes", func(l *binary.Limits) { l.NameBytes = 1 }},
		{"many small groups of locals", around("\x0b"), "Locals", func(l *binary.Limits) { l.Locals = 1 }},
		{"locals beyond 32 bits", header + section(1, vector("\x60\x00\x00")) + section(3, vector("\x00")) +
			section(10, vector(sized("\x02\xff\xff\xff\xff\x0f\x7f\xff\xff\xff\xff\x0f\x7f\x0b"))), "Locals", func(*binary.Limits) {}},
		{"a body without the rest", header + section(1, vector("\x60\x00\x00")) + section(3, vector("\x00")) + section(10, "\x01\x81\x80\x40"), "BodyBytes", func(*binary.Limits) {}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			limits := binary.DefaultLimits()
			test.change(&limits)
			if err := refusal(t, test.wasm, limits); err.Knob != test.knob {
				t.Errorf("got %+v", err)
			}
		})
	}
}

// A table may grow when its declaration bounds it.
func TestTableGrowIsBounded(t *testing.T) {
	growing := func(declared string) string {
		return header + section(1, vector("\x60\x00\x00")) + section(3, vector("\x00")) + section(4, vector(declared)) +
			section(10, vector(sized("\x00\xd0\x70\x41\x00\xfc\x0f\x00\x1a\x0b")))
	}
	limits := binary.DefaultLimits()
	decode(t, growing("\x70\x01\x01\x90\x4e")) // 10,000
	if err := refusal(t, growing("\x70\x00\x01"), limits); err.Knob != "UnboundedTables" || err.Fix == "" {
		t.Errorf("got %+v", err)
	}
	if err := refusal(t, growing("\x70\x01\x01\x91\x4e"), limits); err.Knob != "TableEntries" || err.Got != 10_001 {
		t.Errorf("got %+v", err)
	}
	limits.UnboundedTables = true
	for _, declared := range []string{"\x70\x00\x01", "\x70\x01\x01\x91\x4e"} {
		if _, err := binary.Decode([]byte(growing(declared)), limits); err != nil {
			t.Error(err)
		}
	}
}
