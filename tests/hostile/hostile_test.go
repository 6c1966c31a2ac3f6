// Package hostile is the corpus of plugins that mean harm, or that are broken in
// ways which have hurt other hosts. Every case must end with one typed error of
// the right kind while the host stays healthy: the collector runs, another call
// is answered, and after a hundred repetitions nothing is left behind.
package hostile

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// compilerVariable makes this test binary the child that compiles.
const compilerVariable = "PLINTH_TEST_COMPILER"

func TestMain(m *testing.M) {
	if os.Getenv(compilerVariable) != "" {
		os.Exit(wasm.Compile(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

// A hostile module, and how the engine must answer it.
type hostile struct {
	name   string // with the row of the reference it stands for
	module func(m *wasmtest.Module)
	bytes  []byte // instead of module
	limits wasm.Limits
	pure   bool
	init   []byte // message of the init entry
	// isolation is the default's when it is not said.
	isolation wasm.Isolation

	input      []byte
	operations wasm.Operations

	// refused at admission with this in the error's text, else run with the outcome
	refused string
	stage   string
	kind    string // of the call's error; "" when it must succeed
	text    string // in the call's error
	output  string // of a call that succeeds
}

type engine struct {
	*wasm.Engine
	neighbour *wasm.Module
}

// options compile in a child, as for any module that is not our own.
func options(t *testing.T) wasm.Options {
	t.Helper()
	return wasm.Options{
		Contract: wasm.Contract{
			Marker: wasmtest.Marker, Alloc: wasmtest.Alloc, Free: wasmtest.Free, Init: wasmtest.Init, Reseed: wasmtest.Reseed,
			Module: wasmtest.Host, Call: wasmtest.Ask, Read: wasmtest.Read,
		},
		Refuse:   func(err error) []byte { return []byte(wasm.Kind(err)) },
		Logger:   hclog.NewNullLogger(),
		CacheDir: t.TempDir() + "/cache",

		CompileLimits: wasm.CompileLimits{Base: compileBase},
		Compiler: func(ctx context.Context) *exec.Cmd {
			child := exec.CommandContext(ctx, os.Args[0])
			// Under the race detector a process would sleep for a second before it ends.
			child.Env = append(os.Environ(), compilerVariable+"=1", "GORACE=atexit_sleep_ms=0")
			return child
		},
	}
}

func newEngine(t *testing.T, options wasm.Options) engine {
	t.Helper()
	made, err := wasm.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.Close(); err != nil {
			t.Error(err)
		}
	})
	neighbour, err := made.Load(context.Background(), wasm.Spec{
		Name: "neighbour", Wasm: wasmtest.Guest().Bytes(), Entries: []string{"echo"}, Builtin: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine{made, neighbour}
}

func (h hostile) wasm() []byte {
	if h.bytes != nil {
		return h.bytes
	}
	m := new(wasmtest.Module)
	h.module(m)
	return m.Bytes()
}

func (h hostile) spec() wasm.Spec {
	limits := h.limits
	if limits.Deadline == 0 {
		limits.Deadline = deadline
	}
	return wasm.Spec{
		Name: "hostile", Wasm: h.wasm(), Entries: []string{"run"}, Limits: limits, Pure: h.pure,
		Init: h.init, Isolation: h.isolation,
	}
}

func TestCorpus(t *testing.T) {
	e := newEngine(t, options(t))
	for _, h := range corpus() {
		t.Run(h.name, func(t *testing.T) {
			module, err := e.Load(context.Background(), h.spec())
			h.checkAdmission(t, err)
			if err != nil {
				return
			}
			defer func() {
				if err := module.Close(); err != nil {
					t.Error(err)
				}
			}()
			e.besides(t, func() { h.checkCall(t, module) })
			before := takeLedger()
			for range repetitions {
				h.checkCall(t, module)
			}
			before.compare(t)
		})
	}
}

func (h hostile) checkAdmission(t *testing.T, err error) {
	t.Helper()
	refusal, _ := errors.AsType[*wasm.AdmissionError](err)
	switch {
	case h.refused == "" && err != nil:
		t.Fatalf("it is refused: %v", err)
	case h.refused == "":
	case err == nil:
		t.Fatalf("it is admitted, want a refusal with %q", h.refused)
	case refusal == nil:
		t.Fatalf("the refusal has no type: %v", err)
	case refusal.Stage != h.stage || !strings.Contains(err.Error(), h.refused):
		t.Fatalf("refused at %s: %v; want %s: %q", refusal.Stage, err, h.stage, h.refused)
	}
}

func (h hostile) checkCall(t *testing.T, module *wasm.Module) {
	t.Helper()
	result, err := module.Call(context.Background(), wasm.Request{Entry: "run", Input: h.input, Operations: h.operations})
	switch {
	case wasm.Kind(err) != h.kind || err != nil && !strings.Contains(err.Error(), h.text):
		t.Fatalf("the call ends with %q: %v; want %q: %q", wasm.Kind(err), err, h.kind, h.text)
	case string(result.Output) != h.output:
		t.Fatalf("it answers %q, want %q", result.Output, h.output)
	}
}

// besides runs fn while the collector works and a neighbour is called. Both come
// to an end only when the guests in fn let them.
func (e engine) besides(t *testing.T, fn func()) {
	t.Helper()
	before := pauses()
	defer func() {
		if longest := longestSince(before); longest > longestPause {
			t.Errorf("the collector stopped the world for %s", longest)
		}
	}()
	done := make(chan struct{})
	var work sync.WaitGroup
	for _, other := range []func(){
		runtime.GC,
		func() {
			result, err := e.neighbour.Call(context.Background(), wasm.Request{Entry: "echo", Input: []byte("here"), Lane: wasm.LaneQuick})
			if err != nil || string(result.Output) != "here" {
				t.Errorf("the neighbour answers %q, %v", result.Output, err)
			}
		},
	} {
		work.Go(func() {
			for {
				other()
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	defer work.Wait() // also when fn fails the test
	defer close(done)
	fn()
}

// longestPause of the collector. The world stops when every guest has come to a
// yield, so this is how long one can keep it: the reference asks for 50 ms, and tests
// share the machine.
const longestPause = 200 * time.Millisecond

// pauses is how often the collector stopped the world for how long, so far.
func pauses() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64Histogram()
}

// longestSince answers the longest pause since then, or less: its class's lower end.
func longestSince(before *metrics.Float64Histogram) time.Duration {
	after := pauses()
	for class, count := range slices.Backward(after.Counts) {
		if count > before.Counts[class] {
			return time.Duration(max(0, after.Buckets[class]) * float64(time.Second))
		}
	}
	return 0
}

// ledger is what the process holds.
type ledger struct {
	goroutines, descriptors, mappings int
}

func takeLedger() ledger {
	runtime.GC()
	descriptors, _ := os.ReadDir("/proc/self/fd")
	maps, _ := os.ReadFile("/proc/self/maps")
	return ledger{runtime.NumGoroutine(), len(descriptors), strings.Count(string(maps), "\n")}
}

// runtimeMappings is what the runtime itself may map meanwhile: less than one in
// every call when there are 100.
const runtimeMappings = 50

// compare allows for what the runtime itself opens and maps meanwhile.
func (l ledger) compare(t *testing.T) {
	t.Helper()
	after := takeLedger()
	if after.goroutines > l.goroutines+2 || after.descriptors > l.descriptors+2 || after.mappings > l.mappings+runtimeMappings {
		t.Errorf("%d repetitions left something behind: %+v, before %+v", repetitions, after, l)
	}
}

// A guest that never ends is stopped by its caller while it holds the processor.
func TestCancelReachesAGuestThatNeverAsks(t *testing.T) {
	e := newEngine(t, options(t))
	for _, h := range corpus() {
		if h.kind != wasm.KindDeadline {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			spec := h.spec()
			spec.Limits.Deadline = time.Hour
			module, err := e.Load(context.Background(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer module.Close()
			ctx, cancel := context.WithCancelCause(context.Background())
			cause := errors.New("the user pressed stop")
			ended := make(chan error)
			go func() {
				_, err := module.Call(ctx, wasm.Request{Entry: "run", Input: h.input, Operations: h.operations})
				ended <- err
			}()
			runtime.GC() // returns although the guest runs
			cancel(cause)
			if err := <-ended; !errors.Is(err, wasm.ErrCancelled) || !errors.Is(err, cause) {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}
