package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/meter"
)

// patience is what a replayed call has beyond its recorded deadline, and an instance
// to start: the machine may be slower than the one it was recorded on.
const patience = time.Minute

// Replay makes a recorded call again, offline, in an engine of the same contract. Of
// the spec it takes the module, CheckInit and Builtin; the rest comes from the
// recording. A module that is not the recorded one may look at its clock as it likes
// and is held to the operations and the outcome.
//
// The error is a *Divergence when the guest asked for something else than recorded, a
// *CutError, the end of ctx, or that of an engine in which the module does not load.
// What the report says up to there is filled in.
func Replay(ctx context.Context, engine *wasm.Engine, spec wasm.Spec, recording *Recording) (Report, error) {
	report := Report{Want: recorded(recording)}
	if recording.Cut {
		return report, &CutError{Plugin: recording.Plugin, Entry: recording.Entry}
	}
	report.Why = recording.inexact(spec.Wasm)
	report.Exact = report.Why == ""
	call, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	run := newRun(recording, report.Exact, stop)
	module, err := engine.Load(ctx, run.spec(spec))
	if err != nil {
		return report, fmt.Errorf("replay: %w", err)
	}
	result, err := module.Call(call, run.request())
	if closing := module.Close(); closing != nil {
		return report, fmt.Errorf("replay: %w", closing)
	}
	if ctx.Err() != nil {
		return report, fmt.Errorf("replay: %w", context.Cause(ctx))
	}
	return report, run.judge(&report, result, err)
}

// inexact is why a replay need not repeat the recorded call exactly, "" when it must.
func (r *Recording) inexact(module []byte) string {
	digest := sha256.Sum256(module)
	switch {
	case hex.EncodeToString(digest[:]) != r.Module:
		return "another module than the recorded one"
	case r.Meter != meter.Version:
		return fmt.Sprintf("recorded with version %d of the meter, this is %d", r.Meter, meter.Version)
	case r.Scrubbed:
		return "secrets were taken out of the recording"
	case r.Start == nil:
		return "the start of the instance was not recorded"
	case r.Served > 0:
		return fmt.Sprintf("the instance kept the traces of %d calls before", r.Served)
	}
	return ""
}

// run is one replay.
type run struct {
	recording *Recording
	exact     bool
	outside   bool    // the recorded call was ended from outside
	start     *player // of the start
	player    *player // of the call
	called    bool
}

func newRun(recording *Recording, exact bool, stop context.CancelCauseFunc) *run {
	r := &run{recording: recording, exact: exact, outside: recording.End.Error.outside()}
	r.start, r.player = r.newPlayer(recording.Start, stop), r.newPlayer(recording.Steps, stop)
	r.start.start, r.player.outside = true, r.outside
	return r
}

func (r *run) newPlayer(steps []Step, stop context.CancelCauseFunc) *player {
	p := &player{strict: r.exact, stop: stop, world: remember(steps, r.recording.Time)}
	for _, step := range steps {
		if step.Operation != nil || step.Log == nil && r.exact {
			p.steps = append(p.steps, step)
		}
	}
	return p
}

// spec loads the module as it was for the recorded call. Its one instance starts with
// the call.
func (r *run) spec(spec wasm.Spec) wasm.Spec {
	limits := r.recording.Limits.engine()
	limits.Start = patience
	return wasm.Spec{
		Name: r.recording.Plugin, Wasm: spec.Wasm, Entries: []string{r.recording.Entry}, Limits: limits, Builtin: spec.Builtin,
		Isolation: r.recording.Isolated, Lazy: true, Init: r.recording.Init, CheckInit: spec.CheckInit, Start: r.start.World,
	}
}

func (r *run) request() wasm.Request {
	request := wasm.Request{
		Entry: r.recording.Entry, Input: r.recording.Input, Deadline: r.recording.Deadline,
		Session: r.recording.Session, Fuel: r.recording.Limits.Fuel, Log: func(string) {}, Observer: r,
	}
	if r.exact || !r.outside {
		request.Deadline += patience
	}
	if r.exact && r.outside {
		// What ended it is not there. Whoever has used as much fuel has come as far.
		request.Fuel = max(1, r.recording.End.Fuel)
	}
	if r.recording.Offered {
		request.Operations = r.player
	}
	return request
}

// World notes that the guest runs.
func (r *run) World(world wasm.Ambient) wasm.Ambient {
	r.called = true
	return r.player.World(world)
}

func (r *run) Asked(name string, request []byte)   { r.player.Asked(name, request) }
func (r *run) Answered(answer []byte, ended error) { r.player.Answered(answer, ended) }
func (r *run) Logged(line string)                  { r.player.Logged(line) }

// judge fills in the report of a call that was made.
func (r *run) judge(report *Report, result wasm.Result, err error) error {
	if divergence := r.start.divergence(); divergence != nil {
		return divergence
	}
	if err != nil && !r.called {
		return fmt.Errorf("replay: %w", err)
	}
	report.Err = r.verdict(err)
	report.Got = outcome(result, report.Err, r.player.lines)
	if divergence := r.player.divergence(); divergence != nil {
		return divergence
	}
	report.compare(r.outside)
	return nil
}

// verdict is the error of the replayed call. Where it came as far as the recorded one
// that was ended from outside, it ends like that.
func (r *run) verdict(err error) error {
	if !r.outside {
		return err
	}
	limit, ok := errors.AsType[*wasm.LimitError](err)
	outOfFuel := ok && r.exact && limit.Knob == "Fuel"
	if r.player.reached == "" && !outOfFuel {
		return err
	}
	return fmt.Errorf("replay of %s of module %s: %w", r.recording.Entry, r.recording.Plugin, r.recording.End.Error.err(r.player.reached))
}
