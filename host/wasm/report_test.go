package wasm_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// unset lists the fields of a report that say nothing.
func unset(report wasm.Report) (names []string) {
	value := reflect.ValueOf(report)
	for _, field := range reflect.VisibleFields(value.Type()) {
		if value.FieldByIndex(field.Index).IsZero() {
			names = append(names, field.Name)
		}
	}
	return names
}

func TestReport(t *testing.T) {
	guest := new(Module).Core()
	guest.Memory(3, 0)
	guest.Func("_initialize", nil, nil, nil, Const(2), Grow, Drop)
	guest.Entry("run", Const64(0))
	spec := wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}, Limits: wasm.Limits{Instances: 7}}
	report := load(t, spec).Report()
	if diff := cmp.Diff([]string{"Why"}, unset(report)); diff != "" { // it is what was asked for
		t.Errorf("fields that say nothing: %s", diff)
	}
	if report.Isolation != wasm.Restore || report.Asked != wasm.Restore || report.ImageBytes != 5<<16 ||
		report.Limits.Instances != 7 || report.Limits.MemoryMiB != 32 || report.MeteredBytes <= report.Info.Size || report.Info.Memory.Min != 3 {
		t.Errorf("%+v", report)
	}

	spec.Lazy = true
	module := load(t, spec)
	report = module.Report()
	if diff := cmp.Diff([]string{"Why", "Compile", "Start", "ImageBytes"}, unset(report)); diff != "" {
		t.Errorf("before the first call: %s", diff)
	}
	mustCall(t, module, wasm.Request{Entry: "run"})
	later := module.Report()
	if diff := cmp.Diff([]string{"Why"}, unset(later)); diff != "" {
		t.Errorf("after the first call: %s", diff)
	}
	mustCall(t, module, wasm.Request{Entry: "run"})
	if diff := cmp.Diff(later, module.Report()); diff != "" {
		t.Errorf("it changes with every call: %s", diff)
	}
}
