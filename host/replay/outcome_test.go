package replay_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
)

const (
	before = `{"ok":{"host":`
	after  = `}}`
)

func asking() *bridgetest.Guest {
	return bridgetest.NewAsking().Asks(abi.ExportTool, "fs.read", `{"path":"a.txt"}`, before, after)
}

// Whatever a call comes to, its replay comes to the same: the kind of error, its
// text where the guest made it, what was logged.
func TestEveryOutcomeRepeats(t *testing.T) {
	cancelled := errors.New("the user went away")
	for _, test := range []struct {
		name       string
		guest      *bridgetest.Guest
		limits     wasm.Limits
		deadline   time.Duration
		operations func(cancel context.CancelCauseFunc) wasm.Operations
		kind       string // of the error
		text       string // in the output or in the error
		failed     bool
	}{
		{name: "answer", guest: bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`), text: `{"ok":{}}`},
		{name: "error of the guest", guest: bridgetest.New().Answers(abi.ExportTool, `{"error":{"kind":"not_found","message":"no"}}`),
			text: "not_found", failed: true},
		{name: "no message", guest: bridgetest.New().AnswersBytes(abi.ExportTool, []byte("\xff\xfe")), text: "\xff\xfe", failed: true},
		{name: "empty answer", guest: bridgetest.New().AnswersBytes(abi.ExportTool, nil), failed: true},
		{name: "log", guest: bridgetest.NewPrinting().Prints(abi.ExportTool, "one\ntwo", `{"ok":{}}`), text: "ok"},
		{name: "echo", guest: bridgetest.New().Reflects(abi.ExportTool, before, after), text: "call_1"},
		{name: "trap", guest: bridgetest.New().Traps(abi.ExportTool), kind: wasm.KindTrap, text: "unreachable", failed: true},
		{name: "fuel", guest: bridgetest.New().Loops(abi.ExportTool), limits: wasm.Limits{Fuel: 100_000},
			kind: wasm.KindLimit, text: "fuel of a call: the limit is 100000", failed: true},
		{name: "output limit", guest: asking(), limits: wasm.Limits{OutputBytes: 10}, operations: fixed(answering(`{"ok":{}}`)),
			kind: wasm.KindAnswer, text: "OutputBytes", failed: true},
		{name: "timeout", guest: bridgetest.New().Loops(abi.ExportTool), deadline: 30 * time.Millisecond,
			kind: wasm.KindDeadline, text: "deadline passed", failed: true},
		{name: "operation", guest: asking(), operations: fixed(answering(`{"ok":{"text":"alpha"}}`)), text: "alpha"},
		{name: "refused operation", guest: asking(), operations: fixed(answering(`{"error":{"kind":"denied","message":"not yours"}}`)), text: "not yours"},
		{name: "no operations", guest: asking(), text: "host operations are not offered here"},
		{name: "request too long", guest: asking(), limits: wasm.Limits{OperationBytes: 8}, operations: fixed(answering(`{}`)),
			text: "bytes of an operation's request: 20, the limit is 8"},
		{name: "answer too long", guest: asking(), limits: wasm.Limits{OperationBytes: 256},
			operations: fixed(answering(`{"ok":"` + strings.Repeat("a", 300) + `"}`)), text: "bytes of an operation's answer"},
		{name: "cancelled in an operation", guest: asking(), operations: func(cancel context.CancelCauseFunc) wasm.Operations {
			return operations(func(context.Context, string, []byte) []byte { cancel(cancelled); return nil })
		}, text: "call cancelled: the user went away"},
		{name: "timeout in an operation", guest: asking(), deadline: 20 * time.Millisecond,
			operations: fixed(func(ctx context.Context, _ string, _ []byte) []byte { <-ctx.Done(); return nil }), text: "deadline passed"},
		{name: "fault of the host", guest: asking(), operations: fixed(func(context.Context, string, []byte) []byte { panic("a fault") }),
			kind: wasm.KindHost, text: "host operation fs.read panicked: a fault", failed: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec := wasm.Spec{Wasm: test.guest.Bytes(), Limits: test.limits}
			s := newStage(t, spec, replay.Options{})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var host wasm.Operations
			if test.operations != nil {
				host = test.operations(cancel)
			}
			deadline := test.deadline
			if deadline == 0 {
				deadline = time.Minute
			}
			result, err := s.ask(ctx, deadline, host)
			if kind := wasm.Kind(err); kind != test.kind {
				t.Fatalf("the call ended with %v", err)
			}
			came := string(result.Output)
			if err != nil {
				came = err.Error()
			}
			if !strings.Contains(came, test.text) {
				t.Errorf("got %q, want %q in it", came, test.text)
			}
			recording := s.only(t)
			if recording.End.Failed != test.failed || recording.End.Fuel != result.Fuel {
				t.Errorf("recorded %+v", recording.End)
			}
			for range 2 {
				report := mustRepeat(t, spec, recording)
				if report.Err != nil && !strings.Contains(report.Err.Error(), test.text) {
					t.Errorf("replay ended with %v", report.Err)
				}
			}
		})
	}
}

func fixed(o operations) func(context.CancelCauseFunc) wasm.Operations {
	return func(context.CancelCauseFunc) wasm.Operations { return o }
}

// What the guest logs is in the recording, between its operations.
func TestLogIsRecorded(t *testing.T) {
	s := newStage(t, wasm.Spec{Wasm: bridgetest.NewPrinting().Prints(abi.ExportTool, "one\ntwo", `{"ok":{}}`).Bytes()}, replay.Options{})
	if _, err := s.ask(t.Context(), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, step := range s.only(t).Steps {
		lines = append(lines, *step.Log)
	}
	if !slices.Equal(lines, []string{"one", "two"}) {
		t.Errorf("recorded %q", lines)
	}
}

// Fuel that the call alone was given is recorded, and bounds the replay.
func TestFuelOfOneCallIsRecorded(t *testing.T) {
	s := newStage(t, withGuest(bridgetest.New().Loops(abi.ExportTool)), replay.Options{})
	_, err := s.Call(t.Context(), wasm.Request{Entry: abi.ExportTool, Input: toolMessage(), Fuel: 70_000})
	if wasm.Kind(err) != wasm.KindLimit {
		t.Fatal(err)
	}
	recording := s.only(t)
	if recording.Limits.Fuel != 70_000 {
		t.Errorf("recorded %+v", recording.Limits)
	}
	mustRepeat(t, s.spec, recording)
}

// A call that is cancelled while its operation waits, with nowhere to run on, is
// stopped there; so is the replay.
func TestCallStoppedInAWaitRepeats(t *testing.T) {
	spec := wasm.Spec{Entries: []string{abi.ExportTool, abi.ExportContext},
		Wasm: asking().Asks(abi.ExportContext, "fs.read", `{}`, before, after).Bytes()}
	s := newStage(t, spec, replay.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	release, occupied := make(chan struct{}), make(chan error, 1)
	occupy := func(running chan struct{}) {
		_, err := s.module.Call(t.Context(), wasm.Request{Entry: abi.ExportContext, Lane: wasm.LaneTool, Deadline: time.Minute,
			Operations: operations(func(context.Context, string, []byte) []byte { // holds the only processor
				close(running)
				<-release
				return answering(`{"ok":{}}`)(nil, "", nil)
			})})
		occupied <- err
	}
	_, err := s.ask(ctx, time.Minute, operations(func(ctx context.Context, _ string, _ []byte) []byte {
		waited := wasm.Wait(ctx, func(context.Context) error {
			running := make(chan struct{})
			go occupy(running)
			<-running
			cancel(errors.New("enough"))
			return nil
		})
		close(release)
		if wasm.Kind(waited) != wasm.KindCancelled {
			t.Errorf("the wait ended with %v", waited)
		}
		return nil
	}))
	if err := <-occupied; err != nil {
		t.Error(err)
	}
	if wasm.Kind(err) != wasm.KindCancelled {
		t.Fatalf("the call ended with %v", err)
	}
	recording := s.only(t)
	if last := recording.Steps[len(recording.Steps)-1]; last.Operation == nil || last.Operation.Answer != nil {
		t.Fatalf("the last step is %+v", last)
	}
	report := mustRepeat(t, spec, recording)
	if !errors.Is(report.Err, wasm.ErrCancelled) || !strings.Contains(report.Err.Error(), "enough") {
		t.Errorf("replay ended with %v", report.Err)
	}
}
