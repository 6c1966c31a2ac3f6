package extism

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/extism"
	"github.com/plinthhost/plinth/host/wasm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is either of the two.
type host interface {
	Call(ctx context.Context, request wasm.Request) (wasm.Result, error)
}

// outcome is what must be equal on both.
type outcome struct {
	Kind    string // of the error, "" for none
	Exit    uint32
	Message string // that the guest set as its error
	Output  string
	Log     []string // with levels; what is logged below info left out
	Asked   []string // operations
}

// refuse words what a host answers instead of an operation.
func refuse(err error) []byte { return []byte("refused: " + wasm.Kind(err)) }

// ours loads a module into the engine.
func ours(t testing.TB, spec wasm.Spec) (*wasm.Module, error) {
	t.Helper()
	engine, err := wasm.New(wasm.Options{Contract: bridge.Contract(), Refuse: refuse})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine.Load(context.Background(), spec)
}

// theirs loads it with the SDK.
func theirs(t testing.TB, spec wasm.Spec) (*extism.Module, error) {
	t.Helper()
	module, err := extism.Load(context.Background(), extism.Options{Contract: bridge.Contract(), Refuse: refuse}, spec)
	if err == nil {
		t.Cleanup(func() {
			if err := module.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return module, err
}

// hosts loads a module into both.
func hosts(t testing.TB, spec wasm.Spec) (engine, oracle host) {
	t.Helper()
	spec.Name = "guest"
	engine, err := ours(t, spec)
	if err != nil {
		t.Fatalf("the engine: %v", err)
	}
	oracle, err = theirs(t, spec)
	if err != nil {
		t.Fatalf("the SDK: %v", err)
	}
	return engine, oracle
}

// operations answers what tests ask for.
type operations struct{ asked []string }

func (o *operations) Call(_ context.Context, operation string, request []byte) []byte {
	o.asked = append(o.asked, operation+" "+string(request))
	switch operation {
	case "echo":
		return append([]byte("<"), append(request, '>')...)
	case "nothing":
		return nil
	case abi.OpFSRead:
		return abi.EncodeMessage([]byte(`{"ok":{"info":{"path":"a","size":9},"data":{"$bytes":[1,3]},"eof":true}}`), []byte("\x00\xff\x80a\n"))
	}
	return []byte("unknown")
}

// try calls an entry and answers all that can be compared.
func try(h host, entry, input string) outcome {
	var got outcome
	asked := new(operations)
	result, err := h.Call(context.Background(), wasm.Request{
		Entry: entry, Input: []byte(input), Deadline: 20 * time.Second, Lane: wasm.LaneTool, Operations: asked,
		Log: func(line string) { got.Log = append(got.Log, line) },
		LogAt: func(level, line string) {
			if level != "trace" && level != "debug" {
				got.Log = append(got.Log, level+": "+line)
			}
		},
	})
	got.Kind, got.Output, got.Asked = wasm.Kind(err), string(result.Output), asked.asked
	if exit, ok := errors.AsType[*wasm.ExitError](err); ok {
		got.Exit, got.Message, got.Output = exit.Code, exit.Message, string(exit.Output)
	}
	return got
}

// compare calls an entry on both hosts, twice, since nothing may survive a call, and
// answers what it gave.
func compare(t *testing.T, engine, oracle host, entry, input string) outcome {
	t.Helper()
	want := try(oracle, entry, input)
	for range 2 {
		got := try(engine, entry, input)
		if got.Kind == wasm.KindLimit || got.Kind == wasm.KindUnavailable {
			got.Kind = wasm.KindTrap // all that the SDK can say
		}
		if difference := cmp.Diff(want, got); difference != "" {
			t.Errorf("%s: the SDK (-) and the engine (+) differ:\n%s", entry, difference)
		}
	}
	return want
}

// entries are a module's functions of the shape of an entry, ascending.
func entries(t testing.TB, module []byte) []string {
	t.Helper()
	info, err := wasm.Inspect(module)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, export := range info.Exports {
		if export.Type == "()->(i32)" && export.Name != bridge.Contract().Init {
			names = append(names, export.Name)
		}
	}
	slices.Sort(names)
	return names
}
