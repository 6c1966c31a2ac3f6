package replay_test

import (
	"context"
	"errors"
	"log"
	"os"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/tests/warm"
)

// compiled holds what the engine compiled, so that a module is compiled once.
var compiled string

func TestMain(m *testing.M) {
	var err error
	if compiled, err = os.MkdirTemp("", "plinth-replay-"); err != nil {
		log.Fatal(err)
	}
	if err = warm.Into(compiled); err != nil {
		log.Fatal(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(compiled); err != nil {
			log.Fatal(err)
		}
		os.Exit(code)
	}))
}

func newEngine(t testing.TB) *wasm.Engine {
	t.Helper()
	engine, err := wasm.New(wasm.Options{Contract: bridge.Contract(), Refuse: bridge.Refuse, CacheDir: compiled, Tools: 1})
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

// kept is a sink in memory.
type kept struct {
	mu  sync.Mutex
	all []*replay.Recording
}

func (k *kept) Keep(recording *replay.Recording) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, recording)
	return nil
}

// only answers the one recording, as it is read from its file.
func (k *kept) only(t testing.TB) *replay.Recording {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) != 1 {
		t.Fatalf("%d recordings", len(k.all))
	}
	return reread(t, k.all[0])
}

// reread sends a recording through its file, which must not change it.
func reread(t testing.TB, recording *replay.Recording) *replay.Recording {
	t.Helper()
	text, err := recording.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(text) {
		t.Errorf("the file is not UTF-8: %q", text)
	}
	again, err := replay.Decode(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(recording, again); diff != "" {
		t.Fatalf("read again: %s\n%s", diff, text)
	}
	return again
}

// stage is a module with a recorder before it.
type stage struct {
	*replay.Recorder
	*kept
	spec   wasm.Spec
	module *wasm.Module
}

// newStage loads a module as a plugin acme/test, and records what is called.
func newStage(t testing.TB, spec wasm.Spec, options replay.Options) *stage {
	t.Helper()
	s := &stage{kept: new(kept)}
	if spec.Name == "" {
		spec.Name = "acme/test"
	}
	if spec.Entries == nil {
		spec.Entries = []string{abi.ExportTool}
	}
	var err error
	if spec.Init, err = bridge.Init(spec.Name, nil); err != nil {
		t.Fatal(err)
	}
	spec.CheckInit, spec.Start = bridge.CheckInit, replay.Start
	s.spec = spec
	module, err := newEngine(t).Load(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if options.Sink == nil {
		options.Sink = s.kept
	}
	options.Host, options.Revision, options.CallID, options.Failed = "1.2.3", "r1", bridge.CallID, bridge.Failed
	options.Lost = func(err error) { t.Error(err) }
	s.module = module
	s.Recorder = replay.Record(module, options)
	return s
}

// ask calls the tool entry, with operations.
func (s *stage) ask(ctx context.Context, deadline time.Duration, operations wasm.Operations) (wasm.Result, error) {
	return s.Call(ctx, wasm.Request{Entry: abi.ExportTool, Input: toolMessage(), Deadline: deadline, Session: "ses_1",
		Lane: wasm.LaneTool, Operations: operations, Log: func(string) {}})
}

func toolMessage() []byte {
	return abi.EncodeMessage([]byte(`{"deadline_ms":1000,"meta":{},"body":{"tool":"probe","call":{"id":"call_1","message":"msg_1"}}}`), nil)
}

// again replays a recording in an engine of its own.
func again(t testing.TB, spec wasm.Spec, recording *replay.Recording) (replay.Report, error) {
	t.Helper()
	return replay.Replay(t.Context(), newEngine(t), wasm.Spec{Wasm: spec.Wasm, Builtin: spec.Builtin, CheckInit: bridge.CheckInit}, recording)
}

// mustRepeat demands that a replay comes out as recorded, to the unit of fuel.
func mustRepeat(t testing.TB, spec wasm.Spec, recording *replay.Recording) replay.Report {
	t.Helper()
	report, err := again(t, spec, recording)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Exact || !report.Equal() {
		t.Errorf("replay: %v", report)
	}
	if over := report.Got.Fuel - recording.End.Fuel; over < 0 || over > 100 {
		t.Errorf("replayed for %d of fuel, recorded %d", report.Got.Fuel, recording.End.Fuel)
	}
	if recording.End.Error == nil && (report.Got.Fuel != recording.End.Fuel ||
		string(report.Got.Output) != string(recording.End.Output)) {
		t.Errorf("replayed %q for %d, recorded %q for %d", report.Got.Output, report.Got.Fuel, recording.End.Output, recording.End.Fuel)
	}
	if wasm.Kind(report.Err) != report.Want.Kind {
		t.Errorf("replay ended with %v, recorded %s", report.Err, report.Want.Kind)
	}
	return report
}

// operations is a host whose operations are a function.
type operations func(ctx context.Context, operation string, request []byte) []byte

func (o operations) Call(ctx context.Context, operation string, request []byte) []byte {
	return o(ctx, operation, request)
}

// answering always answers this.
func answering(body string) operations {
	return func(context.Context, string, []byte) []byte { return abi.EncodeMessage([]byte(body), nil) }
}

// diverged demands a divergence.
func diverged(t testing.TB, err error) *replay.Divergence {
	t.Helper()
	divergence, ok := errors.AsType[*replay.Divergence](err)
	if !ok {
		t.Fatalf("got %v, want a divergence", err)
	}
	return divergence
}
