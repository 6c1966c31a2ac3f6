package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

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
