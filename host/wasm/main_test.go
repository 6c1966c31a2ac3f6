package wasm_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(childVariable); kind != "" {
		os.Exit(beChild(kind))
	}
	goleak.VerifyTestMain(m)
}

func contract() wasm.Contract {
	return wasm.Contract{
		Marker: wasmtest.Marker, Alloc: wasmtest.Alloc, Free: wasmtest.Free, Init: wasmtest.Init, Reseed: wasmtest.Reseed,
		Module: wasmtest.Host, Call: wasmtest.Ask, Read: wasmtest.Read,
	}
}

func options() wasm.Options {
	return wasm.Options{
		Contract: contract(), Logger: hclog.NewNullLogger(), Tools: 4,
		Refuse: func(err error) []byte { return []byte(wasm.Kind(err) + ": " + err.Error()) },
	}
}

func newEngine(t testing.TB, options wasm.Options) *wasm.Engine {
	t.Helper()
	engine, err := wasm.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

func guestEntries() []string {
	return []string{"echo", "count", "trap", "loop", "grow", "swell", "outside", "huge"}
}

// load loads a module that must be admitted; a spec without a module gets Guest.
func load(t testing.TB, spec wasm.Spec) *wasm.Module {
	t.Helper()
	if spec.Wasm == nil {
		spec.Wasm, spec.Entries = wasmtest.Guest().Bytes(), guestEntries()
	}
	spec.Name = "guest"
	module, err := newEngine(t, options()).Load(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func call(t testing.TB, module *wasm.Module, request wasm.Request) (wasm.Result, error) {
	t.Helper()
	return module.Call(context.Background(), request)
}

// mustCall answers the output of a call that must succeed.
func mustCall(t testing.TB, module *wasm.Module, request wasm.Request) string {
	t.Helper()
	result, err := call(t, module, request)
	if err != nil {
		t.Fatal(err)
	}
	return string(result.Output)
}

// operations is a host whose operations are a function.
type operations func(ctx context.Context, operation string, request []byte) []byte

func (o operations) Call(ctx context.Context, operation string, request []byte) []byte {
	return o(ctx, operation, request)
}

// lines gathers log lines.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, line)
}
