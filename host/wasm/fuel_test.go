package wasm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// fuelOf is what a call used that must succeed.
func fuelOf(t *testing.T, module *wasm.Module, request wasm.Request) int64 {
	t.Helper()
	result, err := call(t, module, request)
	if err != nil {
		t.Fatal(err)
	}
	return result.Fuel
}

// The same call costs the same, in whatever instance and engine it runs.
func TestFuelRepeats(t *testing.T) {
	request := wasm.Request{Entry: "work", Input: times(300_000), Operations: operations(echo)}
	var want int64
	for _, isolation := range isolations() {
		for _, lazy := range []bool{false, true} {
			spec := stubborn()
			spec.Isolation, spec.Lazy = isolation, lazy
			module := load(t, spec)
			var got []int64
			for range 3 {
				got = append(got, fuelOf(t, module, request))
			}
			if want == 0 {
				want = got[0]
			}
			if diff := cmp.Diff([]int64{want, want, want}, got); diff != "" || want < 300_000 {
				t.Errorf("%s, lazy %v: %s", isolation, lazy, diff)
			}
		}
	}
}

// Also when the guest is reseeded, and when the first call starts the first instance.
func TestFuelOfReseedingRepeats(t *testing.T) {
	guest := new(Module).Core()
	guest.Func(Reseed, nil, nil, nil, Const(10_000), Drop, Loop, Const(0), BrIf(0), End)
	guest.Entry("run", Const64(0))
	spec := wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}}
	var got []int64
	for _, lazy := range []bool{false, true} {
		spec.Lazy = lazy
		module := load(t, spec)
		for range 2 {
			got = append(got, fuelOf(t, module, wasm.Request{Entry: "run"}))
		}
	}
	if diff := cmp.Diff([]int64{got[0], got[0], got[0], got[0]}, got); diff != "" {
		t.Error(diff)
	}
}

// A call without a loop is charged for its functions, by what stands in them. A
// function of a few instructions is not charged.
func TestFuelWithoutLoops(t *testing.T) {
	guest := new(Module).Core()
	for name, length := range map[string]int{"short": 1, "middle": 1000, "long": 10_000} {
		guest.Entry(name, strings.Repeat(Get(2)+Const(1)+Add+Set(2), length), Const64(0))
	}
	module := load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"short", "middle", "long"}})
	fuel := func(entry string) int64 { return fuelOf(t, module, wasm.Request{Entry: entry}) }
	short, middle, long := fuel("short"), fuel("middle"), fuel("long")
	if short > 1 || middle != 251 || long != 2501 { // 16 instructions a unit
		t.Errorf("%d, %d and %d units", short, middle, long)
	}
}

// A budget admits a call that uses all of it, and not one unit more.
func TestFuelBudgetIsExact(t *testing.T) {
	guest := new(Module).Core()
	guest.Entry("turn", Get(0), Load, Set(3), Loop, Get(3), Const(1), Sub, Tee(3), BrIf(0), End, Const64(0))
	spec := wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"turn"}}
	for _, n := range []int{1, 1000, 300_000} {
		request := wasm.Request{Entry: "turn", Input: times(n)}
		spec.Limits.Fuel = 0
		used := fuelOf(t, load(t, spec), request)
		for _, budget := range []int64{used, used - 1, used / 2, 1} {
			if budget == 0 {
				continue // none
			}
			spec.Limits.Fuel = budget
			module := load(t, spec)
			result, err := call(t, module, request)
			if budget == used {
				if err != nil || result.Fuel != used {
					t.Errorf("%d turns: %d of %d used, %v", n, result.Fuel, budget, err)
				}
				continue
			}
			limit, _ := errors.AsType[*wasm.LimitError](err)
			if diff := cmp.Diff(&wasm.LimitError{What: "fuel of a call", Limit: budget, Knob: "Fuel"}, limit); diff != "" {
				t.Errorf("%d turns, budget %d of %d: %v", n, budget, used, err)
			}
		}
	}
}
