package main

import (
	"encoding/json"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// state calls the source natively, on a host whose session has a title or refuses to tell.
func state(t *testing.T, title string, refusal error, previous map[string]json.RawMessage) abi.SourceState {
	t.Helper()
	host := &plinthtest.Host{Operations: map[string]plinthtest.Operation{
		abi.OpSessionInfo: func(json.RawMessage, []byte) (any, []byte, error) {
			return abi.SessionInfo{Title: title}, nil, refusal
		},
	}}
	host.Serve(t)
	observed, err := plinthtest.Call[abi.ContextObserved](t, abi.ExportContext, abi.ContextObserve{Previous: previous})
	if err != nil {
		t.Fatal(err)
	}
	if len(observed.Sources) != 1 || observed.Sources[0].Key != key {
		t.Fatalf("%+v", observed.Sources)
	}
	return observed.Sources[0]
}

func TestTheTitleIsTold(t *testing.T) {
	got := state(t, "Bees", nil, nil)
	if got.State != abi.SourceValue || string(got.Value) != `"Bees"` || got.Baseline != "This session is about: Bees" {
		t.Errorf("%+v", got)
	}
}

func TestAChangeNamesTheTitleBefore(t *testing.T) {
	got := state(t, "Bees", nil, map[string]json.RawMessage{key: json.RawMessage(`"Wasps"`)})
	if got.Update != "This session is now about: Bees (before: Wasps)" {
		t.Errorf("%+v", got)
	}
}

func TestWithoutATitleNothingIsTold(t *testing.T) {
	if got := state(t, "", nil, nil); got.State != abi.SourceAbsent {
		t.Errorf("%+v", got)
	}
	if got := state(t, "", plinth.Errorf(abi.KindDenied, "not granted"), nil); got.State != abi.SourceUnavailable {
		t.Errorf("%+v", got)
	}
}
