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

// bite is a limit, and something that it keeps from happening.
type bite struct {
	tight, loose wasm.Limits // where it must fail, and where it must not
	try          func(t *testing.T, limits wasm.Limits) error
	kind, text   string // of the error under the tight limits
}

// limitBites has a row for every field of Limits.
func limitBites() map[string]bite {
	return map[string]bite{
		"MemoryMiB": {
			wasm.Limits{MemoryMiB: 1}, wasm.Limits{MemoryMiB: 2}, callLimited("page", nil), wasm.KindTrap, "unreachable", // it sees -1
		},
		"Instances": {
			wasm.Limits{Instances: 1, Wait: time.Second}, wasm.Limits{Instances: 2, Wait: time.Second}, twoAtATime, wasm.KindBusy, "",
		},
		"PoolMiB": {
			wasm.Limits{PoolMiB: 1, Wait: time.Second}, wasm.Limits{PoolMiB: 2, Wait: time.Second}, twoAtATime, wasm.KindBusy, "",
		},
		"Deadline": {
			wasm.Limits{Deadline: 500 * time.Microsecond}, wasm.Limits{Deadline: 2 * time.Millisecond}, sleepMillisecond, wasm.KindDeadline, "",
		},
		"Wait": {
			wasm.Limits{Wait: time.Second}, wasm.Limits{Wait: 3 * time.Second}, waitTwoSeconds, wasm.KindBusy, "",
		},
		"Start": {
			wasm.Limits{Start: 500 * time.Microsecond}, wasm.Limits{Start: 2 * time.Millisecond}, startMillisecond, wasm.KindAdmission, "does not start within 500µs",
		},
		"Fuel": {
			wasm.Limits{Fuel: 1000}, wasm.Limits{Fuel: 100_000}, callLimited("turn", nil), wasm.KindLimit, "fuel of a call: the limit is 1000 (Fuel)",
		},
		"StackKiB": {
			wasm.Limits{StackKiB: 64}, wasm.Limits{StackKiB: 64 << 10}, callLimited("deep", nil), wasm.KindLimit, "the limit is 65536 (StackKiB)",
		},
		"InputBytes": {
			wasm.Limits{InputBytes: 9}, wasm.Limits{InputBytes: 10}, callLimited("echo", make([]byte, 10)), wasm.KindLimit, "bytes of input: 10, the limit is 9 (InputBytes)",
		},
		"OutputBytes": {
			wasm.Limits{OutputBytes: 9}, wasm.Limits{OutputBytes: 10}, callLimited("echo", make([]byte, 10)), wasm.KindAnswer, "it claims 10 bytes, the limit is 9 (OutputBytes)",
		},
		"LogBytes": {
			wasm.Limits{LogBytes: 3}, wasm.Limits{LogBytes: 4}, callLimited("print", nil), wasm.KindOther, "a call may write 3 bytes (LogBytes)",
		},
		"Operations": {
			wasm.Limits{Operations: 1}, wasm.Limits{Operations: 2}, callLimited("ask", []byte("xx")), wasm.KindOther, "operations in one call: 2, the limit is 1 (Operations)",
		},
		"OperationBytes": {
			wasm.Limits{OperationBytes: 9}, wasm.Limits{OperationBytes: 10}, callLimited("ask", make([]byte, 10)), wasm.KindOther,
			"bytes of an operation's request: 10, the limit is 9 (OperationBytes)",
		},
		"StickyCalls": {
			wasm.Limits{StickyCalls: 2}, wasm.Limits{StickyCalls: 3}, countThrice, wasm.KindOther, "it began anew",
		},
		"StickyAge": {
			wasm.Limits{StickyAge: 110 * time.Minute}, wasm.Limits{StickyAge: 130 * time.Minute}, countThrice, wasm.KindOther, "it began anew",
		},
	}
}

func TestEveryLimitBites(t *testing.T) {
	bites := limitBites()
	for _, name := range slices.Sorted(maps.Keys(bites)) {
		bite := bites[name]
		t.Run(name, func(t *testing.T) {
			if err := bite.try(t, bite.loose); err != nil {
				t.Errorf("where there is room: %v", err)
			}
			if err := bite.try(t, bite.tight); wasm.Kind(err) != bite.kind || !strings.Contains(fmt.Sprint(err), bite.text) {
				t.Errorf("got %s: %v; want %s: %s", wasm.Kind(err), err, bite.kind, bite.text)
			}
		})
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[wasm.Limits]()) {
		if _, ok := bites[field.Name]; !ok {
			t.Errorf("no test shows that the limit %s bites", field.Name)
		}
	}
}

// limited is a guest that wants a little of everything.
//
//	page   grows by 16 pages, and traps when it may not
//	turn   turns a loop 100,000 times
//	deep   calls itself 100,000 times
//	echo   answers its input
//	print  writes 4 bytes
//	ask    asks twice with its input, answers the last answer
//	count  answers one byte, how often it was called in this instance
func limited() wasm.Spec {
	guest := new(Module)
	write := guest.Import(wasi, "fd_write", Types(I32, I32, I32, I32), Types(I32))
	host, read := guest.Operations()
	guest.Core().Memory(16, 0)
	guest.Data(2000, vectors(2100, 4))
	count := guest.Global(0)
	guest.Entry("page", Const(16), Grow, Const(-1), Eq, If, Unreachable, End, Const64(0))
	guest.Entry("turn", Const(100_000), Set(2), Loop, Get(2), Const(1), Sub, Tee(2), BrIf(0), End, Const64(0))
	self := guest.Next()
	guest.Func("", Types(I32), Types(I32), nil, Get(0), IfI32, Get(0), Const(1), Sub, Call(self), Get(0), Add, Else, Const(0), End)
	guest.Entry("deep", Const(100_000), Call(self), Drop, Const64(0))
	guest.Entry("echo", Answer(Get(0), Get(1)))
	guest.Entry("print", Const(1), Const(2000), Const(1), Const(1004), Call(write), Drop, Const64(0))
	ask := Code(Const(0), Const(1), Get(0), Get(1), Call(host), Set(2))
	guest.Entry("ask", ask, ask, Const(Room), Call(read), Answer(Const(Room), Get(2)))
	guest.Entry("count",
		GetGlobal(count), Const(1), Add, SetGlobal(count),
		Const(Room), GetGlobal(count), Store8, Answer(Const(Room), Const(1)))
	return wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"page", "turn", "deep", "echo", "print", "ask", "count"}}
}

// callLimited calls an entry. What the guest is told or the log says of a limit is
// an error as well.
func callLimited(entry string, input []byte) func(t *testing.T, limits wasm.Limits) error {
	return func(t *testing.T, limits wasm.Limits) error {
		t.Helper()
		spec := limited()
		spec.Limits = limits
		var log lines
		silent := operations(func(context.Context, string, []byte) []byte { return nil })
		result, err := call(t, load(t, spec), wasm.Request{Entry: entry, Input: input, Log: log.add, Operations: silent})
		said := strings.Join(log.text, "\n") + string(result.Output)
		if err == nil && strings.Contains(said, "(") {
			err = errors.New(said)
		}
		return err
	}
}

// twoAtATime has two calls in their operations at the same time.
func twoAtATime(t *testing.T, limits wasm.Limits) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		spec := limited()
		spec.Limits = limits
		module := loadIn(t, newEngine(t, options()), spec)
		gate := newGate()
		holding := calling(t.Context(), module, wasm.Request{Operations: gate})
		<-gate.begun
		_, err = call(t, module, wasm.Request{Entry: "ask", Operations: operations(echo)})
		go func() { <-gate.begun }() // it asks twice
		close(gate.open)
		if held := <-holding; held != nil {
			t.Error(held)
		}
	})
	return err
}

// sleepMillisecond calls a guest that sleeps that long.
func sleepMillisecond(t *testing.T, limits wasm.Limits) (err error) {
	t.Helper()
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		spec := sleeps()
		spec.Limits = limits
		_, err = call(t, loadIn(t, engine, spec), wasm.Request{Entry: "sleep"})
	})
	return err
}

// startMillisecond loads a guest that sleeps that long when it starts.
func startMillisecond(t *testing.T, limits wasm.Limits) (err error) {
	t.Helper()
	guest := new(Module)
	poll := guest.Import(wasi, "poll_oneoff", Types(I32, I32, I32, I32), Types(I32))
	guest.Core().Data(2000, string(clockSubscription(1, 1, uint64(time.Millisecond), 0)))
	guest.Func("_initialize", nil, nil, nil, Const(2000), Const(1000), Const(1), Const(1100), Call(poll), Drop)
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		_, err = engine.Load(t.Context(), wasm.Spec{Name: "guest", Wasm: guest.Bytes(), Limits: limits})
	})
	return err
}

// waitTwoSeconds calls while the processor is held that long.
func waitTwoSeconds(t *testing.T, limits wasm.Limits) (err error) {
	t.Helper()
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		spec := askerSpec()
		spec.Limits = limits
		module := loadIn(t, engine, spec)
		hold := operations(func(context.Context, string, []byte) []byte { time.Sleep(2 * time.Second); return nil })
		holding := calling(t.Context(), module, wasm.Request{Operations: hold})
		synctest.Wait()
		_, err = call(t, module, wasm.Request{Entry: "ask", Operations: operations(echo)})
		if held := <-holding; held != nil {
			t.Error(held)
		}
	})
	return err
}

// countThrice calls a sticky guest three times, an hour apart.
func countThrice(t *testing.T, limits wasm.Limits) (err error) {
	t.Helper()
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		spec := limited()
		spec.Limits, spec.Isolation = limits, wasm.Sticky
		if limits.StickyAge == 0 {
			spec.Limits.StickyAge = 24 * time.Hour
		}
		module := loadIn(t, engine, spec)
		for n := range 3 {
			if got := mustCall(t, module, wasm.Request{Entry: "count", Session: "a"}); got != string(rune(n+1)) {
				err = errors.New("it began anew")
			}
			time.Sleep(time.Hour)
		}
	})
	return err
}

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
	_, err := engine.Load(t.Context(), func() wasm.Spec { s := hungry(); s.Name = "b"; return s }())
	if wasm.Kind(err) != wasm.KindAdmission && wasm.Kind(err) != wasm.KindLimit {
		t.Errorf("another module: %v", err)
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
