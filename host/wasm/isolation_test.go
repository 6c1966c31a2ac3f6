package wasm_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// isolations are all there are.
func isolations() []wasm.Isolation { return []wasm.Isolation{wasm.Restore, wasm.Fresh, wasm.Sticky} }

// loadIn loads a module that must be admitted into an engine.
func loadIn(t testing.TB, engine *wasm.Engine, spec wasm.Spec) *wasm.Module {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "guest"
	}
	module, err := engine.Load(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func secret() wasm.Spec {
	return wasm.Spec{Wasm: Secret().Bytes(), Entries: []string{"hide", "find", "reach", "trap"}}
}

// marker makes a secret's message.
func marker() []byte {
	message := make([]byte, 8)
	_, _ = rand.Read(message)
	return message
}

// finds calls find or reach.
func finds(t *testing.T, module *wasm.Module, entry, session string, message []byte) int {
	t.Helper()
	return int(binary.LittleEndian.Uint32([]byte(mustCall(t, module, wasm.Request{Entry: entry, Session: session, Input: message}))))
}

func TestNoCallSeesWhatAnotherLeft(t *testing.T) {
	for _, isolation := range isolations() {
		t.Run(string(isolation), func(t *testing.T) {
			spec := secret()
			spec.Isolation = isolation
			module := load(t, spec)
			for round := range 3 {
				message := marker()
				mustCall(t, module, wasm.Request{Entry: "hide", Session: "a", Input: message})
				for _, entry := range []string{"find", "reach"} {
					if found := finds(t, module, entry, "b", message); found != 0 {
						t.Errorf("round %d, %s: session b finds %d traces of session a", round, entry, found)
					}
				}
				own := finds(t, module, "find", "a", message)
				if kept := isolation == wasm.Sticky; kept != (own == 10) || !kept && own != 0 {
					t.Errorf("round %d: session a finds %d traces of itself", round, own)
				}
				if _, err := call(t, module, wasm.Request{Entry: "trap", Session: "a", Input: message}); wasm.Kind(err) != wasm.KindTrap {
					t.Errorf("got %v", err)
				}
				if found := finds(t, module, "reach", "a", message); found != 0 {
					t.Errorf("round %d: %d traces are left after a trap", round, found)
				}
			}
		})
	}
}

// The memory of a module that is gone becomes another's.
func TestNoModuleSeesWhatAnotherLeft(t *testing.T) {
	engine := newEngine(t, options())
	message := marker()
	for range 3 {
		module := loadIn(t, engine, secret())
		if found := finds(t, module, "reach", "", message); found != 0 {
			t.Errorf("%d traces of a module that is gone", found)
		}
		mustCall(t, module, wasm.Request{Entry: "hide", Input: message})
		if err := module.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A sticky instance that was used without a session is nobody else's.
func TestCallsWithoutASessionAreASession(t *testing.T) {
	module := load(t, wasm.Spec{Isolation: wasm.Sticky})
	count := func(session string) string {
		return mustCall(t, module, wasm.Request{Entry: "count", Session: session})
	}
	got := []string{count(""), count(""), count("a"), count("")}
	if diff := cmp.Diff([]string{"\x01", "\x02", "\x01", "\x03"}, got); diff != "" {
		t.Error(diff)
	}
}

// reseeding is a guest that draws 8 bytes when it starts and when it is reseeded.
//
//	seed  answers them, and how often it was reseeded
func reseeding() wasm.Spec {
	guest := new(Module)
	random := guest.Import(wasi, "random_get", Types(I32, I32), Types(I32))
	guest.Core()
	times := guest.Global(0)
	draw := Code(Const(1000), Const(8), Call(random), Drop)
	guest.Func("_initialize", nil, nil, nil, draw)
	guest.Func(Reseed, nil, nil, nil, draw, GetGlobal(times), Const(1), Add, SetGlobal(times))
	guest.Entry("seed", Const(1008), GetGlobal(times), Store8, Answer(Const(1000), Const(9)))
	return wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"seed"}}
}

func TestReseed(t *testing.T) {
	for isolation, want := range map[wasm.Isolation][]byte{
		wasm.Restore: {1, 1, 1, 1}, // put back before each
		wasm.Sticky:  {1, 1, 1, 1}, // once in an instance, which is a's or b's
		wasm.Fresh:   {0, 0, 0, 0}, // it begins with randomness of its own
	} {
		for _, lazy := range []bool{false, true} {
			spec := reseeding()
			spec.Isolation, spec.Lazy = isolation, lazy
			module := load(t, spec)
			var times []byte
			seeds := make(map[string]bool)
			for _, session := range []string{"a", "b", "a", "b"} {
				answer := mustCall(t, module, wasm.Request{Entry: "seed", Session: session})
				times = append(times, answer[8])
				seeds[answer[:8]] = true
			}
			if distinct := map[bool]int{true: 2, false: 4}[isolation == wasm.Sticky]; len(seeds) != distinct {
				t.Errorf("%s, lazy %v: %d distinct seeds, want %d", isolation, lazy, len(seeds), distinct)
			}
			if !bytes.Equal(times, want) {
				t.Errorf("%s, lazy %v: reseeded %v times, want %v", isolation, lazy, times, want)
			}
		}
	}
}

func TestTrapWhileReseeding(t *testing.T) {
	guest := new(Module).Core()
	guest.Func(Reseed, nil, nil, nil, Unreachable)
	guest.Entry("run", Const64(0))
	module := load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}})
	for range 2 {
		if _, err := call(t, module, wasm.Request{Entry: "run"}); wasm.Kind(err) != wasm.KindTrap {
			t.Errorf("got %v", err)
		}
	}
	if stats := module.Stats(); stats.Discarded != 2 || stats.Idle != 0 {
		t.Errorf("%+v", stats)
	}
}

func TestWhatCannotBeRestoredIsFresh(t *testing.T) {
	table := func(code ...string) func(m *Module) {
		return func(m *Module) {
			m.Table(2, 2)
			m.PassiveElements(0)
			m.Func("", nil, nil, nil, code...)
		}
	}
	global := func(kind byte, value string) func(m *Module) {
		return func(m *Module) { m.GlobalOf(kind, value) }
	}
	tests := []struct {
		name   string // stands in Report().Why
		change func(m *Module)
	}{
		{"table.set", table(Const(0), NullFunc, TableSet())},
		{"table.grow", table(NullFunc, Const(0), TableGrow(), Drop)},
		{"table.fill", table(Const(0), NullFunc, Const(1), TableFill)},
		{"table.copy", table(Const(0), Const(1), Const(1), TableCopy)},
		{"table.init", table(Const(0), Const(0), Const(1), TableInit)},
		{"elem.drop", table(ElemDrop)},
		{"data.drop", func(m *Module) { m.Passive("data"); m.Func("", nil, nil, nil, DataDrop) }},
		{"mutable global of type v128", global(V128, "\xfd\x0c"+strings.Repeat("\x00", 16))},
		{"mutable global of type funcref", global(FuncRef, NullFunc)},
		{"mutable global of type externref", global(ExternRef, NullExtern)},
		{"", func(m *Module) {
			m.Passive("data")
			m.Func("", nil, nil, nil, Const(0), Const(0), Const(4), DataInit)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			guest := new(Module).Core()
			test.change(guest)
			guest.Entry(Init, Const64(0))
			guest.Entry("run", Const64(0))
			begun := 0
			spec := wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}, Init: []byte("x"), CheckInit: func([]byte) error { begun++; return nil }}
			module := load(t, spec)
			for range 3 {
				mustCall(t, module, wasm.Request{Entry: "run"})
			}
			report := module.Report()
			if test.name == "" {
				if report.Isolation != wasm.Restore || report.Why != "" || begun != 1 {
					t.Errorf("%s: %q, begun %d times", report.Isolation, report.Why, begun)
				}
				return
			}
			if report.Asked != wasm.Restore || report.Isolation != wasm.Fresh || !strings.HasSuffix(report.Why, "cannot put back: "+test.name) {
				t.Errorf("%s instead of %s: %q", report.Isolation, report.Asked, report.Why)
			}
			if begun != 4 { // one for Load, then one each
				t.Errorf("init ran %d times", begun)
			}
			spec.Isolation = wasm.Sticky // sessions begin anew, none from a snapshot
			sticky := load(t, spec)
			for _, session := range []string{"a", "b", "a"} {
				mustCall(t, sticky, wasm.Request{Entry: "run", Session: session})
			}
			if report := sticky.Report(); report.Isolation != wasm.Sticky || report.Why != "" || begun != 6 {
				t.Errorf("sticky: %q, begun %d times", report.Why, begun-4)
			}
		})
	}
}

// talkative is a guest that prints a line whenever something of it runs before a
// call.
func talkative() wasm.Spec {
	guest := new(Module)
	write := guest.Import(wasi, "fd_write", Types(I32, I32, I32, I32), Types(I32))
	host, _ := guest.Operations()
	guest.Core().Data(2000, vectors(2100, 6))
	guest.Data(2100, "begun\n")
	say := Code(Const(1), Const(2000), Const(1), Const(1004), Call(write), Drop)
	guest.Start(guest.Func("", nil, nil, nil, say))
	guest.Func("_initialize", nil, nil, nil, say)
	guest.Entry(Init, say, Const64(0))
	guest.Entry("run", Const(0), Const(0), Const(0), Const(0), Call(host), Drop, Const64(0))
	return wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}, Init: []byte("x")}
}

// Three calls at a time need three instances, of which only the first runs
// anything of the guest's to come into being.
func TestInstancesFromTheSnapshotRunNothing(t *testing.T) {
	for isolation, want := range map[wasm.Isolation]int{wasm.Restore: 1, wasm.Sticky: 1, wasm.Fresh: 4} {
		var log lines
		sink := options()
		sink.Logger = recorder(&log)
		spec := talkative()
		spec.Isolation = isolation
		module := loadIn(t, newEngine(t, sink), spec)
		gate := newGate()
		var group sync.WaitGroup
		for n := range 3 {
			group.Go(func() {
				request := wasm.Request{Entry: "run", Operations: gate, Session: fmt.Sprint(n)}
				if _, err := module.Call(context.Background(), request); err != nil {
					t.Error(err)
				}
			})
		}
		for range 3 {
			<-gate.begun
		}
		close(gate.open)
		group.Wait()
		if got := len(log.text); got != 3*want {
			t.Errorf("%s: %d lines, want those of %d starts", isolation, got, want)
		}
	}
}

// Whatever ends a call badly ends the instance.
func TestFaultsDiscardTheInstanceInEveryIsolation(t *testing.T) {
	cause := errors.New("the user pressed stop")
	faults := map[string]func(module *wasm.Module) error{
		wasm.KindTrap: func(module *wasm.Module) error {
			_, err := call(t, module, wasm.Request{Entry: "trap"})
			return err
		},
		wasm.KindDeadline: func(module *wasm.Module) error {
			_, err := call(t, module, wasm.Request{Entry: "loop", Deadline: 5 * time.Millisecond})
			return err
		},
		wasm.KindAnswer: func(module *wasm.Module) error {
			_, err := call(t, module, wasm.Request{Entry: "outside"})
			return err
		},
		wasm.KindCancelled: func(module *wasm.Module) error {
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			ended := make(chan error, 1)
			go func() {
				_, err := module.Call(ctx, wasm.Request{Entry: "loop", Deadline: time.Hour})
				ended <- err
			}()
			for module.Stats().Leased == 0 { // a cancel before the lease would harm nothing
				runtime.Gosched()
			}
			cancel(cause)
			return <-ended
		},
	}
	for _, isolation := range isolations() {
		for kind, fault := range faults {
			t.Run(string(isolation)+" "+kind, func(t *testing.T) {
				module := load(t, wasm.Spec{Isolation: isolation})
				mustCall(t, module, wasm.Request{Entry: "count"})
				before := module.Stats()
				if err := fault(module); wasm.Kind(err) != kind {
					t.Errorf("got %v", err)
				}
				after := module.Stats()
				if after.Discarded != before.Discarded+1 || after.Idle != 0 || after.Leased != 0 {
					t.Errorf("before %+v, after %+v", before, after)
				}
				if got := mustCall(t, module, wasm.Request{Entry: "count"}); got != "\x01" {
					t.Errorf("count %q in an instance that should be new", got)
				}
			})
		}
	}
}

// Calls of one session take turns on its instance, also while one of them waits
// for the world outside; others go on meanwhile.
func TestOneStickyInstanceASession(t *testing.T) {
	guest := new(Module)
	host, _ := guest.Operations()
	guest.Core()
	count := guest.Global(0)
	guest.Entry("run",
		Const(0), Const(0), Const(0), Const(0), Call(host), Drop,
		GetGlobal(count), Const(1), Add, SetGlobal(count),
		Const(Room), GetGlobal(count), Store8, Answer(Const(Room), Const(1)))
	module := load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}, Isolation: wasm.Sticky, Limits: wasm.Limits{Instances: 8}})
	var mu sync.Mutex
	inside := make(map[string]int)
	enter := func(session string, by int) {
		mu.Lock()
		defer mu.Unlock()
		if inside[session] += by; inside[session] > 1 {
			t.Errorf("%d calls of session %s at a time", inside[session], session)
		}
	}
	sessions := []string{"a", "b", "c"}
	results := make(map[string]map[string]bool)
	for _, session := range sessions {
		results[session] = make(map[string]bool)
	}
	const each = 10
	var group sync.WaitGroup
	for range each {
		for _, session := range sessions {
			group.Go(func() {
				visit := operations(func(ctx context.Context, _ string, _ []byte) []byte {
					enter(session, 1)
					defer enter(session, -1)
					_ = wasm.Wait(ctx, func(context.Context) error { return nil })
					return nil
				})
				result, err := module.Call(context.Background(), wasm.Request{Entry: "run", Session: session, Operations: visit})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				results[session][string(result.Output)] = true
			})
		}
	}
	group.Wait()
	for _, session := range sessions {
		if len(results[session]) != each || !results[session][string(rune(each))] {
			t.Errorf("session %s counted %d of %d", session, len(results[session]), each)
		}
	}
	if stats := module.Stats(); stats.Started != len(sessions) || stats.Discarded != 0 || stats.Idle != len(sessions) {
		t.Errorf("%+v", stats)
	}
}
