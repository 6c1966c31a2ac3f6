package wasm_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// stubborn is a guest that asks for an operation and then goes on.
//
//	work   turns a loop as often as its input says (4 bytes), answers what it was told
//	again  asks as often again, answers what it was told last
func stubborn() wasm.Spec {
	guest := new(Module)
	host, read := guest.Operations()
	guest.Core().Data(100, "test.op")
	ask := Code(Const(100), Const(7), Const(0), Const(0), Call(host), Set(2))
	count := Code(Get(0), Load, Set(3))
	answer := Code(Const(Room), Call(read), Answer(Const(Room), Get(2)))
	down := Code(Get(3), Const(1), Sub, Tee(3), BrIf(0))
	guest.Entry("work", count, ask, Loop, down, End, answer)
	guest.Entry("again", count, ask, Loop, ask, down, End, answer)
	return wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"work", "again"}}
}

func times(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

// ending is an operation that ends the call while it is performed, and then waits
// as an operation does that must not be interrupted.
func ending(cancel context.CancelCauseFunc, performed *atomic.Int32) operations {
	return func(ctx context.Context, _ string, _ []byte) []byte {
		performed.Add(1)
		cancel(errStop)
		<-ctx.Done()
		return []byte("too late")
	}
}

var errStop = errors.New("the user pressed stop")

const told = "cancelled: call cancelled: the user pressed stop"

// callStopped calls an entry that is cancelled during its first operation.
func callStopped(t *testing.T, module *wasm.Module, entry string, n int) (output string, performed int, err error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var count atomic.Int32
	result, err := module.Call(ctx, wasm.Request{Entry: entry, Input: times(n), Operations: ending(cancel, &count)})
	return string(result.Output), int(count.Load()), err
}

// turnFuel is what one turn of the loop of "work" costs.
func turnFuel(t *testing.T, module *wasm.Module) float64 {
	t.Helper()
	fuel := func(n int) int64 {
		result, err := call(t, module, wasm.Request{Entry: "work", Input: times(n), Operations: operations(echo)})
		if err != nil {
			t.Fatal(err)
		}
		return result.Fuel
	}
	return float64(fuel(2_000_000)-fuel(1_000_000)) / 1_000_000
}

func TestGuestMayAnswerAfterItsEnd(t *testing.T) {
	module := load(t, stubborn())
	turns := int(0.9 * wasm.GraceFuel / turnFuel(t, module))
	output, performed, err := callStopped(t, module, "work", turns)
	if output != told || performed != 1 || err != nil {
		t.Errorf("told %q, %d operations, %v", output, performed, err)
	}
}

func TestGuestThatGoesOnIsStopped(t *testing.T) {
	module := load(t, stubborn())
	turns := int((wasm.GraceFuel + 3*wasm.Quantum) / turnFuel(t, module))
	output, _, err := callStopped(t, module, "work", turns)
	if !errors.Is(err, wasm.ErrCancelled) || !errors.Is(err, errStop) {
		t.Errorf("it answered %q, %v", output, err)
	}
	if stats := module.Stats(); stats.Idle != 0 || stats.Discarded != stats.Started {
		t.Errorf("%+v", stats)
	}
	// A deadline ends it likewise.
	late := operations(func(ctx context.Context, _ string, _ []byte) []byte { <-ctx.Done(); return nil })
	_, err = call(t, module, wasm.Request{Entry: "work", Input: times(turns), Operations: late, Deadline: 5 * time.Millisecond})
	if !errors.Is(err, wasm.ErrDeadline) {
		t.Errorf("got %v", err)
	}
}

// Operations asked after the end are not performed, and each takes of what is left.
func TestOperationsAfterTheEnd(t *testing.T) {
	module := load(t, stubborn())
	const few = wasm.GraceFuel/wasm.GraceOperation - 2
	output, performed, err := callStopped(t, module, "again", few)
	if output != told || performed != 1 || err != nil {
		t.Errorf("told %q, %d operations, %v", output, performed, err)
	}
	output, performed, err = callStopped(t, module, "again", few+5)
	if !errors.Is(err, wasm.ErrCancelled) || performed != 1 {
		t.Errorf("told %q, %d operations, %v", output, performed, err)
	}
}

// A guest that was told has its grace although others wait for the processor.
func TestGraceOfACancelledCallIsNotHandedOver(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		module, other := loadIn(t, engine, stubborn()), loadIn(t, engine, guestSpec())
		turns := int(0.9 * wasm.GraceFuel / turnFuel(t, module))
		for range 20 { // which of two ends comes first is chance
			ctx, cancel := context.WithCancelCause(t.Context())
			spinning, stop := context.WithCancel(t.Context())
			var ended <-chan error
			operation := operations(func(context.Context, string, []byte) []byte {
				ended = spinEnds(spinning, other, wasm.Request{Session: "other"})
				time.Sleep(time.Second) // more than one may run while others wait
				cancel(errStop)
				return nil
			})
			result, err := module.Call(ctx, wasm.Request{Entry: "work", Input: times(turns), Operations: operation, Session: "mine"})
			if string(result.Output) != told || err != nil {
				t.Errorf("told %q, %v", result.Output, err)
			}
			stop()
			if err := <-ended; !errors.Is(err, wasm.ErrCancelled) {
				t.Errorf("the other: %v", err)
			}
		}
	})
}

// What the guest is told reads like any other answer: its error names the deadline.
func TestWhatAGuestIsTold(t *testing.T) {
	module := load(t, stubborn())
	late := operations(func(ctx context.Context, _ string, _ []byte) []byte { <-ctx.Done(); return []byte("too late") })
	got := mustCall(t, module, wasm.Request{Entry: "work", Input: times(1), Operations: late, Deadline: 5 * time.Millisecond})
	if want := fmt.Sprintf("%s: %v", wasm.KindDeadline, wasm.ErrDeadline); got != want || strings.Contains(got, "too late") {
		t.Errorf("told %q, want %q", got, want)
	}
}
