package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
)

func TestOperationEndsAtTheDeadlineAfterWait(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		module := loadIn(t, engine, askerSpec())
		began := time.Now()
		operation := operations(func(ctx context.Context, _ string, _ []byte) []byte {
			if err := wasm.Wait(ctx, func(context.Context) error { time.Sleep(time.Minute); return nil }); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, wasm.ErrDeadline) {
				t.Errorf("it ended with %v", cause)
			}
			return nil
		})
		got := mustCall(t, module, wasm.Request{Entry: "ask", Operations: operation, Deadline: time.Second})
		if got != "deadline: deadline passed" || time.Since(began) != time.Minute+time.Second {
			t.Errorf("%q after %s", got, time.Since(began))
		}
	})
}

// Once the time is up nobody is asked anything.
func TestNoWaitAfterTheDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		module := loadIn(t, engine, askerSpec())
		operation := operations(func(ctx context.Context, _ string, _ []byte) []byte {
			<-ctx.Done()
			err := wasm.Wait(ctx, func(context.Context) error { t.Error("it waits"); return nil })
			if !errors.Is(err, wasm.ErrDeadline) {
				t.Errorf("got %v", err)
			}
			return nil
		})
		got := mustCall(t, module, wasm.Request{Entry: "ask", Operations: operation, Deadline: time.Second})
		if got != "deadline: deadline passed" {
			t.Errorf("got %q", got)
		}
	})
}

func TestCancelDuringWait(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		module := loadIn(t, engine, askerSpec())
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("the user pressed stop")
		var seen error
		operation := operations(func(ctx context.Context, _ string, _ []byte) []byte {
			_ = wasm.Wait(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				seen = context.Cause(ctx)
				return nil
			})
			return nil
		})
		answered := make(chan string, 1)
		go func() {
			// Processor and place were free, so the guest is told and answers.
			result, err := module.Call(ctx, wasm.Request{Entry: "ask", Operations: operation})
			answered <- fmt.Sprint(string(result.Output), err)
		}()
		synctest.Wait()
		cancel(cause)
		if got := <-answered; got != "cancelled: call cancelled: the user pressed stop<nil>" || !errors.Is(seen, cause) {
			t.Errorf("%q; who waited saw %v", got, seen)
		}
	})
}

// A call that is cancelled on its way back, while another has its place or its
// processor, ends without running and leaves both as they were.
func TestCancelWhileComingBack(t *testing.T) {
	for name, limits := range map[string]wasm.Limits{"place": {Instances: 1}, "processor": {Instances: 2}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, engine *wasm.Engine) {
				spec := askerSpec()
				spec.Limits = limits
				module := loadIn(t, engine, spec)
				ctx, cancel := context.WithCancelCause(t.Context())
				cause := errors.New("the user pressed stop")
				goOn, gate := make(chan struct{}), newGate()
				var after error
				waiting := operations(func(ctx context.Context, _ string, _ []byte) []byte {
					wait := func() error {
						return wasm.Wait(ctx, func(context.Context) error { <-goOn; return nil })
					}
					if err := wait(); !errors.Is(err, cause) {
						t.Errorf("it came back with %v", err)
					}
					after = wait() // it has nothing left to give up
					return nil
				})
				ended := calling(ctx, module, wasm.Request{Operations: waiting, Session: "a"})
				synctest.Wait()
				holding := calling(t.Context(), module, wasm.Request{Operations: gate, Session: "b"})
				<-gate.begun
				close(goOn)
				synctest.Wait() // it is back and waits for its turn
				cancel(cause)
				if err := <-ended; !errors.Is(err, wasm.ErrCancelled) || !errors.Is(err, cause) {
					t.Errorf("got %v", err)
				}
				if !errors.Is(after, cause) {
					t.Errorf("a wait after the end: %v", after)
				}
				checkOneAtATime(t, module, holding, gate)
			})
		})
	}
}

// checkOneAtATime sees that, while one call holds the place or the processor in its
// operation, another waits for it, and that nothing is left at the end.
func checkOneAtATime(t *testing.T, module *wasm.Module, holding <-chan error, gate gate) {
	t.Helper()
	other := calling(t.Context(), module, wasm.Request{Operations: operations(echo), Session: "c"})
	synctest.Wait()
	select {
	case err := <-other:
		t.Errorf("two run at a time: %v", err)
	default:
	}
	close(gate.open)
	for _, ended := range []<-chan error{holding, other} {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if stats := module.Stats(); stats.Leased != 0 || stats.Started-stats.Discarded != stats.Idle+stats.Parked {
		t.Errorf("%+v", stats)
	}
}

func TestPanicDuringWait(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		spec := askerSpec()
		spec.Limits.Instances = 1
		module := loadIn(t, engine, spec)
		operation := operations(func(ctx context.Context, _ string, _ []byte) []byte {
			_ = wasm.Wait(ctx, func(context.Context) error { panic("a bug") })
			return nil
		})
		for range 3 {
			_, err := call(t, module, wasm.Request{Entry: "ask", Operations: operation})
			if fault, ok := errors.AsType[*wasm.HostError](err); !ok || fault.Panic != "a bug" || fault.Operation != "test.op" {
				t.Errorf("got %v", err)
			}
		}
		if diff := cmp.Diff(wasm.Stats{Started: 3, Discarded: 3}, module.Stats()); diff != "" {
			t.Error(diff)
		}
		gate := newGate()
		holding := calling(t.Context(), module, wasm.Request{Operations: gate})
		<-gate.begun
		checkOneAtATime(t, module, holding, gate)
	})
}
