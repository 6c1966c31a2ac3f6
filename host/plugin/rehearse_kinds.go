package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/session/schema"
)

// noTurns is why there is nothing to compare on.
const noTurns = "the session has recorded no turns"

// contexts asks the sources of both with one observation.
func (r *rehearsing) contexts(ctx context.Context) error {
	_, before, after := both(r, r.manager.options.Kinds.Contexts)
	if len(before)+len(after) == 0 {
		return nil
	}
	old, failedOld := r.observed(ctx, before)
	next, failedNew := r.observed(ctx, after)
	keys := maps.Clone(old)
	maps.Copy(keys, next)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if err := r.judge(CheckContext, key, "", stateOf(old, key, failedOld), stateOf(next, key, failedNew)); err != nil {
			return err
		}
	}
	return nil
}

// observed are the states of a version's sources by key.
func (r *rehearsing) observed(ctx context.Context, sources map[string]session.ContextSource) (states map[string]session.SourceState, failed error) {
	states = map[string]session.SourceState{}
	for _, source := range sources { // a plugin has one, with all keys
		for _, key := range source.Keys() {
			states[key] = session.SourceState{Key: key}
		}
		observed, err := source.Observe(ctx, r.past.Observation)
		if err != nil {
			return states, err
		}
		for _, state := range observed {
			states[state.Key] = state
		}
	}
	return states, nil
}

func stateOf(states map[string]session.SourceState, key string, failed error) *answer {
	state, ok := states[key]
	if !ok {
		return nil
	}
	told := struct {
		State    session.SourceStatus `json:"state"`
		Value    json.RawMessage      `json:"value,omitempty"`
		Baseline string               `json:"baseline,omitempty"`
		Update   string               `json:"update,omitempty"`
		Removed  string               `json:"removed,omitempty"`
	}{state.State, state.Value, state.Baseline, state.Update, state.Removed}
	one := answered(told, failed)
	return &one
}

// transforms compares the edits of the system text, which is edited when an epoch begins,
// and of each recorded request.
func (r *rehearsing) transforms(ctx context.Context) error {
	names, before, after := both(r, r.manager.options.Kinds.Transforms)
	if len(names) > 0 && len(r.past.Turns) == 0 {
		r.report.note(CheckTransform, noTurns)
	}
	system := session.ModelRequest{Purpose: session.PurposeTurn, Session: r.past.Session.ID, System: r.past.System, Tools: r.past.Tools}
	for _, name := range names {
		writesSystem := func(part session.RequestPart) bool { return part == session.RequestSystem }
		writesRest := func(part session.RequestPart) bool { return part != session.RequestSystem }
		if err := r.edits(ctx, name, "", before[name], after[name], system, writesSystem); err != nil {
			return err
		}
		for _, turn := range r.past.Turns {
			if turn.Problem != "" {
				r.report.note(CheckTransform, "the turn of "+turn.Message+" cannot be made again: "+turn.Problem)
				continue
			}
			if err := r.edits(ctx, name, turn.Message, before[name], after[name], turn.Request, writesRest); err != nil {
				return err
			}
		}
	}
	return nil
}

// edits compares what both do to the parts of a request that the phase has.
func (r *rehearsing) edits(ctx context.Context, name, on string, before, after session.Transform, request session.ModelRequest, phase func(session.RequestPart) bool) error {
	apply := func(transform session.Transform) (*answer, bool) {
		if transform == nil || !slices.ContainsFunc(transform.Spec().Writes, phase) {
			return nil, false
		}
		edits, err := transform.Apply(ctx, runner.Visible(transform.Spec(), request))
		edits = slices.DeleteFunc(edits, func(edit session.Edit) bool { return !phase(edit.Part) })
		made := answered(wireEdits(edits), err)
		return &made, true
	}
	old, acts := apply(before)
	next, actsToo := apply(after)
	if !acts && !actsToo {
		return nil
	}
	return r.judge(CheckTransform, name, on, old, next)
}

type wireEdit struct {
	Part  session.RequestPart `json:"part"`
	Op    session.EditOp      `json:"op"`
	ID    string              `json:"id,omitempty"`
	Value json.RawMessage     `json:"value,omitempty"`
}

func wireEdits(edits []session.Edit) map[string][]wireEdit {
	wire := make([]wireEdit, len(edits))
	for i, edit := range edits {
		wire[i] = wireEdit(edit)
	}
	return map[string][]wireEdit{"edits": wire}
}

// encodes compares the requests that the codecs make of the recorded turns of their
// providers.
func (r *rehearsing) encodes(ctx context.Context) error {
	names, before, after := both(r, r.manager.options.Kinds.Providers)
	made := false
	for _, name := range names {
		for _, turn := range r.past.Turns {
			if turn.Problem != "" || turn.Request.Model.Provider != name {
				continue
			}
			made = true
			encode := func(provider session.Provider) *answer {
				codec, ok := provider.(*bridge.Provider)
				if !ok {
					return nil
				}
				request, err := codec.Encode(ctx, turn.Request)
				encoded := answered(request, err)
				return &encoded
			}
			if err := r.judge(CheckEncode, name, turn.Message, encode(before[name]), encode(after[name])); err != nil {
				return err
			}
		}
	}
	if len(names) > 0 && !made {
		r.report.note(CheckEncode, "no recorded turn is of one of its providers")
	}
	return nil
}

// statuses are the answers that codecs are asked to classify.
func statuses() []int { return []int{400, 401, 403, 404, 413, 429, 500, 503, 529} }

const rehearsedError = `{"type":"error","error":{"type":"error","code":"error","message":"The request was refused"}}`

// classifies compares what the codecs make of errors.
func (r *rehearsing) classifies(ctx context.Context) error {
	names, before, after := both(r, r.manager.options.Kinds.Providers)
	for _, name := range names {
		for _, status := range statuses() {
			classify := func(provider session.Provider) *answer {
				codec, ok := provider.(*bridge.Provider)
				if !ok {
					return nil
				}
				headers := map[string]string{"content-type": "application/json"}
				if status == 429 {
					headers["retry-after"] = "7"
				}
				failure, err := codec.Classify(ctx, r.past.Session.ID, status, headers, rehearsedError)
				classified := answered(wireFailure(failure), err)
				return &classified
			}
			if err := r.judge(CheckClassify, name, fmt.Sprintf("status %d", status), classify(before[name]), classify(after[name])); err != nil {
				return err
			}
		}
	}
	return nil
}

func wireFailure(failure *session.ProviderError) any {
	if failure == nil {
		return nil
	}
	return map[string]any{"class": failure.Class, "message": failure.Message, "retryable": failure.Retryable, "retry_after_ms": failure.RetryAfter.Milliseconds()}
}

// maxReplayed is how many recorded streams are replayed.
const maxReplayed = 10

// decodes has the new version decode the recorded streams of the plugin, and compares with
// what was answered when they were recorded.
func (r *rehearsing) decodes(ctx context.Context) error {
	if len(r.new.candidate.Manifest.Providers) == 0 {
		return nil
	}
	var entries []replay.Entry
	if folder, ok := r.manager.options.Recordings.(interface {
		Of(plugin, entry string) ([]replay.Entry, error)
	}); ok {
		var err error
		if entries, err = folder.Of(r.report.Plugin, abi.ExportProviderDecode); err != nil {
			return err
		}
	}
	if len(entries) == 0 {
		r.report.note(CheckDecode, fmt.Sprintf("no streams of it are recorded; set record = \"all\" in [plugins.%q] to have some", r.report.Plugin))
		return nil
	}
	spec := wasm.Spec{Name: r.report.Plugin, Wasm: r.new.candidate.Wasm, CheckInit: bridge.CheckInit, Builtin: r.new.candidate.Builtin}
	for _, entry := range entries[:min(len(entries), maxReplayed)] {
		if err := r.decode(ctx, spec, entry); err != nil {
			return err
		}
	}
	return nil
}

func (r *rehearsing) decode(ctx context.Context, spec wasm.Spec, entry replay.Entry) error {
	recording, err := replay.Read(entry.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a newer one took its place
	}
	if err != nil {
		r.report.note(CheckDecode, "a recording cannot be used: "+err.Error())
		return nil
	}
	if recording.End.Error != nil {
		return nil // it says nothing of what is decoded
	}
	report, err := replay.Replay(ctx, r.manager.engine, spec, recording)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	before, after := decoded(report.Want.Output, nil), decoded(report.Got.Output, errors.Join(err, report.Err))
	return r.judge(CheckDecode, r.report.Plugin, filepath.Base(entry.Path), &before, &after)
}

// decoded is the answer in a message.
func decoded(message []byte, err error) answer {
	if err != nil {
		return answer{Error: err.Error()}
	}
	encoded, _, err := abi.DecodeMessage(message)
	if err == nil && !json.Valid(encoded) {
		err = errors.New("the answer is not JSON")
	}
	return answered(json.RawMessage(encoded), err)
}

// tools holds the recorded calls of the plugin's tools to the new schemas. A call that did
// not fit the old one is not held against the new one.
func (r *rehearsing) tools(context.Context) error {
	_, before, after := both(r, r.manager.options.Kinds.Tools)
	var schemas schema.Cache
	for _, turn := range r.past.Turns {
		for _, call := range turn.Calls {
			old, is := before[call.Tool]
			if !is || schemas.Check(old.Definition().Input, call.Input) != nil {
				continue
			}
			finding := Finding{Kind: CheckTool, Name: call.Tool, On: "call " + call.ID}
			if next, still := after[call.Tool]; !still {
				finding.Changes = []RehearsedChange{{Path: "tool", Old: "there", New: "gone"}}
			} else if err := schemas.Check(next.Definition().Input, call.Input); err != nil {
				finding.Changes = []RehearsedChange{{Path: "input", Old: "valid", New: "not valid: " + err.Error()}}
			}
			r.report.compared(finding)
		}
	}
	return nil
}
