package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
)

// one are the options of an engine in which one guest of a lane runs at a time.
func one() wasm.Options {
	options := options()
	options.Tools, options.Quick = 1, 1
	return options
}

// inBubble runs a test with a clock of its own, which moves when everything waits,
// and an engine in which one guest of a lane runs at a time.
func inBubble(t *testing.T, test func(t *testing.T, engine *wasm.Engine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newEngine(t, one())) })
}

func askerSpec() wasm.Spec {
	return wasm.Spec{Wasm: asker().Bytes(), Entries: []string{"ask", "flood", "early"}}
}

// calling begins a call of "ask" and answers its end.
func calling(ctx context.Context, module *wasm.Module, request wasm.Request) <-chan error {
	request.Entry = "ask"
	ended := make(chan error, 1)
	go func() {
		_, err := module.Call(ctx, request)
		ended <- err
	}()
	return ended
}

// waits is an operation that waits for the world until it is let go.
func waits(goOn <-chan struct{}) wasm.Operations {
	return operations(func(ctx context.Context, _ string, _ []byte) []byte {
		err := wasm.Wait(ctx, func(ctx context.Context) error {
			select {
			case <-goOn:
			case <-ctx.Done():
			}
			return nil
		})
		return fmt.Append(nil, err)
	})
}

func TestWaitLetsOthersRun(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		spec := askerSpec()
		spec.Limits = wasm.Limits{Instances: 1, Wait: time.Second}
		module := loadIn(t, engine, spec)
		goOn := make(chan struct{})
		ended := calling(t.Context(), module, wasm.Request{Operations: waits(goOn), Session: "a"})
		synctest.Wait()
		if diff := cmp.Diff(wasm.Stats{Started: 1, Parked: 1}, module.Stats()); diff != "" {
			t.Error(diff)
		}
		// Of the same module, and on the only processor.
		if got := mustCall(t, module, wasm.Request{Entry: "ask", Operations: operations(echo), Session: "b"}); got != "test.op()" {
			t.Errorf("got %q", got)
		}
		close(goOn)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(wasm.Stats{Started: 2, Discarded: 1, Idle: 1}, module.Stats()); diff != "" {
			t.Errorf("more instances are kept than there are places: %s", diff)
		}
	})
}

func TestClockStandsDuringWait(t *testing.T) {
	for _, lane := range []wasm.Lane{wasm.LaneTool, wasm.LaneQuick} {
		inBubble(t, func(t *testing.T, engine *wasm.Engine) {
			module := loadIn(t, engine, askerSpec())
			began := time.Now()
			const limit, pause = 10 * time.Second, time.Hour
			operation := operations(func(ctx context.Context, _ string, _ []byte) []byte {
				deadlines := []time.Duration{until(t, ctx)}
				time.Sleep(4 * time.Second)
				err := wasm.Wait(ctx, func(waiting context.Context) error {
					if deadline, ok := waiting.Deadline(); ok {
						t.Errorf("who waits has a deadline: %s", deadline)
					}
					time.Sleep(pause)
					return waiting.Err()
				})
				deadlines = append(deadlines, until(t, ctx))
				time.Sleep(5 * time.Second)
				deadlines = append(deadlines, until(t, ctx))
				if diff := cmp.Diff([]time.Duration{limit, 6 * time.Second, time.Second}, deadlines); diff != "" || err != nil || ctx.Err() != nil {
					t.Errorf("%v, %v: time left: %s", err, ctx.Err(), diff)
				}
				return nil
			})
			result, err := module.Call(t.Context(), wasm.Request{Entry: "ask", Operations: operation, Deadline: limit, Lane: lane})
			if err != nil || result.Duration != 9*time.Second || time.Since(began) != pause+9*time.Second {
				t.Errorf("%s: %s counted, %s passed, %v", lane, result.Duration, time.Since(began), err)
			}
		})
	}
}

func until(t *testing.T, ctx context.Context) time.Duration {
	t.Helper()
	deadline, ok := ctx.Deadline()
	if !ok {
		t.Error("there is no deadline")
	}
	return time.Until(deadline)
}

func TestWaitWithinWait(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		spec := askerSpec()
		spec.Limits.Instances = 1
		module := loadIn(t, engine, spec)
		operation := operations(func(ctx context.Context, _ string, _ []byte) []byte {
			err := wasm.Wait(ctx, func(context.Context) error {
				return wasm.Wait(ctx, func(context.Context) error {
					gate := newGate() // nothing is given up twice
					holding := calling(t.Context(), module, wasm.Request{Operations: gate})
					<-gate.begun
					checkOneAtATime(t, module, holding, gate)
					return nil
				})
			})
			return fmt.Append(nil, err)
		})
		if got := mustCall(t, module, wasm.Request{Entry: "ask", Operations: operation}); got != "<nil>" {
			t.Errorf("got %q", got)
		}
		if diff := cmp.Diff(wasm.Stats{Started: 2, Discarded: 1, Idle: 1}, module.Stats()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWaitAnswersTheError(t *testing.T) {
	fault := errors.New("it does not work")
	if err := wasm.Wait(t.Context(), func(context.Context) error { return fault }); !errors.Is(err, fault) {
		t.Errorf("outside of an operation: %v", err)
	}
	module := loadAsker(t, wasm.Spec{})
	operation := operations(func(ctx context.Context, _ string, _ []byte) []byte {
		if err := wasm.Wait(ctx, func(context.Context) error { return fault }); !errors.Is(err, fault) {
			t.Errorf("within: %v", err)
		}
		return nil
	})
	mustCall(t, module, wasm.Request{Entry: "ask", Operations: operation})
}

// Who waits for the world is not counted among those that run, but its instance
// counts for the memory in use, and comes back into the pool.
func TestManyWaitAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		spec := askerSpec()
		spec.Limits.Instances = 2
		module := loadIn(t, engine, spec)
		goOn := make(chan struct{})
		var group sync.WaitGroup
		for n := range 20 {
			group.Go(func() {
				request := wasm.Request{Entry: "ask", Operations: waits(goOn), Session: fmt.Sprint(n % 3)}
				if _, err := module.Call(t.Context(), request); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if diff := cmp.Diff(wasm.Stats{Started: 20, Parked: 20}, module.Stats()); diff != "" {
			t.Error(diff)
		}
		close(goOn)
		group.Wait()
		if diff := cmp.Diff(wasm.Stats{Started: 20, Discarded: 18, Idle: 2}, module.Stats()); diff != "" {
			t.Errorf("more instances are kept than there are places: %s", diff)
		}
	})
}
