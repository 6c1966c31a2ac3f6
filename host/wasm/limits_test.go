package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
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
		"HandleMiB": {
			wasm.Limits{HandleMiB: 1}, wasm.Limits{HandleMiB: 2}, callHoarder("much"), wasm.KindLimit, "bytes of Extism memory in one call: 1048577, the limit is 1048576 (HandleMiB)",
		},
		"Handles": {
			wasm.Limits{Handles: 1}, wasm.Limits{Handles: 2}, callHoarder("many"), wasm.KindLimit, "blocks of Extism memory in one call: 2, the limit is 1 (Handles)",
		},
		"VariableBytes": {
			wasm.Limits{VariableBytes: 45}, wasm.Limits{VariableBytes: 46}, callHoarder("variable"), wasm.KindLimit, "bytes of variables: 45, the limit is 45 (VariableBytes)",
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
