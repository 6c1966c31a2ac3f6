package wasm_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// initial is a guest whose init entry keeps the first byte of its message, whose
// _initialize keeps an 'i', and whose entry "kept" answers both.
func initial() *Module {
	guest := new(Module).Core()
	guest.Func("_initialize", nil, nil, nil, Const(100), Const('i'), Store8)
	guest.Entry(Init, Const(101), Get(0), Load8, Store8, Answer(Get(0), Get(1)))
	guest.Entry("kept", Answer(Const(100), Const(2)))
	return guest
}

func TestStartOfAnInstance(t *testing.T) {
	var told []string
	module := load(t, wasm.Spec{
		Wasm: initial().Bytes(), Entries: []string{"kept"}, Init: []byte("configuration"),
		CheckInit: func(answer []byte) error { told = append(told, string(answer)); return nil },
	})
	if got := mustCall(t, module, wasm.Request{Entry: "kept"}); got != "ic" {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff([]string{"configuration"}, told); diff != "" {
		t.Error(diff)
	}
	plain := load(t, wasm.Spec{Wasm: initial().Bytes(), Entries: []string{"kept"}})
	if got := mustCall(t, plain, wasm.Request{Entry: "kept"}); got != "i\x00" {
		t.Errorf("without a message: %q", got)
	}
}

func TestFailuresOfTheStart(t *testing.T) {
	reason := errors.New("the key weather-key is missing")
	function := func(name string, code ...string) *Module {
		guest := new(Module).Core()
		guest.Entry("run", Const64(0))
		guest.Func(name, nil, nil, nil, code...)
		return guest
	}
	endless := function("begin", Loop, Br(0), End)
	endless.Start(3)
	asking := new(Module)
	host, read := asking.Operations()
	asking.Core().Entry("run", Const64(0))
	asking.Entry(Init, Const(0), Const(0), Const(0), Const(0), Call(host), Set(2), Const(Room), Call(read), Answer(Const(Room), Get(2)))
	tests := []struct {
		name  string
		guest *Module
		check func([]byte) error
		text  string
		cause error
	}{
		{"trap", function("_initialize", Unreachable), nil, "an instance does not start: _initialize: trap in _initialize: unreachable", nil},
		{"endless initialize", function("_initialize", Loop, Br(0), End), nil, "does not start within 30ms: _initialize: deadline passed", wasm.ErrDeadline},
		{"endless start function", endless, nil, "does not start within 30ms: start function: deadline passed", wasm.ErrDeadline},
		{"refusal", initial(), func([]byte) error { return reason }, "test_init: the key weather-key is missing", reason},
		{"operations", asking, func(answer []byte) error { return errors.New(string(answer)) },
			"test_init: unavailable: host operations are not offered here", nil},
	}
	engine := newEngine(t, options())
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, lazy := range []bool{false, true} {
				spec := wasm.Spec{
					Name: "guest", Wasm: test.guest.Bytes(), Entries: []string{"run"}, Lazy: lazy,
					Init: []byte("x"), CheckInit: test.check, Limits: wasm.Limits{Start: 30 * time.Millisecond},
				}
				if test.name == "refusal" {
					spec.Entries = []string{"kept"}
				}
				module, err := engine.Load(context.Background(), spec)
				if lazy {
					if err != nil {
						t.Fatal(err)
					}
					_, err = call(t, module, wasm.Request{Entry: spec.Entries[0]})
					if stats := module.Stats(); stats.Started != 1 || stats.Discarded != 1 || stats.Leased != 0 {
						t.Errorf("%+v", stats)
					}
				}
				var refusal *wasm.AdmissionError
				if !errors.As(err, &refusal) || refusal.Stage != wasm.StageStart || !strings.Contains(err.Error(), test.text) {
					t.Errorf("lazy %v: %v", lazy, err)
				}
				if test.cause != nil && !errors.Is(err, test.cause) {
					t.Errorf("lazy %v: the cause is lost: %v", lazy, err)
				}
			}
		})
	}
}

func TestStartLogsToTheEngine(t *testing.T) {
	var got lines
	sink := options()
	sink.Logger = recorder(&got)
	guest := new(Module)
	write := guest.Import(wasi, "fd_write", Types(I32, I32, I32, I32), Types(I32))
	guest.Core().Data(2000, vectors(2100, 5))
	guest.Data(2100, "hello")
	guest.Func("_initialize", nil, nil, nil, Const(1), Const(2000), Const(1), Const(1004), Call(write), Drop)
	spec := wasm.Spec{Name: "greeter", Wasm: guest.Bytes()}
	if _, err := newEngine(t, sink).Load(context.Background(), spec); err != nil {
		t.Fatal(err)
	}
	if len(got.text) != 1 || !strings.Contains(got.text[0], "greeter: hello") {
		t.Errorf("got %q", got.text)
	}
}

func TestLazyModuleIsCompiledOnce(t *testing.T) {
	module := load(t, wasm.Spec{Lazy: true})
	if diff := cmp.Diff(wasm.Stats{}, module.Stats()); diff != "" {
		t.Error(diff)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := module.Call(context.Background(), wasm.Request{Entry: "echo"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestLazyModuleThatDoesNotCompile(t *testing.T) {
	guest := new(Module).Core()
	guest.Entry("run", Add)
	module := load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}, Lazy: true})
	for range 2 {
		_, err := call(t, module, wasm.Request{Entry: "run"})
		var refusal *wasm.AdmissionError
		if !errors.As(err, &refusal) || refusal.Stage != wasm.StageCompile {
			t.Errorf("got %v", err)
		}
	}
}

func TestLazyModuleThatIsNeverCalledCloses(t *testing.T) {
	module := load(t, wasm.Spec{Lazy: true})
	if err := module.Close(); err != nil {
		t.Error(err)
	}
}

func TestLoadWithAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := newEngine(t, options()).Load(ctx, wasm.Spec{Name: "guest", Wasm: Guest().Bytes()})
	if !errors.Is(err, wasm.ErrCancelled) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
