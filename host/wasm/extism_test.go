package wasm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// extismSpec makes a spec of entries written for all functions of Extism.
func extismSpec(entries func(m *Extism) map[string]string) wasm.Spec {
	m := NewExtism(Marker)
	spec := wasm.Spec{}
	for name, code := range entries(m) {
		m.Entry(name, code)
		spec.Entries = append(spec.Entries, name)
	}
	spec.Wasm = m.Bytes()
	return spec
}

// callHoarder calls a guest that keeps much, many blocks, or a variable of 5 bytes
// with its name.
func callHoarder(entry string) func(t *testing.T, limits wasm.Limits) error {
	return func(t *testing.T, limits wasm.Limits) error {
		t.Helper()
		spec := extismSpec(func(m *Extism) map[string]string {
			return map[string]string{
				"much":     Code(m.Use("alloc", Const64(1<<20)), Drop, m.Use("alloc", Const64(1)), Drop),
				"many":     Code(m.Use("alloc", Const64(1)), Drop, m.Use("alloc", Const64(1)), Drop),
				"variable": Code(m.Text(First, "ab"), m.Text(Second, "cde"), m.Use("var_set", Get(First), Get(Second))),
			}
		})
		spec.Limits = limits
		_, err := call(t, load(t, spec), wasm.Request{Entry: entry})
		return err
	}
}

// TestExtismIsolation shows what of a call the next one sees: nothing of its blocks,
// and its variables as much as its memory.
func TestExtismIsolation(t *testing.T) {
	for isolation, want := range map[wasm.Isolation]string{wasm.Restore: "none", wasm.Fresh: "none", wasm.Sticky: "kept"} {
		t.Run(string(isolation), func(t *testing.T) {
			m := NewExtism(Marker)
			handle := m.GlobalOf(I64, Const64(64))
			m.Entry("keep", m.Text(First, "name"), m.Text(Second, "kept"), m.Use("var_set", Get(First), Get(Second)),
				m.Text(First, "secret"), Get(First), SetGlobal(handle), m.Answer(First))
			m.Entry("look", m.Text(First, "name"), Code(m.Use("var_get", Get(First)), Set(Second)), m.Answer(Second))
			m.Entry("handle", m.Use("output_set", GetGlobal(handle), Const64(6)))
			spec := wasm.Spec{Wasm: m.Bytes(), Entries: []string{"keep", "look", "handle"}, Isolation: isolation}
			module := load(t, spec)
			if got := mustCall(t, module, wasm.Request{Entry: "keep", Session: "a"}); got != "secret" {
				t.Errorf("keep answers %q", got)
			}
			if got := mustCall(t, module, wasm.Request{Entry: "look", Session: "a"}); got != strings.TrimPrefix(want, "none") {
				t.Errorf("the variable is %q, want %s", got, want)
			}
			if got := mustCall(t, module, wasm.Request{Entry: "handle", Session: "a"}); got != "" {
				t.Errorf("an old handle shows %q", got)
			}
			if got := mustCall(t, module, wasm.Request{Entry: "look", Session: "b"}); got != "" {
				t.Errorf("another session's variable is %q", got)
			}
		})
	}
}

// TestExtismStart shows what runs before the first call, and in which order.
func TestExtismStart(t *testing.T) {
	tests := map[string][]string{ // what a module exports: what runs
		"":                              nil,
		"_initialize":                   {"_initialize"},
		"__wasm_call_ctors":             {"__wasm_call_ctors"},
		"__wasm_call_ctors,_initialize": {"_initialize"},
		"hs_init,_initialize":           {"_initialize", "hs_init"},
		"hs_init,__wasm_call_ctors":     {"hs_init"},
	}
	numbers := map[string]byte{"_initialize": 1, "__wasm_call_ctors": 2, "hs_init": 3}
	for exports, runs := range tests {
		t.Run(exports, func(t *testing.T) {
			m := NewExtism(Marker)
			ran := m.GlobalOf(I64, Const64(0))
			for name := range strings.SplitSeq(exports, ",") {
				var params []byte
				if name == "hs_init" {
					params = Types(I32, I32)
				}
				m.Func(name, params, nil, nil, GetGlobal(ran), Const64(8), Shl64, Const64(int64(numbers[name])), Or64, SetGlobal(ran))
			}
			m.Entry("run", m.Emit(GetGlobal(ran)))
			want := make([]byte, 8)
			for i, name := range runs {
				want[len(runs)-1-i] = numbers[name]
			}
			if got := mustCall(t, load(t, wasm.Spec{Wasm: m.Bytes(), Entries: []string{"run"}}), wasm.Request{Entry: "run"}); got != string(want) {
				t.Errorf("ran %x, want %x", got, want)
			}
		})
	}
}

// TestExtismInit calls the init entry once, with its message as the input.
func TestExtismInit(t *testing.T) {
	m := NewExtism(Marker)
	m.Entry(Init, m.Text(First, "seen"), m.Use("var_set", Get(First), m.Use("input_offset")),
		m.Text(First, "fine"), m.Answer(First))
	m.Entry("look", m.Text(First, "seen"), Code(m.Use("var_get", Get(First)), Set(Second)), m.Answer(Second))
	judged := ""
	module := load(t, wasm.Spec{Wasm: m.Bytes(), Entries: []string{"look"}, Init: []byte("settings"),
		CheckInit: func(answer []byte) error { judged = string(answer); return nil }})
	if got := mustCall(t, module, wasm.Request{Entry: "look"}); got != "settings" || judged != "fine" {
		t.Errorf("init saw %q and answered %q", got, judged)
	}
}

// web is an HTTP that notes what it is asked.
type web struct {
	asked  []wasm.HTTPRequest
	answer wasm.HTTPResponse
	err    error
	before func(ctx context.Context) error
}

func (w *web) Do(ctx context.Context, request wasm.HTTPRequest) (wasm.HTTPResponse, error) {
	w.asked = append(w.asked, request)
	if w.before != nil {
		if err := w.before(ctx); err != nil {
			return wasm.HTTPResponse{}, err
		}
	}
	return w.answer, w.err
}

// fetching is a guest that fetches and answers body, headers or status.
func fetching() wasm.Spec {
	return extismSpec(func(m *Extism) map[string]string {
		request := m.Text(First, `{"URL":"https://a.example/x","method":"post","headers":{"Accept":"text/plain"}}`)
		fetch := Code(request, m.Text(Second, "body"), m.Use("http_request", Get(First), Get(Second)), Set(First))
		return map[string]string{
			"body":    Code(fetch, m.Answer(First)),
			"headers": Code(fetch, m.Use("http_headers"), Set(First), m.Answer(First)),
			"status":  Code(fetch, m.Emit(Code(m.Use("http_status_code"), Extend))),
			"twice":   Code(fetch, fetch),
		}
	})
}

func TestExtismHTTP(t *testing.T) {
	module := load(t, fetching())
	answer := wasm.HTTPResponse{Status: 201, Headers: map[string]string{"x-a": "1,2"}, Body: []byte("made")}
	for entry, want := range map[string]string{"body": "made", "headers": `{"x-a":"1,2"}`, "status": "\xc9\x00\x00\x00\x00\x00\x00\x00"} {
		w := &web{answer: answer}
		if got := mustCall(t, module, wasm.Request{Entry: entry, World: wasm.World{HTTP: w}}); got != want {
			t.Errorf("%s answers %q, want %q", entry, got, want)
		}
		asked := []wasm.HTTPRequest{{Method: "POST", URL: "https://a.example/x", Headers: map[string]string{"Accept": "text/plain"}, Body: []byte("body")}}
		if difference := cmp.Diff(asked, w.asked); difference != "" {
			t.Errorf("the request (-want +got):\n%s", difference)
		}
	}
	for _, test := range []struct {
		name  string
		world wasm.World
		kind  string
		text  string
	}{
		{"refused", wasm.World{}, wasm.KindTrap, "http_request: host operations are not offered here"},
		{"failing", wasm.World{HTTP: &web{err: errors.New("no route\nto host")}}, wasm.KindTrap, "http_request: no route"},
		{"limited", wasm.World{HTTP: &web{err: &wasm.LimitError{What: "requests"}}}, wasm.KindLimit, "requests"},
		{"too long", wasm.World{HTTP: &web{answer: wasm.HTTPResponse{Body: make([]byte, 101)}}}, wasm.KindLimit, "bytes of an HTTP answer: 101, the limit is 100"},
		{"panicking", wasm.World{HTTP: &web{before: func(context.Context) error { panic("oh") }}}, wasm.KindHost, "http_request panicked: oh"},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec := fetching()
			spec.Limits.OperationBytes = 100
			_, err := call(t, load(t, spec), wasm.Request{Entry: "body", World: test.world})
			if err == nil || wasm.Kind(err) != test.kind || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %s: %v; want %s: %s", wasm.Kind(err), err, test.kind, test.text)
			}
		})
	}
	spec := fetching()
	spec.Limits.Operations = 1
	if _, err := call(t, load(t, spec), wasm.Request{Entry: "twice", World: wasm.World{HTTP: &web{}}}); wasm.Kind(err) != wasm.KindLimit {
		t.Errorf("a second request where one operation is allowed: %v", err)
	}
}

// TestExtismHTTPWaits shows that a request in Wait costs none of the call's time, and
// that its end reaches the request.
func TestExtismHTTPWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *wasm.Engine) {
		spec := fetching()
		spec.Limits.Deadline = time.Second
		module := loadIn(t, engine, spec)
		slow := &web{before: func(ctx context.Context) error {
			return wasm.Wait(ctx, func(context.Context) error { time.Sleep(time.Minute); return nil })
		}}
		if _, err := call(t, module, wasm.Request{Entry: "body", World: wasm.World{HTTP: slow}}); err != nil {
			t.Errorf("a request that waits: %v", err)
		}
		late := &web{before: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		if _, err := call(t, module, wasm.Request{Entry: "body", World: wasm.World{HTTP: late}}); !errors.Is(err, wasm.ErrDeadline) {
			t.Errorf("a request that outlasts the call: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		waiting := &web{before: func(ctx context.Context) error {
			return wasm.Wait(ctx, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		}}
		go func() {
			_, err := module.Call(ctx, wasm.Request{Entry: "body", World: wasm.World{HTTP: waiting}})
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, wasm.ErrCancelled) {
			t.Errorf("a request whose call is cancelled: %v", err)
		}
	})
}

// kept is a store of variables outside of the engine.
type kept map[string]string

func (k kept) Get(_ context.Context, name string) ([]byte, error) {
	if name == "bad" {
		return nil, errors.New("the store is closed")
	}
	value, ok := k[name]
	if !ok {
		return nil, nil
	}
	return []byte(value), nil
}

func (k kept) Set(_ context.Context, name string, value []byte) error {
	if value == nil {
		delete(k, name)
		return nil
	}
	k[name] = string(value)
	return nil
}

func TestExtismVariables(t *testing.T) {
	module := load(t, extismSpec(func(m *Extism) map[string]string {
		return map[string]string{
			"set":    Code(m.Text(First, "a"), m.Text(Second, "1"), m.Use("var_set", Get(First), Get(Second))),
			"remove": Code(m.Text(First, "old"), m.Use("var_set", Get(First), Const64(0))),
			"get":    Code(m.Text(First, "a"), m.Use("var_get", Get(First)), Set(First), m.Answer(First)),
			"bad":    Code(m.Text(First, "bad"), m.Use("var_get", Get(First)), Drop),
		}
	}))
	store := kept{"old": "x"}
	world := wasm.World{Variables: store}
	for _, entry := range []string{"set", "remove"} {
		mustCall(t, module, wasm.Request{Entry: entry, World: world})
	}
	if difference := cmp.Diff(kept{"a": "1"}, store); difference != "" {
		t.Errorf("the store (-want +got):\n%s", difference)
	}
	if got := mustCall(t, module, wasm.Request{Entry: "get", World: world}); got != "1" {
		t.Errorf("the variable is %q", got)
	}
	if _, err := call(t, module, wasm.Request{Entry: "bad", World: world}); wasm.Kind(err) != wasm.KindTrap || !strings.Contains(err.Error(), "var_get: the store is closed") {
		t.Errorf("a store that fails: %v", err)
	}
}

// TestExtismIsMetered shows that a guest which does nothing but call the kernel's
// functions ends with its fuel and at its deadline, and that its fuel repeats.
func TestExtismIsMetered(t *testing.T) {
	endless := func(limits wasm.Limits) wasm.Spec {
		spec := extismSpec(func(m *Extism) map[string]string {
			walk := Code(m.Use("alloc", Const64(8)), Set(First), Loop, m.Use("load_u64", Get(First)), Drop)
			return map[string]string{
				"loop":  Code(walk, Br(0), End),
				"churn": Code(Loop, m.Use("free", m.Use("alloc", Const64(1<<20))), Br(0), End),
				"once":  Code(m.Text(First, "some text"), m.Answer(First)),
			}
		})
		spec.Limits = limits
		return spec
	}
	for _, entry := range []string{"loop", "churn"} {
		if _, err := call(t, load(t, endless(wasm.Limits{Fuel: 1_000_000})), wasm.Request{Entry: entry}); wasm.Kind(err) != wasm.KindLimit {
			t.Errorf("%s with little fuel: %v", entry, err)
		}
		if _, err := call(t, load(t, endless(wasm.Limits{Deadline: 20 * time.Millisecond})), wasm.Request{Entry: entry}); !errors.Is(err, wasm.ErrDeadline) {
			t.Errorf("%s with little time: %v", entry, err)
		}
	}
	module := load(t, endless(wasm.Limits{}))
	var fuel [2]int64
	for i := range fuel {
		result, err := call(t, module, wasm.Request{Entry: "once"})
		if err != nil {
			t.Fatal(err)
		}
		fuel[i] = result.Fuel
	}
	if fuel[0] != fuel[1] || fuel[0] < 9*40 {
		t.Errorf("the fuel of two calls is %d", fuel)
	}
}

// TestExtismBudget shows that blocks count towards the memory of all guests, and
// that a call gives them back.
func TestExtismBudget(t *testing.T) {
	spec := extismSpec(func(m *Extism) map[string]string {
		return map[string]string{
			"some": Code(m.Use("alloc", Const64(1<<20)), Drop),
			"much": Code(m.Use("alloc", Const64(3<<20)), Drop),
			"trap": Code(m.Use("alloc", Const64(1<<20)), Drop, Unreachable),
		}
	})
	settings := options()
	settings.MemoryMiB = 2
	module := loadIn(t, newEngine(t, settings), spec)
	for range 10 {
		mustCall(t, module, wasm.Request{Entry: "some"})
		if _, err := call(t, module, wasm.Request{Entry: "trap"}); wasm.Kind(err) != wasm.KindTrap {
			t.Errorf("trap: %v", err)
		}
	}
	_, err := call(t, module, wasm.Request{Entry: "much"})
	if limit, ok := errors.AsType[*wasm.LimitError](err); !ok || limit.Knob != "Options.MemoryMiB" {
		t.Errorf("more than all guests have: %v", err)
	}
}

// TestExtismCancelledOperation shows that a guest is told of its end by the answer
// and may still answer.
func TestExtismCancelledOperation(t *testing.T) {
	module := load(t, extismSpec(func(m *Extism) map[string]string {
		ask := Code(m.Text(First, "op"), m.Use(Ask, Get(First), Const64(0)), Set(Second))
		return map[string]string{"ask": Code(ask, m.Answer(Second)), "ask_on": Code(Loop, ask, Br(0), End)}
	}))
	for entry, want := range map[string]string{"ask": "", "ask_on": wasm.KindCancelled} {
		ctx, cancel := context.WithCancel(context.Background())
		result, err := module.Call(ctx, wasm.Request{Entry: entry, Operations: operations(func(context.Context, string, []byte) []byte {
			cancel()
			return []byte("done")
		})})
		if wasm.Kind(err) != want {
			t.Errorf("%s: %v", entry, err)
		}
		if err == nil && !strings.HasPrefix(string(result.Output), wasm.KindCancelled) {
			t.Errorf("%s was told %q", entry, result.Output)
		}
	}
}

// TestExtismLog shows levels, order and the limit of what is logged.
func TestExtismLog(t *testing.T) {
	module := load(t, extismSpec(func(m *Extism) map[string]string {
		say := func(level, text string) string {
			return Code(m.Text(First, text), m.Use("log_"+level, Get(First)))
		}
		return map[string]string{"log": Code(say("trace", "a"), say("debug", "b"), say("info", "c\nd"), say("warn", "e\x1b"), say("error", ""))}
	}))
	var leveled, plain lines
	mustCall(t, module, wasm.Request{Entry: "log", LogAt: func(level, line string) { leveled.add(level + ": " + line) }})
	mustCall(t, module, wasm.Request{Entry: "log", Log: plain.add})
	want := []string{"trace: a", "debug: b", "info: c", "info: d", "warn: e\uFFFD", "error: "}
	if difference := cmp.Diff(want, leveled.text); difference != "" {
		t.Errorf("with levels (-want +got):\n%s", difference)
	}
	if difference := cmp.Diff([]string{"a", "b", "c", "d", "e\uFFFD", ""}, plain.text); difference != "" {
		t.Errorf("without (-want +got):\n%s", difference)
	}
}

// TestExtismFromCache loads a module whose form was read from the cache.
func TestExtismFromCache(t *testing.T) {
	settings := options()
	settings.CacheDir = t.TempDir() + "/cache"
	spec := extismSpec(func(m *Extism) map[string]string {
		return map[string]string{"echo": m.Use("output_set", m.Use("input_offset"), m.Use("input_length"))}
	})
	for _, prepared := range []bool{true, false} {
		module := loadIn(t, newEngine(t, settings), spec)
		if got := mustCall(t, module, wasm.Request{Entry: "echo", Input: []byte("hello")}); got != "hello" || module.Report().Prepared != prepared {
			t.Errorf("it answers %q; prepared anew: %t", got, module.Report().Prepared)
		}
	}
}
