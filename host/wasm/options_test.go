package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// optionBites has a row for every number among the options of an engine, with those
// of CompileLimits.
func optionBites() map[string]func(t *testing.T) {
	return map[string]func(t *testing.T){
		"MemoryMiB":               testMemoryOfAllGuests,
		"Tools":                   func(t *testing.T) { testLaneIsBounded(t, wasm.LaneTool) },
		"Quick":                   func(t *testing.T) { testLaneIsBounded(t, wasm.LaneQuick) },
		"CompileLimits.MemoryMiB": testCompilerMemory,
		"CompileLimits.Base":      testCompilerBase,
		"CompileLimits.PerMiB":    testCompilerPerMiB,
	}
}

func TestEveryOptionBites(t *testing.T) {
	bites := optionBites()
	for _, name := range slices.Sorted(maps.Keys(bites)) {
		t.Run(name, bites[name])
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[wasm.Options]()) {
		if _, ok := bites[field.Name]; !ok && field.Type.Kind() == reflect.Int {
			t.Errorf("no test shows that the option %s bites", field.Name)
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[wasm.CompileLimits]()) {
		if _, ok := bites["CompileLimits."+field.Name]; !ok {
			t.Errorf("no test shows that CompileLimits.%s bites", field.Name)
		}
	}
}

// testLaneIsBounded counts how many guests are in their operations at a time.
func testLaneIsBounded(t *testing.T, lane wasm.Lane) {
	for _, bound := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			bounded := options()
			bounded.Tools, bounded.Quick = 100, 100
			*map[wasm.Lane]*int{wasm.LaneTool: &bounded.Tools, wasm.LaneQuick: &bounded.Quick}[lane] = bound
			spec := askerSpec()
			spec.Limits.Instances = 10
			module := loadIn(t, newEngine(t, bounded), spec)
			var inside, most atomic.Int32
			stay := operations(func(context.Context, string, []byte) []byte {
				inside.Add(1)
				time.Sleep(time.Second) // which passes when nobody else can come in
				most.Store(max(most.Load(), inside.Load()))
				inside.Add(-1)
				return nil
			})
			var ends []<-chan error
			for n := range 6 {
				ends = append(ends, calling(t.Context(), module, wasm.Request{Lane: lane, Operations: stay, Session: fmt.Sprint(n)}))
			}
			for _, ended := range ends {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			if got := int(most.Load()); got != bound {
				t.Errorf("%s: %d at a time, want %d", lane, got, bound)
			}
		})
	}
}

// hungry is a guest that begins with 2 MiB and grows in its init by one more.
func hungry() wasm.Spec {
	guest := new(Module)
	host, read := guest.Operations()
	guest.Core().Memory(32, 0)
	ask := Code(Const(0), Const(0), Const(0), Const(0), Call(host), Set(2))
	guest.Entry("ask", ask, Const(Room), Call(read), Answer(Const(Room), Get(2)))
	guest.Func("_initialize", nil, nil, nil, Const(16), Grow, Const(-1), Eq, If, Unreachable, End)
	guest.Entry("grow",
		Loop, Const(1), Grow, Const(-1), Eq, Eqz, BrIf(0), End,
		Const(Room), Size, Store, Answer(Const(Room), Const(4)))
	return wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"ask", "grow"}, Limits: wasm.Limits{Instances: 4}}
}

// Every instance counts, and the image of each module.
func testMemoryOfAllGuests(t *testing.T) {
	small := options()
	small.MemoryMiB = 8
	full := wasm.LimitError{What: "bytes of memory of all guests", Limit: 8 << 20, Knob: "Options.MemoryMiB"}
	engine := newEngine(t, small)
	a := loadIn(t, engine, hungry()) // an image and an idle instance, 3 MiB each
	gate := newGate()
	holding := calling(t.Context(), a, wasm.Request{Operations: gate})
	<-gate.begun
	for range 2 { // a second instance begins with 2 MiB and cannot have its third
		_, err := call(t, a, wasm.Request{Entry: "ask", Operations: operations(echo)})
		checkFull(t, err, full, 9<<20)
	}
	if _, err := engine.Load(t.Context(), named("b", hungry())); wasm.Kind(err) != wasm.KindAdmission || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("another module, whose init has no room: %v", err)
	}
	large := Guest()
	large.Memory(33, 0)
	_, err := engine.Load(t.Context(), wasm.Spec{Name: "large", Wasm: large.Bytes(), Entries: guestEntries()})
	checkFull(t, err, full, 6<<20+33<<16)
	if err == nil || !strings.HasPrefix(err.Error(), "load module large: ") {
		t.Errorf("it names no module: %v", err)
	}
	close(gate.open)
	if err := <-holding; err != nil {
		t.Error(err)
	}
	// What grows is stopped by the same budget: 2 MiB are free.
	if got := mustCall(t, a, wasm.Request{Entry: "grow"}); got != string([]byte{5 * 16, 0, 0, 0}) {
		t.Errorf("it grew to %v pages", []byte(got))
	}
	if stats := a.Stats(); stats.Leased != 0 {
		t.Errorf("%+v", stats)
	}
	// Idle instances make room for another module's.
	spec := wasm.Spec{Wasm: func() []byte { m := Guest(); m.Memory(24, 0); return m.Bytes() }(), Entries: guestEntries()}
	b := loadIn(t, engine, spec) // an instance and an image of 1.5 MiB
	mustCall(t, b, wasm.Request{Entry: "echo"})
	if stats := a.Stats(); stats.Idle != 0 {
		t.Errorf("idle instances were kept while another module found no room: %+v", stats)
	}
	mustCall(t, a, wasm.Request{Entry: "ask", Operations: operations(echo)})
	if stats := b.Stats(); stats.Idle != 0 {
		t.Errorf("idle instances were kept while another call found no room: %+v", stats)
	}
}

func checkFull(t *testing.T, err error, want wasm.LimitError, got int64) {
	t.Helper()
	limit, ok := errors.AsType[*wasm.LimitError](err)
	if !ok {
		t.Errorf("got %v", err)
		return
	}
	want.Got = got
	if *limit != want {
		t.Errorf("got %+v, want %+v", *limit, want)
	}
}
