package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// spinner asks for an operation after every million turns of a loop, for ever.
func spinner() wasm.Spec {
	guest := new(Module)
	host, _ := guest.Operations()
	guest.Core().Entry("spin",
		Loop,
		Const(1_000_000), Set(2), Loop, Get(2), Const(1), Sub, Tee(2), BrIf(0), End,
		Const(0), Const(0), Const(0), Const(0), Call(host), Drop,
		Br(0), End, Const64(0))
	return wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"spin"}, Limits: wasm.Limits{Operations: 1 << 30}}
}

// Spinning tools share the one processor of their lane, whether they are one
// module's or several, and of one session or several.
func TestSpinningToolsShareTheProcessor(t *testing.T) {
	engine := newEngine(t, one())
	module, other := loadIn(t, engine, spinner()), loadIn(t, engine, spinner())
	for name, calls := range map[string][]*wasm.Module{"one module": {module, module}, "two modules": {module, other}} {
		for _, sessions := range [][]string{{"a", "b"}, {"a", "a"}} {
			t.Run(fmt.Sprint(name, sessions), func(t *testing.T) {
				const goal = 20
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				progress := make([]atomic.Int32, len(calls))
				count := func(n int) operations {
					return func(context.Context, string, []byte) []byte {
						progress[n].Add(1)
						if progress[0].Load() >= goal && progress[1].Load() >= goal {
							cancel()
						}
						return nil
					}
				}
				var group sync.WaitGroup
				for n, module := range calls {
					group.Go(func() {
						request := wasm.Request{Entry: "spin", Session: sessions[n], Operations: count(n), Deadline: time.Minute}
						if _, err := module.Call(ctx, request); !errors.Is(err, wasm.ErrCancelled) {
							t.Errorf("got %v", err)
						}
					})
				}
				group.Wait()
				a, b := progress[0].Load(), progress[1].Load()
				if a < goal || b < goal {
					t.Errorf("%d and %d rounds", a, b)
				}
			})
		}
	}
}

// Sessions that wait for a place, or for the processor, take turns.
func TestWaitingSessionsTakeTurns(t *testing.T) {
	for name, limits := range map[string]wasm.Limits{"place": {Instances: 1}, "processor": {Instances: 10}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, engine *wasm.Engine) {
				spec := askerSpec()
				spec.Limits = limits
				module := loadIn(t, engine, spec)
				gate := newGate()
				holding := calling(t.Context(), module, wasm.Request{Operations: gate, Session: "z"})
				<-gate.begun
				var mu sync.Mutex
				var order []string
				var group sync.WaitGroup
				for _, name := range []string{"a1", "a2", "a3", "b1", "b2", "c1"} {
					group.Go(func() {
						note := operations(func(context.Context, string, []byte) []byte {
							mu.Lock()
							defer mu.Unlock()
							order = append(order, name)
							return nil
						})
						if _, err := module.Call(t.Context(), wasm.Request{Entry: "ask", Operations: note, Session: name[:1]}); err != nil {
							t.Error(err)
						}
					})
					synctest.Wait() // it stands in line
				}
				close(gate.open)
				group.Wait()
				if diff := cmp.Diff("a1 b1 c1 a2 b2 a3", strings.Join(order, " ")); diff != "" {
					t.Error(diff)
				}
				if err := <-holding; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A call that comes back from a wait goes before those that have not begun.
func TestWhoComesBackGoesFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		spec := askerSpec()
		spec.Limits.Instances = 1
		module := loadIn(t, engine, spec)
		var order []string
		goOn, gate := make(chan struct{}), newGate()
		back := operations(func(ctx context.Context, _ string, _ []byte) []byte {
			_ = wasm.Wait(ctx, func(context.Context) error { <-goOn; return nil })
			order = append(order, "back")
			return nil
		})
		begins := operations(func(context.Context, string, []byte) []byte { order = append(order, "new"); return nil })
		waiting := calling(t.Context(), module, wasm.Request{Operations: back, Session: "a"})
		synctest.Wait()
		holding := calling(t.Context(), module, wasm.Request{Operations: gate, Session: "b"})
		<-gate.begun
		beginning := calling(t.Context(), module, wasm.Request{Operations: begins, Session: "c"})
		synctest.Wait()
		close(goOn)
		synctest.Wait()
		close(gate.open)
		for _, ended := range []<-chan error{waiting, holding, beginning} {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff([]string{"back", "new"}, order); diff != "" {
			t.Error(diff)
		}
	})
}

// ErrBusy comes after Limits.Wait, neither before nor later, and leaves nothing.
func TestBusyAfterTheWait(t *testing.T) {
	for name, instances := range map[string]int{"place": 1, "processor": 2} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, engine *wasm.Engine) {
				spec := askerSpec()
				spec.Limits = wasm.Limits{Instances: instances, Wait: 3 * time.Second, Deadline: time.Hour}
				module := loadIn(t, engine, spec)
				gate := newGate()
				holding := calling(t.Context(), module, wasm.Request{Operations: gate})
				<-gate.begun
				for range 3 {
					began := time.Now()
					_, err := call(t, module, wasm.Request{Entry: "ask", Operations: operations(echo)})
					if took := time.Since(began); !errors.Is(err, wasm.ErrBusy) || took != 3*time.Second {
						t.Errorf("%v after %s", err, took)
					}
				}
				if stats := module.Stats(); stats.Leased != 1 {
					t.Errorf("%+v", stats)
				}
				checkOneAtATime(t, module, holding, gate)
			})
		})
	}
}

// A caller that leaves while it waits is gone at once, with its cause.
func TestCancelWhileWaitingToBegin(t *testing.T) {
	for name, instances := range map[string]int{"place": 1, "processor": 2} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, engine *wasm.Engine) {
				spec := askerSpec()
				spec.Limits.Instances = instances
				module := loadIn(t, engine, spec)
				gate := newGate()
				holding := calling(t.Context(), module, wasm.Request{Operations: gate})
				<-gate.begun
				ctx, cancel := context.WithCancelCause(t.Context())
				began := time.Now()
				waiting := calling(ctx, module, wasm.Request{Operations: operations(echo)})
				synctest.Wait()
				cancel(errStop)
				if err := <-waiting; !errors.Is(err, wasm.ErrCancelled) || !errors.Is(err, errStop) || time.Since(began) != 0 {
					t.Errorf("%v after %s", err, time.Since(began))
				}
				checkOneAtATime(t, module, holding, gate)
			})
		})
	}
}

// While a module closes, calls in every state come to their end: one that runs, one
// that waits for the world, one for a place and one for the processor.
func TestCloseWaitsForCallsInEveryState(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		spec := askerSpec()
		spec.Limits = wasm.Limits{Instances: 2, Wait: time.Hour}
		module := loadIn(t, engine, spec)
		goOn, gate := make(chan struct{}), newGate()
		ends := map[string]<-chan error{
			"outside": calling(t.Context(), module, wasm.Request{Operations: waits(goOn)}),
		}
		synctest.Wait()
		ends["running"] = calling(t.Context(), module, wasm.Request{Operations: gate})
		<-gate.begun
		ends["for the processor"] = calling(t.Context(), module, wasm.Request{Operations: operations(echo)})
		synctest.Wait()
		ends["for a place"] = calling(t.Context(), module, wasm.Request{Operations: operations(echo)})
		synctest.Wait()
		if diff := cmp.Diff(wasm.Stats{Started: 3, Leased: 2, Parked: 1}, module.Stats()); diff != "" {
			t.Fatal(diff)
		}
		closed := make(chan error, 1)
		go func() { closed <- engine.Close() }()
		synctest.Wait()
		if _, err := call(t, module, wasm.Request{Entry: "ask"}); !errors.Is(err, wasm.ErrClosed) {
			t.Errorf("a new call: %v", err)
		}
		close(gate.open)
		for _, state := range []string{"running", "for the processor", "for a place"} {
			if err := <-ends[state]; err != nil {
				t.Errorf("%s: %v", state, err)
			}
		}
		synctest.Wait()
		select {
		case <-closed:
			t.Error("closed under a call that waits for the world")
		default:
		}
		close(goOn)
		if err := <-ends["outside"]; err != nil {
			t.Error(err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if stats := module.Stats(); stats.Idle != 0 || stats.Leased != 0 || stats.Parked != 0 || stats.Started != stats.Discarded {
			t.Errorf("%+v", stats)
		}
	})
}

// While the first instance starts, others wait for it; who leaves meanwhile does not
// wait for its end.
func TestCancelWhileTheFirstInstanceStarts(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		guest := new(Module).Core()
		guest.Entry(Init, Const64(0))
		guest.Entry("run", Const64(0))
		started, goOn := make(chan struct{}), make(chan struct{})
		module := loadIn(t, engine, wasm.Spec{
			Wasm: guest.Bytes(), Entries: []string{"run"}, Lazy: true, Init: []byte("x"),
			CheckInit: func([]byte) error { close(started); <-goOn; return nil },
		})
		first := make(chan error, 2)
		go func() {
			_, err := module.Call(t.Context(), wasm.Request{Entry: "run"})
			first <- err
		}()
		<-started
		ctx, cancel := context.WithCancelCause(t.Context())
		second := make(chan error, 1)
		go func() {
			_, err := module.Call(ctx, wasm.Request{Entry: "run"})
			second <- err
		}()
		synctest.Wait()
		cancel(errStop)
		synctest.Wait()
		select {
		case err := <-second:
			if !errors.Is(err, errStop) {
				t.Errorf("got %v", err)
			}
		default:
			t.Error("it waits for another call's start although its caller left")
		}
		close(goOn)
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}
