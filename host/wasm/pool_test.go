package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// waiter is a module whose entry asks for one operation and answers nothing.
func waiter(t *testing.T, spec wasm.Spec) *wasm.Module {
	t.Helper()
	guest := new(Module)
	host, _ := guest.Operations()
	guest.Core().Entry("wait", Const(0), Const(0), Const(0), Const(0), Call(host), Drop, Const64(0))
	spec.Wasm, spec.Entries = guest.Bytes(), []string{"wait"}
	return load(t, spec)
}

// gate is an operation that says it has begun and then waits.
type gate struct{ begun, open chan struct{} }

func newGate() gate { return gate{begun: make(chan struct{}), open: make(chan struct{})} }

func (g gate) Call(context.Context, string, []byte) []byte {
	g.begun <- struct{}{}
	<-g.open
	return nil
}

func TestAStickyInstanceServesOneSession(t *testing.T) {
	module := load(t, wasm.Spec{Isolation: wasm.Sticky, Limits: wasm.Limits{Instances: 2}})
	count := func(session string) string {
		return mustCall(t, module, wasm.Request{Entry: "count", Session: session})
	}
	got := []string{count("a"), count("b"), count("a"), count("b"), count("c"), count("b"), count("a")}
	// c takes the place of a, which was unused the longest; then a that of c.
	if diff := cmp.Diff([]string{"\x01", "\x01", "\x02", "\x02", "\x01", "\x03", "\x01"}, got); diff != "" {
		t.Error(diff)
	}
	if stats := module.Stats(); stats.Idle != 2 || stats.Leased != 0 {
		t.Errorf("%+v", stats)
	}
}

func TestTheFirstInstanceIsForAnySession(t *testing.T) {
	module := load(t, wasm.Spec{Isolation: wasm.Sticky})
	mustCall(t, module, wasm.Request{Entry: "count", Session: "a"})
	if diff := cmp.Diff(wasm.Stats{Started: 1, Idle: 1}, module.Stats()); diff != "" {
		t.Error(diff)
	}
}

func TestAStickyInstanceIsReplaced(t *testing.T) {
	for name, limits := range map[string]wasm.Limits{
		"after its calls": {StickyCalls: 2},
		"for its age":     {StickyAge: time.Nanosecond},
	} {
		module := load(t, wasm.Spec{Isolation: wasm.Sticky, Limits: limits})
		var got string
		for range 3 {
			got += mustCall(t, module, wasm.Request{Entry: "count"})
		}
		if want := map[string]string{"after its calls": "\x01\x02\x01", "for its age": "\x01\x01\x01"}[name]; got != want {
			t.Errorf("%s: counts %q, want %q", name, got, want)
		}
		if stats := module.Stats(); stats.Started-stats.Discarded != 1 || stats.Idle != 1 {
			t.Errorf("%s: %+v", name, stats)
		}
	}
}

func TestBusy(t *testing.T) {
	module := waiter(t, wasm.Spec{Limits: wasm.Limits{Instances: 1, Wait: 10 * time.Millisecond}})
	gate := newGate()
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := module.Call(context.Background(), wasm.Request{Entry: "wait", Operations: gate}); err != nil {
			t.Error(err)
		}
	})
	<-gate.begun
	_, err := call(t, module, wasm.Request{Entry: "wait"})
	if !errors.Is(err, wasm.ErrBusy) || wasm.Kind(err) != wasm.KindBusy {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	if _, err := module.Call(ctx, wasm.Request{Entry: "wait"}); !errors.Is(err, wasm.ErrDeadline) {
		t.Errorf("a caller out of time: %v", err)
	}
	close(gate.open)
	group.Wait()
	if diff := cmp.Diff(wasm.Stats{Started: 1, Idle: 1}, module.Stats()); diff != "" {
		t.Error(diff)
	}
}

func TestCloseWaitsForCalls(t *testing.T) {
	module := waiter(t, wasm.Spec{})
	gate := newGate()
	answered := make(chan error, 1)
	go func() {
		_, err := module.Call(context.Background(), wasm.Request{Entry: "wait", Operations: gate})
		answered <- err
	}()
	<-gate.begun
	closed := make(chan error, 2)
	for range 2 {
		go func() { closed <- module.Close() }()
	}
	// New calls are refused as soon as the close has begun, while it waits.
	for {
		_, err := module.Call(context.Background(), wasm.Request{Entry: "wait"})
		if errors.Is(err, wasm.ErrClosed) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-closed:
		t.Error("closed under a call")
	default:
	}
	close(gate.open)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(wasm.Stats{Started: module.Stats().Started}, module.Stats(), cmp.FilterPath(func(p cmp.Path) bool {
		return p.String() == "Discarded"
	}, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
}

func TestEngineCloseClosesModules(t *testing.T) {
	engine, err := wasm.New(options())
	if err != nil {
		t.Fatal(err)
	}
	spec := wasm.Spec{Name: "guest", Wasm: Guest().Bytes(), Entries: guestEntries()}
	module, err := engine.Load(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := engine.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := call(t, module, wasm.Request{Entry: "echo"}); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("call: %v", err)
	}
	if _, err := engine.Load(context.Background(), spec); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("load: %v", err)
	}
}

// Calls of all sorts at once; each answer must be the call's own.
func TestConcurrentCalls(t *testing.T) {
	module := load(t, wasm.Spec{Limits: wasm.Limits{Instances: 3}})
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			session := fmt.Sprint("session ", worker%4)
			for i := range 40 {
				input := fmt.Sprintf("worker %d call %d", worker, i)
				result, err := module.Call(context.Background(), wasm.Request{Entry: "echo", Input: []byte(input), Session: session})
				if err != nil || string(result.Output) != input {
					t.Errorf("%q answered %q, %v", input, result.Output, err)
				}
				if i%10 == worker {
					if _, err := module.Call(context.Background(), wasm.Request{Entry: "trap", Session: session}); wasm.Kind(err) != wasm.KindTrap {
						t.Errorf("trap: %v", err)
					}
				}
			}
		})
	}
	group.Wait()
	if stats := module.Stats(); stats.Leased != 0 || stats.Idle > 3 || stats.Started-stats.Discarded != stats.Idle {
		t.Errorf("%+v", stats)
	}
}
