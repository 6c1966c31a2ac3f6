package extism_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/host/extism"
	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// operations is a host whose operations are a function.
type operations func(ctx context.Context, operation string, request []byte) []byte

func (o operations) Call(ctx context.Context, operation string, request []byte) []byte {
	return o(ctx, operation, request)
}

func options() extism.Options {
	return extism.Options{
		Contract: wasm.Contract{Call: Ask, Init: Init},
		Refuse:   func(err error) []byte { return []byte(wasm.Kind(err)) },
	}
}

// guest has the entries of these tests.
//
//	echo   answers its input
//	ask    asks for "op" with its input and answers the answer
//	again  asks twice and answers the last answer
//	loop   never ends
//	grow   grows by 16 pages, and traps when it may not
//	log    logs 4 bytes
func guest() wasm.Spec {
	m := NewExtism(Marker)
	ask := Code(m.Text(First, "op"), m.Use(Ask, Get(First), m.Use("input_offset")), Set(Second))
	m.Entry("echo", m.Use("output_set", m.Use("input_offset"), m.Use("input_length")))
	m.Entry("ask", ask, m.Answer(Second))
	m.Entry("again", ask, ask, m.Answer(Second))
	m.Entry("loop", Loop, Br(0), End)
	m.Entry("grow", Const(16), Grow, Const(-1), Eq, If, Unreachable, End)
	m.Entry("log", m.Text(First, "text"), m.Use("log_info", Get(First)))
	return wasm.Spec{Name: "guest", Wasm: m.Bytes(), Entries: []string{"echo", "ask", "again", "loop", "grow", "log"}}
}

func load(t *testing.T, spec wasm.Spec) *extism.Module {
	t.Helper()
	module, err := extism.Load(context.Background(), options(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := module.Close(); err != nil {
			t.Error(err)
		}
	})
	return module
}

// TestLimits calls a guest under limits that bite, and under ones that do not.
func TestLimits(t *testing.T) {
	answer := operations(func(_ context.Context, _ string, request []byte) []byte { return request })
	tests := []struct {
		name         string
		tight, loose wasm.Limits
		request      wasm.Request
		kind         string // of the error, or what is answered instead
	}{
		{"input", wasm.Limits{InputBytes: 2}, wasm.Limits{InputBytes: 3}, wasm.Request{Entry: "echo", Input: []byte("abc")}, wasm.KindLimit},
		{"output", wasm.Limits{OutputBytes: 2}, wasm.Limits{OutputBytes: 3}, wasm.Request{Entry: "echo", Input: []byte("abc")}, wasm.KindAnswer},
		{"memory", wasm.Limits{MemoryMiB: 1}, wasm.Limits{MemoryMiB: 2}, wasm.Request{Entry: "grow"}, wasm.KindTrap},
		{"operations", wasm.Limits{Operations: 1}, wasm.Limits{Operations: 2}, wasm.Request{Entry: "again", Input: []byte("abc"), Operations: answer}, wasm.KindLimit},
		{"request", wasm.Limits{OperationBytes: 2}, wasm.Limits{OperationBytes: 3}, wasm.Request{Entry: "ask", Input: []byte("abc"), Operations: answer}, wasm.KindLimit},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, limits := range []wasm.Limits{test.tight, test.loose} {
				spec := guest()
				spec.Limits = limits
				result, err := load(t, spec).Call(context.Background(), test.request)
				kind := wasm.Kind(err)
				if string(result.Output) == wasm.KindLimit {
					kind = wasm.KindLimit // as the operation was told
				}
				if want := map[bool]string{true: test.kind}[limits == test.tight]; kind != want {
					t.Errorf("%+v: got %q: %v; want %q", limits, kind, err, want)
				}
			}
		})
	}
}

func TestLogIsLimited(t *testing.T) {
	for limit, want := range map[int][]string{
		4: {"info: text"},
		3: {"the log is cut off here: a call may write 3 bytes (LogBytes)", "info: tex"},
	} {
		spec := guest()
		spec.Limits.LogBytes = limit
		var log []string
		_, err := load(t, spec).Call(context.Background(), wasm.Request{
			Entry: "log",
			Log:   func(line string) { log = append(log, line) },
			LogAt: func(level, line string) { log = append(log, level+": "+line) },
		})
		if err != nil {
			t.Error(err)
		}
		if difference := cmp.Diff(want, log); difference != "" {
			t.Errorf("with %d bytes (-want +got):\n%s", limit, difference)
		}
	}
}

// TestEnd ends a guest that does not end itself, and one in an operation.
func TestEnd(t *testing.T) {
	module := load(t, guest())
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	held := operations(func(ctx context.Context, _ string, _ []byte) []byte { <-ctx.Done(); return nil })
	for _, test := range []struct {
		ctx   context.Context
		entry string
		want  error
	}{
		{context.Background(), "loop", wasm.ErrDeadline},
		{context.Background(), "ask", wasm.ErrDeadline},
		{cancelled, "loop", wasm.ErrCancelled},
	} {
		_, err := module.Call(test.ctx, wasm.Request{Entry: test.entry, Deadline: 20 * time.Millisecond, Operations: held})
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.entry, err, test.want)
		}
	}
}

// TestPlaces has a call hold the only place.
func TestPlaces(t *testing.T) {
	spec := guest()
	spec.Limits = wasm.Limits{Instances: 1, Wait: time.Millisecond}
	module := load(t, spec)
	begun, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := module.Call(context.Background(), wasm.Request{Entry: "ask", Operations: operations(func(context.Context, string, []byte) []byte {
			close(begun)
			<-release
			return nil
		})})
		ended <- err
	}()
	<-begun
	if _, err := module.Call(context.Background(), wasm.Request{Entry: "echo"}); !errors.Is(err, wasm.ErrBusy) {
		t.Errorf("a second call: %v", err)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := module.Call(context.Background(), wasm.Request{Entry: "echo"}); err != nil {
		t.Errorf("a call after it: %v", err)
	}
}

// TestTogether calls from many goroutines.
func TestTogether(t *testing.T) {
	module := load(t, guest())
	var calls sync.WaitGroup
	for n := range 16 {
		calls.Go(func() {
			input := strings.Repeat("x", n)
			result, err := module.Call(context.Background(), wasm.Request{Entry: "ask", Input: []byte(input),
				Operations: operations(func(_ context.Context, operation string, request []byte) []byte {
					return append([]byte(operation), request...)
				})})
			if err != nil || string(result.Output) != "op"+input {
				t.Errorf("call %d answers %q, %v", n, result.Output, err)
			}
		})
	}
	calls.Wait()
}

func TestErrors(t *testing.T) {
	module := load(t, guest())
	if _, err := module.Call(context.Background(), wasm.Request{Entry: "other"}); !errors.Is(err, wasm.ErrEntry) {
		t.Errorf("an entry that is not there: %v", err)
	}
	panics := operations(func(context.Context, string, []byte) []byte { panic("oh") })
	if _, err := module.Call(context.Background(), wasm.Request{Entry: "ask", Operations: panics}); wasm.Kind(err) != wasm.KindHost {
		t.Errorf("an operation that panics: %v", err)
	}
	if result, err := module.Call(context.Background(), wasm.Request{Entry: "ask"}); err != nil || string(result.Output) != wasm.KindUnavailable {
		t.Errorf("without operations: %q, %v", result.Output, err)
	}
	if err := errors.Join(module.Close(), module.Close()); err != nil {
		t.Error(err)
	}
	if _, err := module.Call(context.Background(), wasm.Request{Entry: "echo"}); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("a closed module: %v", err)
	}
}

// TestAdmission refuses what cannot run, with the stage.
func TestAdmission(t *testing.T) {
	core := Guest()
	unknown := new(Module)
	unknown.Import(ExtismEnv, "input_fly", nil, nil)
	unknown.Memory(1, 0)
	unknown.Func("run", nil, Types(I32), nil, Const(0))
	traps := NewExtism(Marker)
	traps.Entry("run")
	traps.Entry(Init, Unreachable)
	for name, test := range map[string]struct {
		module []byte
		entry  string
		stage  string
	}{
		"no module":        {[]byte("no module"), "run", wasm.StageParse},
		"core":             {core.Bytes(), "echo", wasm.StageImports},
		"no entry":         {guest().Wasm, "run", wasm.StageExports},
		"unknown function": {unknown.Bytes(), "run", wasm.StageStart},
		"init that traps":  {traps.Bytes(), "run", wasm.StageStart},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := extism.Load(context.Background(), options(), wasm.Spec{Name: "guest", Wasm: test.module, Entries: []string{test.entry}, Init: []byte{}})
			refusal, ok := errors.AsType[*wasm.AdmissionError](err)
			if !ok || refusal.Stage != test.stage || refusal.Module != "guest" {
				t.Errorf("got %v, want stage %s", err, test.stage)
			}
		})
	}
	if _, err := extism.Load(context.Background(), extism.Options{}, guest()); err == nil {
		t.Error("it loads without a contract")
	}
}

// TestInit gives every instance its settings first.
func TestInit(t *testing.T) {
	m := NewExtism(Marker)
	m.Entry(Init, m.Text(First, "seen"), m.Use("var_set", Get(First), m.Use("input_offset")), m.Text(First, "fine"), m.Answer(First))
	m.Entry("look", m.Text(First, "seen"), Code(m.Use("var_get", Get(First)), Set(Second)), m.Answer(Second))
	var judged []string
	module := load(t, wasm.Spec{Name: "guest", Wasm: m.Bytes(), Entries: []string{"look"}, Init: []byte("settings"),
		CheckInit: func(answer []byte) error { judged = append(judged, string(answer)); return nil }})
	result, err := module.Call(context.Background(), wasm.Request{Entry: "look"})
	if err != nil || string(result.Output) != "settings" {
		t.Errorf("it answers %q, %v", result.Output, err)
	}
	if difference := cmp.Diff([]string{"fine", "fine"}, judged); difference != "" {
		t.Errorf("the answers of init (-want +got):\n%s", difference)
	}
}
