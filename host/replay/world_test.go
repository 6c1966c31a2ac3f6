package replay_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// Places in a worldly guest's memory.
const (
	worldRoom    = 4096
	worldStart   = 20_000 // 24 bytes of what its start saw
	worldCall    = worldStart + 24
	worldAnswer  = 40_000
	worldRequest = 8_000
)

// worldly is a guest that looks at both clocks and draws 8 random bytes when it
// starts, when it is called, after a sleep, and after asking a number of operations;
// it answers all it saw. It turns loops as often as random bytes say, so that its
// fuel tells what it saw.
func worldly(asks int, sleep time.Duration) wasm.Spec {
	const wasi = "wasi_snapshot_preview1"
	i32, i64 := wasmtest.I32, wasmtest.I64
	guest := new(wasmtest.Module)
	clock := guest.Import(wasi, "clock_time_get", wasmtest.Types(i32, i64, i32), wasmtest.Types(i32))
	random := guest.Import(wasi, "random_get", wasmtest.Types(i32, i32), wasmtest.Types(i32))
	poll := guest.Import(wasi, "poll_oneoff", wasmtest.Types(i32, i32, i32, i32), wasmtest.Types(i32))
	ask := guest.Import(abi.ImportModule, abi.ImportCall, wasmtest.Types(i32, i32, i32, i32), wasmtest.Types(i32))
	guest.Memory(1, 0)
	guest.Func(abi.ExportMarker, nil, nil, nil)
	guest.Func(abi.ExportAlloc, wasmtest.Types(i32), wasmtest.Types(i32), nil, wasmtest.Const(worldRoom))
	subscription := make([]byte, 48)
	binary.LittleEndian.PutUint32(subscription[16:], 1) // the monotonic clock
	binary.LittleEndian.PutUint64(subscription[24:], uint64(sleep))
	guest.Data(2000, string(subscription))
	message := abi.EncodeMessage([]byte(`{"text":"hello"}`), nil)
	guest.Data(worldRequest, "progress"+string(message))
	look := func(at int32) string {
		return wasmtest.Code(
			wasmtest.Const(0), wasmtest.Const64(0), wasmtest.Const(at), wasmtest.Call(clock), wasmtest.Drop,
			wasmtest.Const(1), wasmtest.Const64(0), wasmtest.Const(at+8), wasmtest.Call(clock), wasmtest.Drop,
			wasmtest.Const(at+16), wasmtest.Const(8), wasmtest.Call(random), wasmtest.Drop)
	}
	turn := func(at int32) string { // as many turns as the random byte there says, times 1000
		return wasmtest.Code(
			wasmtest.Const(at), wasmtest.Load8, wasmtest.Const(1000), wasmtest.Mul, wasmtest.Const(1), wasmtest.Add, wasmtest.Set(2),
			wasmtest.Loop, wasmtest.Get(2), wasmtest.Const(1), wasmtest.Sub, wasmtest.Tee(2), wasmtest.BrIf(0), wasmtest.End)
	}
	guest.Func("_initialize", nil, nil, nil, look(worldStart))
	code := look(worldCall)
	if sleep > 0 {
		code += wasmtest.Code(wasmtest.Const(2000), wasmtest.Const(1000), wasmtest.Const(1), wasmtest.Const(1100), wasmtest.Call(poll), wasmtest.Drop)
	}
	code += look(worldCall + 24)
	for range asks {
		code += wasmtest.Code(wasmtest.Const(worldRequest), wasmtest.Const(8), wasmtest.Const(worldRequest+8),
			wasmtest.Const(int32(len(message))), wasmtest.Call(ask), wasmtest.Drop)
	}
	code += look(worldCall+48) + turn(worldStart+16) + turn(worldCall+16) + turn(worldCall+64)
	guest.Entry(abi.ExportTool, code, wasmtest.Answer(wasmtest.Const(worldStart), wasmtest.Const(4*24)))
	return wasm.Spec{Wasm: guest.Bytes()}
}

// A replayed call sees the recorded clocks and random bytes, those that its instance
// started with too, and takes no time to sleep.
func TestReplayedCallSeesTheRecordedWorld(t *testing.T) {
	for _, isolation := range []wasm.Isolation{wasm.Restore, wasm.Fresh, wasm.Sticky} {
		t.Run(string(isolation), func(t *testing.T) {
			spec := worldly(2, 5*time.Millisecond)
			spec.Isolation = isolation
			var sink kept
			s := newStage(t, spec, replay.Options{Sink: &sink})
			outputs := map[string]bool{}
			for range 3 {
				result, err := s.ask(t.Context(), time.Minute, answering(`{"ok":{}}`))
				if err != nil {
					t.Fatal(err)
				}
				outputs[string(result.Output)] = true
			}
			if len(outputs) != 3 {
				t.Errorf("%d outputs of 3 calls", len(outputs))
			}
			for i, recording := range sink.all {
				recording = reread(t, recording)
				if len(recording.Start) != 3 || len(recording.Steps) != 3*3+2+1+1 { // a look at the clock for the sleep
					t.Errorf("%d steps at the start, %d in the call", len(recording.Start), len(recording.Steps))
				}
				if isolation == wasm.Sticky && i > 0 {
					wantInexact(t, spec, recording, fmt.Sprintf("the instance kept the traces of %d calls before", i))
					continue
				}
				mustRepeat(t, spec, recording)
			}
		})
	}
}

// wantInexact demands a replay that is for information only, for a reason.
func wantInexact(t testing.TB, spec wasm.Spec, recording *replay.Recording, why string) replay.Report {
	t.Helper()
	report, err := again(t, spec, recording)
	if err != nil {
		t.Fatal(err)
	}
	if report.Exact || report.Why != why {
		t.Errorf("inexact for %q, want %q", report.Why, why)
	}
	return report
}

// A call whose time is up in a sleep of its own, or after it, ends there again, and
// at once.
func TestEndOfASleepRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			name     string
			deadline time.Duration
			cancel   time.Duration // after the start
			kind     string
			stopped  bool
		}{
			{"deadline", 20 * time.Minute, 0, wasm.KindDeadline, true},
			{"cancel", 3 * time.Hour, 20 * time.Minute, wasm.KindCancelled, true},
			{"through", 3 * time.Hour, 0, "", false},
		} {
			spec := worldly(0, time.Hour)
			s := newStage(t, spec, replay.Options{})
			ctx, cancel := context.WithCancelCause(t.Context())
			if test.cancel > 0 {
				time.AfterFunc(test.cancel, func() { cancel(errors.New("enough")) })
			}
			_, err := s.ask(ctx, test.deadline, nil)
			cancel(nil)
			if wasm.Kind(err) != test.kind {
				t.Fatalf("%s: the call ended with %v", test.name, err)
			}
			recording := s.only(t)
			stopped := false
			for _, step := range recording.Steps {
				stopped = stopped || step.Sleep != nil && step.Sleep.Stopped
			}
			if stopped != test.stopped {
				t.Errorf("%s: stopped %v in %+v", test.name, stopped, recording.Steps)
			}
			began := time.Now()
			mustRepeat(t, spec, recording)
			if took := time.Since(began); took != 0 {
				t.Errorf("%s: the replay took %s", test.name, took)
			}
		}
	})
}

// The operations beyond the limit are refused by the engine, then and now.
func TestOperationLimitRepeats(t *testing.T) {
	spec := worldly(3, 0)
	spec.Limits.Operations = 2
	s := newStage(t, spec, replay.Options{})
	if _, err := s.ask(t.Context(), time.Minute, answering(`{"ok":{}}`)); err != nil {
		t.Fatal(err)
	}
	recording := s.only(t)
	var names []string
	for _, step := range recording.Steps {
		if step.Operation != nil {
			names = append(names, step.Operation.Name)
		}
	}
	if fmt.Sprint(names) != "[progress progress ]" {
		t.Errorf("operations %q", names)
	}
	mustRepeat(t, spec, recording)
}

// After a cancel the guest is told so at each operation, and what it answers counts.
func TestOperationsAfterTheEndRepeat(t *testing.T) {
	spec := worldly(3, 0)
	s := newStage(t, spec, replay.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	asked := 0
	result, err := s.ask(ctx, time.Minute, operations(func(context.Context, string, []byte) []byte {
		asked++
		cancel(errors.New("enough"))
		return nil
	}))
	if err != nil && wasm.Kind(err) != wasm.KindCancelled || asked != 1 {
		t.Fatalf("%d operations, then %v", asked, err)
	}
	recording := s.only(t)
	told := 0
	for _, step := range recording.Steps {
		if step.Operation != nil && step.Operation.Ended != nil && bytes.Contains(step.Operation.Answer, []byte("enough")) {
			told++
		}
	}
	if told != 3 || recording.End.Fuel != result.Fuel {
		t.Errorf("told %d times in %+v", told, recording.Steps)
	}
	mustRepeat(t, spec, recording)
}

// The same module that looks at its clock otherwise than recorded has diverged;
// another module may.
func TestWorldOfAnotherModule(t *testing.T) {
	s := newStage(t, worldly(1, 5*time.Millisecond), replay.Options{})
	if _, err := s.ask(t.Context(), time.Minute, answering(`{"ok":{}}`)); err != nil {
		t.Fatal(err)
	}
	recording := s.only(t)
	report := wantInexact(t, worldly(1, 2*time.Hour), recording, "another module than the recorded one")
	if len(report.Differences) != 0 || report.Got.Fuel == 0 {
		t.Errorf("%v", report)
	}
	changed := reread(t, recording)
	changed.Steps[0], changed.Steps[1] = changed.Steps[1], changed.Steps[0]
	_, err := again(t, s.spec, changed)
	wantText(t, diverged(t, err), "replay diverges at step 1: the guest asks for the time of day; it was recorded to ask for the monotonic time")
	changed = reread(t, recording)
	changed.Start = changed.Start[:2]
	_, err = again(t, s.spec, changed)
	wantText(t, diverged(t, err), "replay diverges at step 3 of the start: the guest asks for 8 random bytes; nothing more was recorded")
	changed.Start = nil
	wantInexact(t, s.spec, changed, "the start of the instance was not recorded")
}

func wantText(t testing.TB, err error, text string) {
	t.Helper()
	if err == nil || err.Error() != text {
		t.Errorf("got  %v\nwant %s", err, text)
	}
}

// Many calls at a time are recorded apart.
func TestCallsAtATime(t *testing.T) {
	spec := worldly(1, time.Millisecond)
	var sink kept
	s := newStage(t, spec, replay.Options{Sink: &sink})
	done := make(chan error)
	const calls = 8
	for range calls {
		go func() {
			_, err := s.ask(t.Context(), time.Minute, answering(`{"ok":{}}`))
			done <- err
		}()
	}
	for range calls {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if len(sink.all) != calls {
		t.Fatalf("%d recordings", len(sink.all))
	}
	for _, recording := range sink.all {
		mustRepeat(t, spec, recording)
	}
}

// A module that does not start, or not in this engine, is an error and no outcome.
func TestModuleThatDoesNotLoad(t *testing.T) {
	s := newStage(t, worldly(0, 0), replay.Options{})
	if _, err := s.ask(t.Context(), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	recording := s.only(t)
	_, err := again(t, wasm.Spec{Wasm: []byte("no module")}, recording)
	if wasm.Kind(err) != wasm.KindAdmission {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the operator went away")
	cancel(gone)
	_, err = replay.Replay(ctx, newEngine(t), wasm.Spec{Wasm: s.spec.Wasm, CheckInit: bridge.CheckInit}, recording)
	if !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

// spinning is a guest that looks at its clock without end, and so does next to
// nothing else.
func spinning() wasm.Spec {
	guest := new(wasmtest.Module)
	i32 := wasmtest.I32
	clock := guest.Import("wasi_snapshot_preview1", "clock_time_get", wasmtest.Types(i32, wasmtest.I64, i32), wasmtest.Types(i32))
	guest.Memory(1, 0)
	guest.Func(abi.ExportMarker, nil, nil, nil)
	guest.Func(abi.ExportAlloc, wasmtest.Types(i32), wasmtest.Types(i32), nil, wasmtest.Const(worldRoom))
	guest.Entry(abi.ExportTool,
		wasmtest.Loop, wasmtest.Const(0), wasmtest.Const64(0), wasmtest.Const(worldCall), wasmtest.Call(clock), wasmtest.Drop, wasmtest.Br(0), wasmtest.End,
		wasmtest.Const64(0))
	return wasm.Spec{Wasm: guest.Bytes()}
}

// A call that was stopped on its way into a host function ends there again.
func TestCallStoppedAtItsClockRepeats(t *testing.T) {
	spec := spinning()
	s := newStage(t, spec, replay.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	_, err := s.Call(ctx, wasm.Request{Entry: abi.ExportTool, Input: toolMessage(), Deadline: time.Minute,
		Observer: &impatient{looks: 50, cancel: func() { cancel(errors.New("enough")) }}})
	if wasm.Kind(err) != wasm.KindCancelled {
		t.Fatal(err)
	}
	recording := s.only(t)
	if len(recording.Steps) != 50 {
		t.Errorf("%d steps", len(recording.Steps))
	}
	mustRepeat(t, spec, recording)
}

// impatient cancels a call after a number of looks at the clock.
type impatient struct {
	watcher
	wasm.Ambient
	looks  int
	cancel func()
}

func (i *impatient) World(world wasm.Ambient) wasm.Ambient { i.Ambient = world; return i }

func (i *impatient) Realtime() time.Time {
	if i.looks--; i.looks == 0 {
		i.cancel()
	}
	return i.Ambient.Realtime()
}

// The isolation in force is recorded, not what was asked for.
func TestIsolationInForceIsRecorded(t *testing.T) {
	guest := new(wasmtest.Module)
	guest.Memory(1, 0)
	guest.Table(1, 2)
	guest.Func(abi.ExportMarker, nil, nil, nil)
	guest.Func(abi.ExportAlloc, wasmtest.Types(wasmtest.I32), wasmtest.Types(wasmtest.I32), nil, wasmtest.Const(worldRoom))
	guest.Entry(abi.ExportTool, wasmtest.NullFunc, wasmtest.Const(1), wasmtest.TableGrow(), wasmtest.Drop, wasmtest.Const64(0))
	spec := wasm.Spec{Wasm: guest.Bytes()}
	s := newStage(t, spec, replay.Options{})
	if _, err := s.ask(t.Context(), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	recording := s.only(t)
	if recording.Isolated != wasm.Fresh {
		t.Errorf("recorded %s", recording.Isolated)
	}
	mustRepeat(t, spec, recording)
}
