package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// witness notes what it sees.
type witness struct{ events []string }

func (w *witness) note(format string, args ...any) {
	w.events = append(w.events, fmt.Sprintf(format, args...))
}

func (w *witness) World(world wasm.Ambient) wasm.Ambient { w.note("world"); return still{world} }
func (w *witness) Asked(name string, request []byte)     { w.note("asked %s(%s)", name, request) }
func (w *witness) Answered(answer []byte, ended error)   { w.note("answered %s, %v", answer, ended) }
func (w *witness) Logged(line string)                    { w.note("logged %s", line) }

// still is a world whose time stands at 1970.
type still struct{ wasm.Ambient }

func (still) Realtime() time.Time { return time.Unix(0, 7) }

// An observer sees operations as the guest does: those that the engine answers too.
func TestObserverSeesWhatTheGuestSees(t *testing.T) {
	spec := stubborn()
	spec.Limits = wasm.Limits{Operations: 2}
	module := load(t, spec)
	var seen witness
	if _, err := call(t, module, wasm.Request{Entry: "again", Input: times(2), Operations: operations(echo), Observer: &seen}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"world", "asked test.op()", "answered test.op(), <nil>", "asked test.op()", "answered test.op(), <nil>",
		"logged operations in one call: 3, the limit is 2 (Operations); raise operations of [limits] in its manifest; this one and further ones are refused",
		"answered limit: operations in one call: 3, the limit is 2 (Operations); raise operations of [limits] in its manifest, <nil>",
	}
	if diff := cmp.Diff(want, seen.events); diff != "" {
		t.Error(diff)
	}
}

// It is told of the end that an answer tells of.
func TestObserverIsToldOfTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var seen witness
	_, err := load(t, stubborn()).Call(ctx, wasm.Request{Entry: "again", Input: times(1), Observer: &seen,
		Operations: operations(func(context.Context, string, []byte) []byte { cancel(errStop); return nil })})
	if err != nil {
		t.Fatal(err)
	}
	answered := "answered " + told + ", call cancelled: the user pressed stop"
	if diff := cmp.Diff([]string{"world", "asked test.op()", answered, "asked test.op()", answered}, seen.events); diff != "" {
		t.Error(diff)
	}
}

// Its world takes the place of the call's, and it sees lines that the log gets too.
func TestObserverStandsBeforeWorldAndLog(t *testing.T) {
	spec := worldly()
	spec.Pure = false
	spec.Limits.Deadline = 5 * time.Millisecond
	var seen witness
	_, err := call(t, load(t, spec), wasm.Request{Entry: "look", Observer: &seen})
	if !errors.Is(err, wasm.ErrDeadline) {
		t.Errorf("a sleep of an hour ended with %v", err)
	}
	var logged lines
	result, err := call(t, load(t, worldly()), wasm.Request{Entry: "look", Observer: &seen, Log: logged.add})
	if err != nil {
		t.Fatal(err)
	}
	if first, _ := looks(t, result.Output); first.Realtime != 7 {
		t.Errorf("it looked at %d", first.Realtime)
	}
	if diff := cmp.Diff([]string{"world", "world"}, seen.events); diff != "" {
		t.Error(diff)
	}
}

// A call that failed says what it used.
func TestFailedCallSaysWhatItUsed(t *testing.T) {
	module := load(t, wasm.Spec{})
	result, err := call(t, module, wasm.Request{Entry: "loop", Fuel: 50_000})
	limit, ok := errors.AsType[*wasm.LimitError](err)
	if !ok || limit.Limit != 50_000 || limit.Knob != "Fuel" {
		t.Fatalf("got %v", err)
	}
	if result.Fuel <= 50_000 || result.Fuel > 50_100 || result.Memory != 1<<16 || result.Output != nil || result.Duration <= 0 {
		t.Errorf("used %+v", result)
	}
	if result, err := call(t, module, wasm.Request{Entry: "none"}); !errors.Is(err, wasm.ErrEntry) || !cmp.Equal(result, wasm.Result{}) {
		t.Errorf("a call of nothing used %+v, %v", result, err)
	}
}

// Start stands before the world of every start, and a result says which start its
// instance, or what it is a copy of, had.
func TestResultNamesTheStart(t *testing.T) {
	for _, test := range []struct {
		isolation wasm.Isolation
		starts    []int // of three calls
		served    []int
	}{
		{wasm.Restore, []int{1, 1, 1}, []int{0, 0, 0}},
		{wasm.Fresh, []int{2, 3, 4}, []int{0, 0, 0}}, // the first is of the load
		{wasm.Sticky, []int{1, 1, 1}, []int{0, 1, 2}},
	} {
		starts := 0
		module := load(t, wasm.Spec{Wasm: Guest().Bytes(), Entries: guestEntries(), Isolation: test.isolation,
			Start: func(world wasm.Ambient) wasm.Ambient { starts++; return numbered{world, starts} }})
		var numbers, served []int
		for range 3 {
			result, err := call(t, module, wasm.Request{Entry: "count", Session: "one"})
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, result.Start.(numbered).number)
			served = append(served, result.Served)
		}
		if !cmp.Equal(numbers, test.starts) || !cmp.Equal(served, test.served) {
			t.Errorf("%s: starts %v, served %v", test.isolation, numbers, served)
		}
	}
}

type numbered struct {
	wasm.Ambient
	number int
}
