package dev

import (
	"context"
	"errors"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
)

// failedOf describes a recorded call.
func failedOf(call *replay.Recording) Failed {
	outcome := replay.Outcome{Output: call.End.Output}
	if failure := call.End.Error; failure != nil {
		outcome.Kind, outcome.Error = failure.Kind, failure.Message
	}
	return Failed{Revision: call.Revision, Export: call.Entry, Session: call.Session, Call: call.Call, Outcome: told(outcome)}
}

// rerun makes a recorded call again with a new version. The error is why it could not.
func rerun(ctx context.Context, engine *wasm.Engine, candidate plugin.Candidate, call *replay.Recording) (Rerun, error) {
	again := Rerun{Failed: failedOf(call)}
	report, err := replay.Replay(ctx, engine, wasm.Spec{Wasm: candidate.Wasm, CheckInit: bridge.CheckInit}, call)
	if divergence, is := errors.AsType[*replay.Divergence](err); is {
		again.Diverged = divergence.Error()
		return again, nil
	}
	if err != nil {
		return again, err
	}
	again.Now = told(report.Got)
	again.Passes = report.Err == nil && !bridge.Failed(report.Got.Output)
	return again, nil
}

// maxTold bounds how much of an outcome is told.
const maxTold = 2000

// told is an outcome in one line: the JSON of the answer, or the error.
func told(outcome replay.Outcome) string {
	text := outcome.Error
	if outcome.Kind == "" {
		answer, _, err := abi.DecodeMessage(outcome.Output)
		if err != nil {
			return err.Error()
		}
		text = string(answer)
	}
	if len(text) > maxTold {
		text = strings.ToValidUTF8(text[:maxTold], "") + "…"
	}
	return text
}
