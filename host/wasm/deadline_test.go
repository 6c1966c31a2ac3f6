package wasm_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// spinEnds begins a call of "loop" and answers its end.
func spinEnds(ctx context.Context, module *wasm.Module, request wasm.Request) <-chan error {
	request.Entry = "loop"
	ended := make(chan error, 1)
	go func() {
		_, err := module.Call(ctx, request)
		ended <- err
	}()
	return ended
}

func guestSpec() wasm.Spec { return wasm.Spec{Wasm: Guest().Bytes(), Entries: guestEntries()} }

// A quick call's deadline counts what it runs. Two that take turns on one processor
// pass theirs after both have run that long.
func TestQuickDeadlineCountsRunningTime(t *testing.T) {
	module := loadIn(t, newEngine(t, one()), guestSpec())
	const limit = 60 * time.Millisecond
	began := time.Now()
	var group sync.WaitGroup
	for _, session := range []string{"a", "b"} {
		group.Go(func() {
			err := <-spinEnds(t.Context(), module, wasm.Request{Lane: wasm.LaneQuick, Deadline: limit, Session: session})
			if !errors.Is(err, wasm.ErrDeadline) {
				t.Errorf("got %v", err)
			}
		})
	}
	group.Wait()
	if took := time.Since(began); took < 2*limit-5*time.Millisecond {
		t.Errorf("both ended after %s: the one's time is the other's", took)
	}
}

// A tool's counts the time that passes: it ends while another has the processor,
// which does not give it up.
func TestToolDeadlineCountsTheTimeThatPasses(t *testing.T) {
	engine := newEngine(t, one())
	module, holder := loadIn(t, engine, stubborn()), loadIn(t, engine, askerSpec())
	spins := make(chan error, 1)
	begun, gate := make(chan struct{}), newGate()
	go func() {
		begin := operations(func(context.Context, string, []byte) []byte { close(begun); return nil })
		_, err := module.Call(t.Context(), wasm.Request{Entry: "work", Input: times(0), Operations: begin, Deadline: 100 * time.Millisecond})
		spins <- err // 2^32 turns are some seconds
	}()
	<-begun
	holding := calling(t.Context(), holder, wasm.Request{Operations: gate})
	<-gate.begun // the processor was handed over
	select {
	case err := <-spins:
		if !errors.Is(err, wasm.ErrDeadline) {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for its turn beyond its deadline")
	}
	close(gate.open)
	if err := <-holding; err != nil {
		t.Error(err)
	}
}

// The lanes do not wait for each other.
func TestLanesAreApart(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		module := loadIn(t, engine, askerSpec())
		gate := newGate()
		holding := calling(t.Context(), module, wasm.Request{Operations: gate})
		<-gate.begun
		result, err := module.Call(t.Context(), wasm.Request{Entry: "ask", Lane: wasm.LaneQuick, Operations: operations(echo)})
		if err != nil || result.Waited != 0 {
			t.Errorf("waited %s, %v", result.Waited, err)
		}
		close(gate.open)
		if err := <-holding; err != nil {
			t.Error(err)
		}
	})
}

// sleeps is a guest that sleeps a millisecond.
func sleeps() wasm.Spec {
	guest := new(Module)
	poll := guest.Import(wasi, "poll_oneoff", Types(I32, I32, I32, I32), Types(I32))
	guest.Core().Data(2000, string(clockSubscription(1, 1, uint64(time.Millisecond), 0)))
	guest.Entry("sleep", Const(2000), Const(1000), Const(1), Const(1100), Call(poll), Drop, Const64(0))
	return wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"sleep"}}
}

// After its sleep a guest waits for a processor: a quick call without losing time, a
// tool until its deadline. Meanwhile another runs.
func TestSleepGivesTheProcessorUp(t *testing.T) {
	for _, lane := range []wasm.Lane{wasm.LaneQuick, wasm.LaneTool} {
		inBubble(t, func(t *testing.T, engine *wasm.Engine) {
			module, holder := loadIn(t, engine, sleeps()), loadIn(t, engine, askerSpec())
			type end struct {
				result wasm.Result
				err    error
			}
			ended := make(chan end, 1)
			began := time.Now()
			go func() {
				result, err := module.Call(t.Context(), wasm.Request{Entry: "sleep", Lane: lane, Deadline: 20 * time.Millisecond})
				ended <- end{result, err}
			}()
			synctest.Wait() // it sleeps
			hold := operations(func(context.Context, string, []byte) []byte { time.Sleep(time.Second); return nil })
			holding := calling(t.Context(), holder, wasm.Request{Lane: lane, Operations: hold})
			got := <-ended
			took := time.Since(began)
			switch {
			case lane == wasm.LaneQuick && (got.err != nil || got.result.Duration != time.Millisecond || took != time.Second):
				t.Errorf("quick: %s counted, %s passed, %v", got.result.Duration, took, got.err)
			case lane == wasm.LaneTool && (!errors.Is(got.err, wasm.ErrDeadline) || took != 20*time.Millisecond):
				t.Errorf("tool: %s passed, %v", took, got.err)
			}
			if err := <-holding; err != nil {
				t.Error(err)
			}
		})
	}
}

// tells is a guest that prints a line, and another.
func tells() wasm.Spec {
	guest := new(Module)
	write := guest.Import(wasi, "fd_write", Types(I32, I32, I32, I32), Types(I32))
	guest.Core().Data(2000, vectors(2008, 5)+"line\n")
	print := Code(Const(1), Const(2000), Const(1), Const(1100), Call(write), Drop)
	guest.Entry("tell", print, print, Const64(0))
	return wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"tell"}}
}

// What a quick guest could not have run, the machine took: a busy machine fails no
// codec. Whoever waits for a tool waits for that as well.
func TestTimeTheMachineTookIsNotAQuickCalls(t *testing.T) {
	for _, lane := range []wasm.Lane{wasm.LaneQuick, wasm.LaneTool} {
		inBubble(t, func(t *testing.T, engine *wasm.Engine) {
			module := loadIn(t, engine, tells())
			lines := 0
			stop := func(string) { // as a machine would that has others to run
				if lines++; lines == 1 {
					time.Sleep(time.Second)
				}
			}
			result, err := module.Call(t.Context(), wasm.Request{Entry: "tell", Lane: lane, Deadline: 20 * time.Millisecond, Log: stop})
			if lane == wasm.LaneQuick && (err != nil || result.Duration != time.Millisecond || lines != 2) {
				t.Errorf("quick: %s counted, %d lines, %v", result.Duration, lines, err)
			}
			if lane == wasm.LaneTool && !errors.Is(err, wasm.ErrDeadline) {
				t.Errorf("tool: %v", err)
			}
		})
	}
}

// Waiting for the first turn is not the call's time, in no lane.
func TestTimeBeforeTheGuestBeginsDoesNotCount(t *testing.T) {
	for _, lane := range []wasm.Lane{wasm.LaneQuick, wasm.LaneTool} {
		inBubble(t, func(t *testing.T, engine *wasm.Engine) {
			module := loadIn(t, engine, askerSpec())
			hold := operations(func(context.Context, string, []byte) []byte { time.Sleep(5 * time.Second); return nil })
			holding := calling(t.Context(), module, wasm.Request{Operations: hold, Lane: lane})
			synctest.Wait()
			result, err := module.Call(t.Context(), wasm.Request{Entry: "ask", Lane: lane, Deadline: time.Second, Operations: operations(echo)})
			if err != nil || result.Waited != 5*time.Second || result.Duration != 0 {
				t.Errorf("%s: waited %s, ran %s, %v", lane, result.Waited, result.Duration, err)
			}
			if err := <-holding; err != nil {
				t.Error(err)
			}
		})
	}
}

// An operation's time is the call's, in every lane.
func TestOperationsCount(t *testing.T) {
	for _, lane := range []wasm.Lane{wasm.LaneQuick, wasm.LaneTool} {
		inBubble(t, func(t *testing.T, engine *wasm.Engine) {
			module := loadIn(t, engine, askerSpec())
			left := time.Duration(0)
			slow := operations(func(ctx context.Context, _ string, _ []byte) []byte {
				left = until(t, ctx)
				time.Sleep(3 * time.Second)
				return nil
			})
			_, err := module.Call(t.Context(), wasm.Request{Entry: "flood", Input: []byte{3}, Lane: lane, Deadline: 7 * time.Second, Operations: slow})
			if err != nil || left != time.Second {
				t.Errorf("%s: the last operation had %s, %v", lane, left, err)
			}
		})
	}
}

// The caller's own deadline holds as well, and an operation sees the earlier one.
func TestTheCallersDeadlineHolds(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		module := loadIn(t, engine, askerSpec())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		operation := operations(func(ctx context.Context, _ string, _ []byte) []byte {
			if left := until(t, ctx); left != time.Second {
				t.Errorf("%s left", left)
			}
			<-ctx.Done()
			return nil
		})
		result, err := module.Call(ctx, wasm.Request{Entry: "ask", Operations: operation, Deadline: time.Minute})
		if err != nil || string(result.Output) != "deadline: deadline passed" {
			t.Errorf("%q, %v", result.Output, err)
		}
	})
	module := load(t, wasm.Spec{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := module.Call(ctx, wasm.Request{Entry: "loop", Deadline: time.Hour}); !errors.Is(err, wasm.ErrDeadline) {
		t.Errorf("a guest that spins: %v", err)
	}
}

// slowClock takes an hour to tell the time.
type slowClock struct {
	wasm.Ambient
	reads int
}

func (c *slowClock) Realtime() time.Time {
	c.reads++
	time.Sleep(time.Hour)
	return time.Now()
}

// Whatever a function of the host costs, the call is looked at before each.
func TestEveryHostFunctionIsASafepoint(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		guest := new(Module)
		clock := guest.Import(wasi, "clock_time_get", Types(I32, I64, I32), Types(I32))
		guest.Core().Entry("run", Loop, Const(0), Const64(0), Const(1004), Call(clock), Drop, Br(0), End, Const64(0))
		module := loadIn(t, engine, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}})
		world := new(slowClock)
		_, err := call(t, module, wasm.Request{Entry: "run", Ambient: world, Deadline: 10 * time.Hour})
		if !errors.Is(err, wasm.ErrDeadline) || world.reads != 10 {
			t.Errorf("%d hours, %v", world.reads, err)
		}
	})
}

// A guest that does nothing but copy an answer of megabytes uses next to no fuel
// and yields seldom; the copying itself must end with the call, and give way.
func TestHostFunctionsAreSafepoints(t *testing.T) {
	engine := newEngine(t, one())
	guest := new(Module)
	host, read := guest.Operations()
	random := guest.Import(wasi, "random_get", Types(I32, I32), Types(I32))
	guest.Core().Memory(200, 0)
	ask := Code(Const(0), Const(0), Const(0), Const(0), Call(host), Drop)
	guest.Entry("read", ask, Loop, Const(65536), Call(read), Br(0), End, Const64(0))
	guest.Entry("random", ask, Loop, Const(65536), Const(10<<20), Call(random), Drop, Br(0), End, Const64(0))
	module := loadIn(t, engine, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"read", "random"}})
	neighbour := loadIn(t, engine, guestSpec())
	large := make([]byte, 10<<20)
	for _, entry := range []string{"read", "random"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		begun := make(chan struct{})
		give := operations(func(context.Context, string, []byte) []byte { close(begun); return large })
		ended := make(chan error, 1)
		go func() {
			_, err := module.Call(ctx, wasm.Request{Entry: entry, Operations: give, Deadline: 20 * time.Second})
			ended <- err
		}()
		<-begun
		if _, err := neighbour.Call(t.Context(), wasm.Request{Entry: "echo", Session: "other"}); err != nil {
			t.Errorf("%s: the neighbour: %v", entry, err)
		}
		select {
		case err := <-ended:
			t.Errorf("%s: the neighbour had to wait for its end: %v", entry, err)
		default:
		}
		cancel(errStop)
		select {
		case err := <-ended:
			if !errors.Is(err, errStop) {
				t.Errorf("%s: got %v", entry, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: it is not stopped", entry)
		}
	}
}
