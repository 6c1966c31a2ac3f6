package wasm_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

func TestCallCopiesInputAndOutput(t *testing.T) {
	module := load(t, wasm.Spec{})
	for _, input := range []string{"", "x", "hello", strings.Repeat("0123456789", 6000)} {
		if got := mustCall(t, module, wasm.Request{Entry: "echo", Input: []byte(input)}); got != input {
			t.Errorf("echo of %d bytes answered %d bytes", len(input), len(got))
		}
	}
}

func TestResultTellsMemory(t *testing.T) {
	result, err := call(t, load(t, wasm.Spec{}), wasm.Request{Entry: "echo"})
	if err != nil {
		t.Fatal(err)
	}
	if result.Memory != 64<<10 {
		t.Errorf("memory: %d", result.Memory)
	}
}

func TestTrapNamesFunctions(t *testing.T) {
	_, err := call(t, load(t, wasm.Spec{}), wasm.Request{Entry: "trap"})
	var trap *wasm.TrapError
	if !errors.As(err, &trap) {
		t.Fatalf("got %v", err)
	}
	want := &wasm.TrapError{Function: "inner", Reason: "unreachable", Stack: "inner()\ntrap(i32,i32) i64"}
	if diff := cmp.Diff(want, trap); diff != "" {
		t.Error(diff)
	}
	if want := "call trap of module guest: trap in inner: unreachable"; err.Error() != want {
		t.Errorf("text %q", err)
	}
}

func TestFaultsDiscardTheInstance(t *testing.T) {
	tests := []struct {
		entry, kind, text string
		input             []byte
	}{
		{entry: "trap", kind: wasm.KindTrap, text: "unreachable"},
		{entry: "loop", kind: wasm.KindDeadline, text: "deadline passed"},
		{entry: "outside", kind: wasm.KindAnswer, text: "8 bytes at 65532 lie outside of the memory of 65536"},
		{entry: "huge", kind: wasm.KindAnswer, text: "it claims 2147483648 bytes, the limit is 16777216 (OutputBytes)"},
		{entry: "echo", kind: wasm.KindAnswer, text: "room of 70000 bytes at 4096 lies outside", input: make([]byte, 70000)},
	}
	for _, test := range tests {
		t.Run(test.entry, func(t *testing.T) {
			module := load(t, wasm.Spec{Limits: wasm.Limits{Instances: 1}})
			mustCall(t, module, wasm.Request{Entry: "count"})
			_, err := call(t, module, wasm.Request{Entry: test.entry, Input: test.input, Deadline: 30 * time.Millisecond})
			if err == nil || !strings.Contains(err.Error(), test.text) || wasm.Kind(err) != test.kind {
				t.Errorf("kind %q, got %v", wasm.Kind(err), err)
			}
			if got := mustCall(t, module, wasm.Request{Entry: "count"}); got != "\x01" {
				t.Errorf("count %q in an instance that should be new", got)
			}
			if diff := cmp.Diff(wasm.Stats{Started: 2, Discarded: 1, Idle: 1}, module.Stats()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeadlineStopsALoopSoon(t *testing.T) {
	module := load(t, wasm.Spec{})
	began := time.Now()
	_, err := call(t, module, wasm.Request{Entry: "loop", Deadline: 20 * time.Millisecond})
	if !errors.Is(err, wasm.ErrDeadline) {
		t.Fatalf("got %v", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("stopped after %s", took)
	}
}

func TestDeadlineOfTheModule(t *testing.T) {
	module := load(t, wasm.Spec{Limits: wasm.Limits{Deadline: 20 * time.Millisecond}})
	if _, err := call(t, module, wasm.Request{Entry: "loop"}); !errors.Is(err, wasm.ErrDeadline) {
		t.Fatalf("got %v", err)
	}
}

func TestCancelCarriesItsCause(t *testing.T) {
	ask := new(Module)
	host, _ := ask.Operations()
	ask.Core().Entry("run",
		Const(0), Const(0), Const(0), Const(0), Call(host), Drop, Loop, Br(0), End, Const64(0))
	module := load(t, wasm.Spec{Wasm: ask.Bytes(), Entries: []string{"run"}})
	cause := errors.New("the user said stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	// The guest is inside its call when it is cancelled.
	stop := operations(func(context.Context, string, []byte) []byte { cancel(cause); return nil })
	_, err := module.Call(ctx, wasm.Request{Entry: "run", Operations: stop})
	if !errors.Is(err, wasm.ErrCancelled) || !errors.Is(err, cause) || wasm.Kind(err) != wasm.KindCancelled {
		t.Errorf("got %v", err)
	}
	if _, err := module.Call(ctx, wasm.Request{Entry: "run"}); !errors.Is(err, wasm.ErrCancelled) {
		t.Errorf("a call with an ended context: %v", err)
	}
}

func TestMemoryCapBites(t *testing.T) {
	for _, mib := range []int{1, 4} {
		module := load(t, wasm.Spec{Limits: wasm.Limits{MemoryMiB: mib}})
		pages := binary.LittleEndian.Uint32([]byte(mustCall(t, module, wasm.Request{Entry: "grow"})))
		if int(pages) != mib*16 {
			t.Errorf("a guest limited to %d MiB reached %d pages", mib, pages)
		}
	}
}

func TestGrownInstanceIsNotKept(t *testing.T) {
	module := load(t, wasm.Spec{Isolation: wasm.Sticky})
	mustCall(t, module, wasm.Request{Entry: "swell"})
	if diff := cmp.Diff(wasm.Stats{Started: 1, Discarded: 1}, module.Stats()); diff != "" {
		t.Error(diff)
	}
}

func TestAllocatorWithoutRoom(t *testing.T) {
	guest := new(Module)
	guest.Memory(1, 0)
	guest.Func(Marker, nil, nil, nil)
	guest.Func(Alloc, Types(I32), Types(I32), nil, Const(0))
	guest.Entry("run", Const64(0))
	module := load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}})
	_, err := call(t, module, wasm.Request{Entry: "run", Input: []byte("abc")})
	if wasm.Kind(err) != wasm.KindAnswer || !strings.Contains(err.Error(), "no room for a message of 3 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestAnswerIsGivenBack(t *testing.T) {
	guest := new(Module)
	guest.Core()
	freed := guest.Global(0)
	guest.Func(Free, Types(I32, I32), nil, nil, Get(1), SetGlobal(freed))
	guest.Entry("freed", Const(Room), GetGlobal(freed), Store8, Answer(Const(Room), Const(1)))
	guest.Entry("echo", Answer(Get(0), Get(1)))
	module := load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"freed", "echo"}, Isolation: wasm.Sticky})
	mustCall(t, module, wasm.Request{Entry: "echo", Input: bytes.Repeat([]byte("x"), 77)})
	if got := mustCall(t, module, wasm.Request{Entry: "freed"}); got != "M" {
		t.Errorf("free was told %q bytes, want 77", got)
	}
}

func TestTrapWhileGivingBackKeepsTheAnswer(t *testing.T) {
	guest := new(Module)
	guest.Core()
	guest.Func(Free, Types(I32, I32), nil, nil, Unreachable)
	guest.Entry("echo", Answer(Get(0), Get(1)))
	module := load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"echo"}, Isolation: wasm.Sticky})
	if got := mustCall(t, module, wasm.Request{Entry: "echo", Input: []byte("kept")}); got != "kept" {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff(wasm.Stats{Started: 1, Discarded: 1}, module.Stats()); diff != "" {
		t.Error(diff)
	}
}

func TestInputLimit(t *testing.T) {
	module := load(t, wasm.Spec{Limits: wasm.Limits{InputBytes: 10}})
	_, err := call(t, module, wasm.Request{Entry: "echo", Input: make([]byte, 11)})
	var limit *wasm.LimitError
	if !errors.As(err, &limit) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(&wasm.LimitError{What: "bytes of input", Got: 11, Limit: 10, Knob: "InputBytes"}, limit); diff != "" {
		t.Error(diff)
	}
	mustCall(t, module, wasm.Request{Entry: "echo", Input: make([]byte, 10)})
}

func TestOutputLimit(t *testing.T) {
	module := load(t, wasm.Spec{Limits: wasm.Limits{OutputBytes: 10}})
	mustCall(t, module, wasm.Request{Entry: "echo", Input: make([]byte, 10)})
	if _, err := call(t, module, wasm.Request{Entry: "echo", Input: make([]byte, 11)}); wasm.Kind(err) != wasm.KindAnswer {
		t.Errorf("got %v", err)
	}
}

func TestUnknownEntry(t *testing.T) {
	module := load(t, wasm.Spec{Wasm: Guest().Bytes(), Entries: []string{"echo"}})
	// It is exported, but it was not asked for when the module was loaded.
	if _, err := call(t, module, wasm.Request{Entry: "count"}); !errors.Is(err, wasm.ErrEntry) {
		t.Errorf("got %v", err)
	}
}
