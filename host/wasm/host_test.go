package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// asker is a guest with these entries:
//
//	ask     passes its input to the operation "test.op" and answers its answer
//	reread  the same, and reads the answer a second time
//	flood   asks input[0] times, answers the last answer
//	far     names an operation beyond its memory
//	long    names an operation with 65 bytes
//	beyond  reads an answer to where it does not fit
//	early   reads before it asked
func asker() *Module {
	guest := new(Module)
	host, read := guest.Operations()
	guest.Core().Data(100, "test.op")
	ask := Code(Const(100), Const(7), Get(0), Get(1), Call(host), Set(2))
	readIt := Code(Const(Room), Call(read))
	guest.Entry("ask", ask, readIt, Answer(Const(Room), Get(2)))
	guest.Entry("reread", ask, readIt, Const(Room), Const(0), Store8, readIt, Answer(Const(Room), Get(2)))
	guest.Entry("flood",
		Get(0), Load8, Set(3),
		Loop, ask, Get(3), Const(1), Sub, "\x22\x03", BrIf(0), End, // local.tee 3
		readIt, Answer(Const(Room), Get(2)))
	guest.Entry("far", Const(65530), Const(10), Const(0), Const(0), Call(host), Drop, Const64(0))
	guest.Entry("long", Const(0), Const(65), Const(0), Const(0), Call(host), Set(2), readIt, Answer(Const(Room), Get(2)))
	guest.Entry("beyond", ask, Const(65530), Call(read), Const64(0))
	guest.Entry("early", readIt, Answer(Const(Room), Const(0)))
	return guest
}

func loadAsker(t *testing.T, spec wasm.Spec) *wasm.Module {
	t.Helper()
	spec.Wasm = asker().Bytes()
	spec.Entries = []string{"ask", "reread", "flood", "far", "long", "beyond", "early"}
	return load(t, spec)
}

func echo(_ context.Context, operation string, request []byte) []byte {
	return fmt.Appendf(nil, "%s(%s)", operation, request)
}

func TestOperations(t *testing.T) {
	module := loadAsker(t, wasm.Spec{Limits: wasm.Limits{Operations: 5, OperationBytes: 100}})
	large := strings.Repeat("x", 101)
	tests := []struct {
		entry, input, want string
		operations         wasm.Operations
	}{
		{"ask", "hello", "test.op(hello)", operations(echo)},
		{"reread", "hello", "test.op(hello)", operations(echo)},
		{"ask", "", "test.op()", operations(echo)},
		{"early", "", "", operations(echo)},
		{"flood", "\x05", "test.op(\x05)", operations(echo)},
		{"flood", "\x06", "limit: operations in one call: 6, the limit is 5 (Operations); raise operations of [limits] in its manifest", operations(echo)},
		{"ask", "x", "unavailable: host operations are not offered here", nil},
		{"long", "", "limit: bytes of an operation's name: 65, the limit is 64", operations(echo)},
		{"ask", large, "limit: bytes of an operation's request: 101, the limit is 100 (OperationBytes)", operations(echo)},
		{"ask", "x", "limit: bytes of an operation's answer: 101, the limit is 100 (OperationBytes)",
			operations(func(context.Context, string, []byte) []byte { return []byte(large) })},
		{"ask", "x", "", operations(func(context.Context, string, []byte) []byte { return nil })},
	}
	for _, test := range tests {
		got := mustCall(t, module, wasm.Request{Entry: test.entry, Input: []byte(test.input), Operations: test.operations})
		if got != test.want {
			t.Errorf("%s %.10q: got %q, want %q", test.entry, test.input, got, test.want)
		}
	}
	if diff := cmp.Diff(wasm.Stats{Started: 1, Idle: 1}, module.Stats()); diff != "" {
		t.Errorf("a refused operation is no fault: %s", diff)
	}
}

func TestOperationCountStartsAnewWithEachCall(t *testing.T) {
	module := loadAsker(t, wasm.Spec{Limits: wasm.Limits{Operations: 2}})
	for range 3 {
		if got := mustCall(t, module, wasm.Request{Entry: "flood", Input: []byte{2}, Operations: operations(echo)}); got != "test.op(\x02)" {
			t.Errorf("got %q", got)
		}
	}
}

// A guest need not look at what it is answered: the log says once that it is refused.
func TestTheLogTellsOfTooManyOperations(t *testing.T) {
	module := loadAsker(t, wasm.Spec{Limits: wasm.Limits{Operations: 5}})
	for asked, want := range map[string][]string{
		"\x05": nil,
		"\x09": {"operations in one call: 6, the limit is 5 (Operations); raise operations of [limits] in its manifest; this one and further ones are refused"},
	} {
		var got lines
		mustCall(t, module, wasm.Request{Entry: "flood", Input: []byte(asked), Operations: operations(echo), Log: got.add})
		if diff := cmp.Diff(want, got.text); diff != "" {
			t.Errorf("%q: %s", asked, diff)
		}
	}
}

func TestOperationPointersOutsideTheMemory(t *testing.T) {
	module := loadAsker(t, wasm.Spec{})
	tests := []struct{ entry, reason string }{
		{"far", "an operation's name, 10 bytes at 65530, lies outside of the memory"},
		{"beyond", "an answer of 10 bytes does not fit into the memory at 65530"},
	}
	for _, test := range tests {
		_, err := call(t, module, wasm.Request{Entry: test.entry, Input: []byte("x"), Operations: operations(echo)})
		var trap *wasm.TrapError
		if !errors.As(err, &trap) || trap.Reason != test.reason || trap.Function != test.entry {
			t.Errorf("%s: got %#v", test.entry, err)
		}
	}
}

func TestOperationSeesTheDeadline(t *testing.T) {
	module := loadAsker(t, wasm.Spec{})
	operation := func(ctx context.Context, _ string, _ []byte) []byte {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 30*time.Millisecond {
			t.Errorf("deadline %s, %v", deadline, ok)
		}
		<-ctx.Done()
		return []byte("too late")
	}
	// The guest is told and may still answer.
	got := mustCall(t, module, wasm.Request{Entry: "ask", Operations: operations(operation), Deadline: 30 * time.Millisecond})
	if got != "deadline: deadline passed" {
		t.Errorf("the guest was told %q", got)
	}
}

func TestOperationSeesTheCallersValues(t *testing.T) {
	type key struct{}
	module := loadAsker(t, wasm.Spec{})
	operation := func(ctx context.Context, _ string, _ []byte) []byte { return []byte(ctx.Value(key{}).(string)) }
	ctx := context.WithValue(context.Background(), key{}, "trace")
	result, err := module.Call(ctx, wasm.Request{Entry: "ask", Operations: operations(operation)})
	if err != nil || string(result.Output) != "trace" {
		t.Errorf("got %q, %v", result.Output, err)
	}
}

func TestPanicOfAnOperationIsTheHostsFault(t *testing.T) {
	module := loadAsker(t, wasm.Spec{})
	_, err := call(t, module, wasm.Request{Entry: "ask",
		Operations: operations(func(context.Context, string, []byte) []byte { panic("a bug") })})
	var fault *wasm.HostError
	if !errors.As(err, &fault) || fault.Operation != "test.op" || fault.Panic != "a bug" || wasm.Kind(err) != wasm.KindHost {
		t.Fatalf("got %#v", err)
	}
	if !strings.Contains(fault.Stack, "TestPanicOfAnOperationIsTheHostsFault") {
		t.Errorf("stack %s", fault.Stack)
	}
	if got := mustCall(t, module, wasm.Request{Entry: "ask", Operations: operations(echo)}); got != "test.op()" {
		t.Errorf("got %q", got)
	}
}

// The request is a copy: what the operation does with it the guest does not see.
func TestRequestIsACopy(t *testing.T) {
	module := loadAsker(t, wasm.Spec{})
	spoil := func(_ context.Context, _ string, request []byte) []byte {
		request[0] = '!'
		return nil
	}
	mustCall(t, module, wasm.Request{Entry: "ask", Input: []byte("abc"), Operations: operations(spoil)})
	if got := mustCall(t, module, wasm.Request{Entry: "early"}); got != "" {
		t.Errorf("an answer of the call before is pending: %q", got)
	}
}
