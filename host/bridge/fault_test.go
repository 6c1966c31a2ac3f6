package bridge

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
)

// TestFaults is the table of what speaks against a revision, and of what says
// nothing about it.
func TestFaults(t *testing.T) {
	start := func(err error) error {
		return &wasm.AdmissionError{Stage: wasm.StageStart, Offset: -1, Reason: "an instance does not start", Err: err}
	}
	for _, test := range []struct {
		name  string
		err   error
		fault FaultKind
		told  bool
	}{
		{"an answer", nil, "", true},
		{"a trap", &wasm.TrapError{Reason: "unreachable"}, FaultTrap, true},
		{"a deadline", wasm.ErrDeadline, FaultDeadline, true},
		{"an answer that is none", &wasm.AnswerError{Reason: "it is nowhere"}, FaultAnswer, true},
		{"an answer that cannot be read", badAnswer(&Plugin{ID: "acme/test"}, abi.ExportTool, errors.New("not JSON")), FaultAnswer, true},
		{"an exit without a word", &wasm.ExitError{Code: 2}, FaultTrap, true},
		{"an exit that says why", &wasm.ExitError{Code: 1, Message: "no such city"}, "", true},
		{"too much stack", &wasm.LimitError{What: "bytes of stack", Knob: "StackKiB"}, FaultTrap, true},
		{"too much fuel", &wasm.LimitError{What: "fuel of a call", Knob: "Fuel"}, FaultDeadline, true},
		{"a start that traps", start(&wasm.TrapError{Reason: "unreachable"}), FaultStart, true},
		{"a start that takes too long", start(wasm.ErrDeadline), FaultStart, true},
		{"a start that refuses its settings", start(&abi.Error{Kind: abi.KindInvalidInput, Message: "no key"}), FaultStart, true},
		{"a start for which all guests together are too large", start(&wasm.LimitError{What: "bytes of memory of all guests", Knob: "Options.MemoryMiB"}), "", false},
		{"cancelled", fmt.Errorf("%w: %w", wasm.ErrCancelled, errors.New("the user left")), "", false},
		{"busy", wasm.ErrBusy, "", false},
		{"closed", wasm.ErrClosed, "", false},
		{"an entry that is none", wasm.ErrEntry, "", false},
		{"operations where there are none", wasm.ErrUnavailable, "", false},
		{"too much input", &wasm.LimitError{What: "bytes of input", Knob: "InputBytes"}, "", false},
		{"all guests together", &wasm.LimitError{What: "bytes of memory of all guests", Knob: "Options.MemoryMiB"}, "", false},
		{"a host that broke", &wasm.HostError{Operation: "fs.read", Panic: "nil"}, "", false},
		{"a module that is not admitted", &wasm.AdmissionError{Stage: wasm.StageCompile, Reason: "bad"}, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.err
			if err != nil { // as the engine and the bridge wrap it
				err = &CallError{Kind: kindOf(err), Err: fmt.Errorf("call %s of module acme/test: %w", abi.ExportTool, err)}
			}
			told, got := false, FaultKind("")
			plugin := &Plugin{Called: func(session string, fault *Fault) {
				if told = true; fault != nil {
					got = fault.Kind
				}
				if session != "ses_1" {
					t.Errorf("told of session %q", session)
				}
			}}
			plugin.called("ses_1", err)
			if got != test.fault || told != test.told {
				t.Errorf("told %v, fault %q", told, got)
			}
		})
	}
}

// TestCallsAreTold follows real calls from the ports to the hook.
func TestCallsAreTold(t *testing.T) {
	for _, test := range []struct {
		name  string
		guest *bridgetest.Guest
		want  string
	}{
		{"good", bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`), "ses_1 "},
		{"its own error", bridgetest.New().Answers(abi.ExportTool, `{"error":{"kind":"denied","message":"no"}}`), "ses_1 "},
		{"trap", bridgetest.New().Traps(abi.ExportTool), "ses_1 trap"},
		{"loop", bridgetest.New().Loops(abi.ExportTool), "ses_1 deadline"},
		{"bad", bridgetest.New().Answers(abi.ExportTool, `[]`), "ses_1 answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			plugin, _ := loadGuest(t, test.guest, abi.ExportTool)
			var got []string
			plugin.Called = hook(&got)
			_, _ = execute(t, newTool(t, plugin, session.ToolDefinition{}, nil), session.ToolCall{Session: "ses_1", Timeout: 100_000_000})
			if !slices.Equal(got, []string{test.want}) {
				t.Errorf("told %q", got)
			}
		})
	}
}

// TestTransformsAreTold: the session comes along where the guest does not see it.
func TestTransformsAreTold(t *testing.T) {
	plugin, _ := loadGuest(t, bridgetest.New().Traps(abi.ExportTransform), abi.ExportTransform)
	var got []string
	plugin.Called = hook(&got)
	_, err := NewTransform(plugin, session.TransformSpec{Name: "t"}).Apply(t.Context(), session.TransformInput{Session: "ses_2"})
	if err == nil || !slices.Equal(got, []string{"ses_2 trap"}) {
		t.Errorf("told %q, %v", got, err)
	}
}

func hook(told *[]string) func(string, *Fault) {
	return func(session string, fault *Fault) {
		kind := FaultKind("")
		if fault != nil {
			kind = fault.Kind
		}
		*told = append(*told, session+" "+string(kind))
	}
}
