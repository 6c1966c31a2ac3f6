package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/compaction"
)

// errRewritten: the history is another one now, so the boundary is reached anew.
var errRewritten = errors.New("the history was rewritten")

// relief is what was done to make room for a request since the last answer: each at
// most once, so that nothing goes in circles.
type relief struct {
	compacted  bool // by itself
	overflowed bool // the model was sent more than it takes, and the history was condensed
	// futile: condensing did not help in this activity. It is tried again only when a
	// request would not go into the window at all.
	futile bool
}

// room makes sure that the request leaves room for an answer: errRewritten when the
// history was changed for it, a *session.Failure when the request cannot be made. It
// also serves who asks for a compaction. A staged revert is committed first: what it
// takes away is not condensed.
func (t *turn) room(ctx context.Context, w window, committed []session.Payload) error {
	budget, estimate := t.reckon(w)
	tight := estimate > budget.Limit
	if len(committed) > 0 && (w.session.Compact >= 0 || tight) {
		if err := t.append(ctx, committed...); err != nil {
			return err
		}
		return errRewritten
	}
	if w.session.Compact >= 0 {
		if _, err := t.compact(ctx, w, session.CompactionManual); err != nil {
			return err
		}
		return errRewritten
	}
	if !tight {
		return nil
	}
	return t.relieve(ctx, w, budget, estimate)
}

// reckon answers the budget of the model's window and the tokens of the turn's request;
// none where the host is not to do anything about their number.
func (t *turn) reckon(w window) (budget compaction.Budget, estimate int64) {
	budget = t.divide(t.model.Context)
	if t.config.Compaction.Auto && budget.Window > 0 {
		estimate = t.estimate(w)
	}
	return budget, estimate
}

// relieve makes room: old results go where that is enough, else the history is
// condensed. What cannot be made smaller is sent while it goes into the window.
func (t *turn) relieve(ctx context.Context, w window, budget compaction.Budget, estimate int64) error {
	var calls []session.CallRef
	var saved int64
	if t.config.Compaction.Prune {
		calls, saved = compaction.Prunable(w.history, budget)
	}
	if len(calls) > 0 && estimate-saved <= budget.Limit {
		return t.prune(ctx, calls)
	}
	done := &t.activity.relief
	if !done.compacted && !done.overflowed && (!done.futile || estimate > budget.Window) {
		done.compacted = true
		switch made, err := t.compact(ctx, w, session.CompactionAuto); {
		case err != nil:
			return err
		case made:
			return errRewritten
		}
	}
	done.futile = true
	switch {
	case len(calls) > 0:
		return t.prune(ctx, calls)
	case estimate <= budget.Window:
		return nil
	}
	return &session.Failure{Code: session.ProviderContextOverflow, Message: fmt.Sprintf(
		"The request has about %d tokens and the window of %s has %d; %s", estimate, t.current.Model, budget.Window, overflowFix)}
}

// overflowFix is what a person can do about a request that is too large.
const overflowFix = "compact the session, switch to a model with a larger window, shorten the prompt, or go on in a new session"

// prune takes old results out of what the model is sent.
func (t *turn) prune(ctx context.Context, calls []session.CallRef) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := t.append(ctx, session.ResultsPruned{Calls: calls}); err != nil {
		return err
	}
	return errRewritten
}

// divide answers the budget of a window for the answers of this turn.
func (t *turn) divide(window int64) compaction.Budget {
	generation, _ := t.controls()
	output := t.model.Output
	if generation.MaxTokens != nil {
		output = *generation.MaxTokens
	}
	return t.config.Compaction.Divide(window, output)
}

// estimate answers the tokens of the turn's request: what the last answer told of its
// own, and what came since, or all of it by its size.
func (t *turn) estimate(w window) int64 {
	for _, answer := range slices.Backward(w.history) {
		if answer.Seq <= max(w.session.Rewritten, w.epoch.Seq) {
			break // its request was another one
		}
		if answer.Type != session.MessageAssistant || answer.Model == nil ||
			answer.Model.Provider != t.current.Model.Provider || answer.Model.Model != t.current.Model.Model {
			continue
		}
		if estimate, ok := compaction.Since(t.request, answer); ok {
			return estimate
		}
	}
	return compaction.Request(t.request)
}

// tooLarge reports a request that the model refused for its size before any output.
func tooLarge(result *turnResult) bool {
	failed, ok := errors.AsType[*session.ProviderError](result.silent)
	return ok && failed.Class == session.ProviderContextOverflow
}

// recover condenses the history after a request that was too large, so that the turn is
// made again. Once: a second refusal, or a history that cannot be condensed, is the turn's
// failure.
func (t *turn) recover(ctx context.Context, a *activity, refused *turnResult) (*turnResult, error) {
	if !a.relief.overflowed && t.config.Compaction.Auto {
		a.relief.overflowed = true
		w, err := t.window(ctx)
		if err != nil {
			return nil, err
		}
		switch made, err := t.compact(ctx, w, session.CompactionOverflow); {
		case err != nil:
			return nil, err
		case made:
			a.steps-- // the step is made again
			return &turnResult{again: true}, nil
		}
	}
	explained := *refused.failure
	explained.Message += "; " + overflowFix
	for i, payload := range refused.closing {
		if failed, ok := payload.(session.StepFailed); ok {
			failed.Error = explained
			refused.closing[i] = failed
		}
	}
	refused.failure = &explained
	return refused, nil
}

// condense makes the compaction that somebody asks for of a session in which nothing
// works. What stands against it is recorded.
func (d *drain) condense(ctx context.Context) error {
	w, err := d.window(ctx)
	if err != nil && !undecodable(err) {
		return err
	}
	t := &turn{drain: d, activity: newActivity(d, session.OpenedByResume, promoteNothing), pin: d.Registries.Pin(w.session.Location.Root)}
	defer func(pin *registry.Pin) { pin.Release() }(t.pin)
	if err != nil {
		return t.decline(ctx, session.CompactionManual, err)
	}
	if w.revert != nil {
		return t.decline(ctx, session.CompactionManual, &unavailableError{"A revert is staged; commit or clear it, then compact"})
	}
	if w.epoch == nil {
		w.epoch = &session.Epoch{Seq: -1}
	}
	reached, _, err := t.reached(ctx, w.session)
	if err != nil {
		return err
	}
	if reached != nil {
		return t.decline(ctx, session.CompactionManual, &session.Failure{Code: session.FailureBudget, Message: reached.Error()})
	}
	if err := t.choose(ctx, w, 1); err != nil {
		return t.decline(ctx, session.CompactionManual, err)
	}
	_, err = t.compact(ctx, w, session.CompactionManual)
	return err
}

// dangling records what became of a compaction whose process died.
func (d *drain) dangling(ctx context.Context, s session.Session) error {
	if s.Compacting == nil {
		return nil
	}
	return d.append(ctx, session.CompactionFailed{Message: s.Compacting.Message, Reason: s.Compacting.Reason, Error: session.Failure{
		Code: session.FailureInterrupted, Message: "The host stopped while the history was condensed; it is as it was"}})
}
