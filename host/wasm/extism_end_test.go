package wasm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// TestExtismStartLeavesNothing has _initialize and the reseed leave blocks, an error
// and an output, which are not the entry's.
func TestExtismStartLeavesNothing(t *testing.T) {
	m := NewExtism(Marker)
	leave := Code(m.Use("alloc", Const64(8)), SetGlobal(m.GlobalOf(I64, Const64(0))),
		m.Use("output_set", GetGlobal(0), Const64(8)), m.Use("store_u8", GetGlobal(0), Const('x')), m.Use("error_set", GetGlobal(0)))
	m.Func("_initialize", nil, nil, nil, leave)
	m.Func(Reseed, nil, nil, nil, leave)
	m.Entry(Init)
	m.Entry("run")
	module := load(t, wasm.Spec{Wasm: m.Bytes(), Entries: []string{"run"}, Init: []byte{}})
	for range 2 {
		if got := mustCall(t, module, wasm.Request{Entry: "run"}); got != "" {
			t.Errorf("it answers %q", got)
		}
	}
}

// TestExtismEndReachesNothing ends the call in an operation, and in the log: what
// the guest asks for after that is not carried out.
func TestExtismEndReachesNothing(t *testing.T) {
	m := NewExtism(Marker)
	ask := Code(m.Text(First, "op"), m.Use(Ask, Get(First), Const64(0)), Set(Second))
	fetch := Code(m.Text(First, "{}"), m.Use("http_request", Get(First), Const64(0)), Drop)
	say := Code(m.Text(First, "line"), m.Use("log_info", Get(First)))
	m.Entry("ask_fetch", ask, fetch)
	m.Entry("say_ask", say, ask)
	m.Entry("say_fetch", say, fetch)
	module := load(t, wasm.Spec{Wasm: m.Bytes(), Entries: []string{"ask_fetch", "say_ask", "say_fetch"}})
	for entry, want := range map[string]int{"ask_fetch": 1, "say_ask": 0, "say_fetch": 0} {
		ctx, cancel := context.WithCancel(context.Background())
		asked, w := 0, &web{}
		_, err := module.Call(ctx, wasm.Request{
			Entry: entry, World: wasm.World{HTTP: w}, Log: func(string) { cancel() },
			Operations: operations(func(context.Context, string, []byte) []byte { asked++; cancel(); return nil }),
		})
		if !errors.Is(err, wasm.ErrCancelled) || asked != want || len(w.asked) > 0 {
			t.Errorf("%s: %d operations, %d requests; %v", entry, asked, len(w.asked), err)
		}
	}
}

// TestExitError shows how an entry that fails is told, and that it spoils nothing.
func TestExitError(t *testing.T) {
	spec := extismSpec(func(m *Extism) map[string]string {
		return map[string]string{
			"fail": Code(m.Text(First, "no\x1b \xff"), m.Use("error_set", Get(First)), m.Text(Second, "part"), m.Answer(Second), Const(3), Return),
			"code": Code(Const(-2), Return),
		}
	})
	module := load(t, spec)
	for entry, want := range map[string]struct {
		exit wasm.ExitError
		text string
	}{
		"fail": {wasm.ExitError{Code: 3, Message: "no\x1b \uFFFD", Output: []byte("part")}, "call fail of module guest: exit code 3: no\uFFFD \uFFFD"},
		"code": {wasm.ExitError{Code: 1<<32 - 2, Output: []byte{}}, "call code of module guest: exit code -2"},
	} {
		_, err := call(t, module, wasm.Request{Entry: entry})
		exit, ok := errors.AsType[*wasm.ExitError](err)
		if !ok || wasm.Kind(err) != wasm.KindExit || err.Error() != want.text || exit.Code != want.exit.Code || exit.Message != want.exit.Message ||
			string(exit.Output) != string(want.exit.Output) {
			t.Errorf("%s: got %+v: %v", entry, exit, err)
		}
	}
	if stats := module.Stats(); stats.Discarded != 0 {
		t.Errorf("instances were thrown away: %+v", stats)
	}
}
