package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/epoch"
	"github.com/plinthhost/plinth/store"
)

// maxSeq stands for the sequence of what is not appended yet: after everything.
const maxSeq = math.MaxInt64

// window is a session as one consistent read sees it. What is admitted later
// waits for the next boundary.
type window struct {
	session session.Session
	lineage []session.Session // and its ancestors
	pending []session.Input
	epoch   *session.Epoch // nil before the first
	history []session.Message
	// revert is staged; the rest is as it will be once it is committed.
	revert *session.Revert
}

// boundary reaches the safe point before a provider request: it samples the
// context, promotes what is eligible, and records both with the turn's start in
// one append. Nothing is promoted while the first context is unavailable. A session
// that moves meanwhile, or whose prompts are changed, is read again.
func (d *drain) boundary(ctx context.Context, a *activity) (*turn, error) {
	for {
		w, err := d.window(ctx)
		if err != nil {
			return nil, err
		}
		t := &turn{drain: d, activity: a, pin: d.Registries.Pin(w.session.Location.Directory)}
		if err = t.prepare(ctx, w); err == nil {
			return t, nil
		}
		t.pin.Release()
		_, changed := errors.AsType[*session.ConflictError](err)
		if !changed && !errors.Is(err, session.ErrMoved) || context.Cause(ctx) != nil {
			return nil, err
		}
	}
}

func (d *drain) window(ctx context.Context) (w window, err error) {
	err = d.Log.View(ctx, func(tx store.Tx) error {
		if w.lineage, err = session.LoadLineage(ctx, tx, d.session); err != nil {
			return err
		}
		w.session, w.revert = w.lineage[0], w.lineage[0].Revert
		if w.pending, err = session.LoadPending(ctx, tx, d.session); err != nil {
			return err
		}
		if w.revert != nil {
			w.session, w.history, err = session.LoadReverted(ctx, tx, w.session)
			w.lineage[0] = w.session
			return err
		}
		baseline := int64(-1)
		running, err := session.LoadEpoch(ctx, tx, d.session)
		switch {
		case err == nil:
			w.epoch, baseline = &running, running.Seq
		case !errors.Is(err, session.ErrNotFound):
			return err
		}
		w.history, err = session.LoadHistory(ctx, tx, w.session, baseline)
		return err
	})
	if err != nil {
		return window{}, fmt.Errorf("read session: %w", err)
	}
	return w, nil
}

// prepare makes the request and records the boundary.
func (t *turn) prepare(ctx context.Context, w window) error {
	a := t.activity
	var payloads []session.Payload
	if !a.started {
		payloads = append(payloads, session.ActivityStarted{Activity: a.id, Opener: a.opener})
	}
	fail := func(err error) error {
		if cause := context.Cause(ctx); cause != nil || errors.Is(err, session.ErrShutdown) {
			return err
		}
		failure, outcome := failureOf(ctx, err)
		payloads = append(payloads, t.summary(ctx, a, nil)...)
		ended := session.ActivityEnded{Activity: a.id, Outcome: outcome, Error: failure}
		if err := t.append(ctx, append(payloads, ended)...); err != nil {
			return err
		}
		return &recordedError{err: failure}
	}
	committed, err := t.commitRevert(ctx, w)
	if err != nil {
		return fail(err)
	}
	// The prompts decide on agent and model, so they come before what depends on those.
	promoted := eligible(w.pending, a.promote)
	w.promote(promoted)
	step := a.steps + 1
	if len(promoted) > 0 {
		step = 1
	}
	if err := t.spendable(ctx, w.session); err != nil {
		return fail(err)
	}
	unusable := t.choose(ctx, w, step)
	facts, err := t.context(ctx, &w, promoted)
	if err != nil {
		return fail(err)
	}
	payloads = slices.Concat(committed, payloads, facts)
	if unusable != nil {
		return fail(unusable)
	}
	t.lower(ctx, w)
	if err := t.transformRequest(ctx); err != nil {
		return fail(err)
	}
	digest, err := digestOf(t.request)
	if err != nil {
		return fail(err)
	}
	t.beginning = session.TurnStarted{Activity: a.id, Turn: a.turns + 1, Step: step, Attempt: 1, Location: w.session.Location.Directory,
		Epoch: w.began(), Agent: t.agent.Name, Model: w.session.Model, Pins: pins(t.pin), Digest: digest}
	payloads = append(payloads, t.beginning)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if !a.started {
		t.work.Opened(w.opener())
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	if err := t.append(ctx, payloads...); err != nil {
		return err
	}
	a.started, a.steps = true, step
	t.capture(ctx)
	return nil
}

// context samples the sources and answers what is recorded of them and of the
// prompts: an epoch begins before the first promotion, an update follows it.
func (t *turn) context(ctx context.Context, w *window, promoted []session.Input) ([]session.Payload, error) {
	observed := t.observe(ctx, *w)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	render := func(parts []session.TextPart) ([]session.TextPart, error) {
		return t.transformSystem(ctx, parts)
	}
	var payloads []session.Payload
	fresh := w.epoch == nil
	if fresh {
		initialized, err := epoch.Initialize(observed, render)
		if err != nil {
			return nil, contextFailure(err)
		}
		payloads = append(payloads, initialized)
		w.epoch = &session.Epoch{Baseline: initialized.Baseline, Snapshot: initialized.Snapshot, Seq: maxSeq}
	}
	for _, input := range promoted {
		payloads = append(payloads, session.PromptPromoted{Message: input.ID, Prompt: input.Prompt, Created: input.Created, Synthetic: input.Synthetic})
	}
	if fresh {
		return payloads, nil
	}
	change, err := epoch.Reconcile(*w.epoch, observed, render)
	if err != nil {
		return nil, contextFailure(err)
	}
	switch e := change.(type) {
	case session.ContextReplaced:
		w.epoch = &session.Epoch{Baseline: e.Baseline, Snapshot: e.Snapshot, Seq: maxSeq}
		payloads = append(payloads, e)
	case session.ContextUpdated:
		e.Message = t.Encoder.IDs.New(session.PrefixMessage)
		w.history = append(w.history, session.Message{ID: e.Message, Seq: maxSeq, Type: session.MessageSystem,
			MessageBody: session.MessageBody{Text: e.Text}})
		payloads = append(payloads, e)
	}
	return payloads, nil
}

func contextFailure(err error) error {
	if blocked, ok := errors.AsType[*session.BlockedError](err); ok {
		return &session.Failure{Code: session.FailureContextBlocked, Message: blocked.Error(), Retryable: true}
	}
	return err
}

// observe samples the contributed sources, each once.
func (t *turn) observe(ctx context.Context, w window) []epoch.Observed {
	observation := session.Observation{Session: t.session, Agent: t.agent.Name, Location: w.session.Location, Now: t.Encoder.Clock.Now()}
	if w.epoch != nil {
		observation.Previous = make(map[string]json.RawMessage, len(w.epoch.Snapshot))
		for key, admitted := range w.epoch.Snapshot {
			observation.Previous[key] = admitted.Value
		}
	}
	var sources []epoch.Source
	for _, entry := range registry.All(t.pin, t.Kinds.Contexts) {
		sources = append(sources, epoch.Source{Name: entry.Name, Required: entry.Builtin, Revision: entry.Revision, Source: entry.Value})
	}
	return epoch.Observe(ctx, sources, observation, t.config.ContextTimeout, t.Logger)
}

// eligible answers the prompts a boundary promotes, in order: at most one queued
// one, then the steers.
func eligible(pending []session.Input, promote promotion) []session.Input {
	var queued, steers []session.Input
	for _, input := range pending {
		switch {
		case input.Delivery == session.Steer:
			steers = append(steers, input)
		case promote == promoteQueue && len(queued) == 0:
			queued = append(queued, input)
		}
	}
	if promote == promoteNothing {
		return nil
	}
	return append(queued, steers...)
}

// promote applies promotions that are about to be appended, so that the request is
// the one a read after the append would give.
func (w *window) promote(inputs []session.Input) {
	for _, input := range inputs {
		kind := session.MessageUser
		if input.Synthetic {
			kind = session.MessageSynthetic
		}
		prompt := input.Prompt
		w.history = append(w.history, session.Message{ID: input.ID, Seq: maxSeq, Type: kind,
			Created: input.Created, MessageBody: session.MessageBody{Prompt: &prompt}})
		if prompt.Agent != "" {
			w.session.Agent = prompt.Agent
		}
		if model := prompt.ModelRef(); model != nil {
			w.session.Model = *model
		} else if prompt.Variant != "" {
			w.session.Model.Variant = prompt.Variant
		}
	}
}

// opener is the sequence of the newest event that asks for execution.
func (w window) opener() int64 {
	newest := w.session.Resume
	for _, input := range w.pending {
		newest = max(newest, input.Wake)
	}
	return newest
}

// began is the sequence that began the epoch, -1 for one that begins with this turn.
func (w window) began() int64 {
	if w.epoch.Seq == maxSeq {
		return -1
	}
	return w.epoch.Seq
}

func pins(pin *registry.Pin) []session.Pin {
	var all []session.Pin
	for _, scope := range pin.Scopes() {
		all = append(all, session.Pin{Scope: scope.ID, Location: scope.Location, Revision: scope.Revision})
	}
	return all
}

// digestOf names a request: the SHA-256 of its JSON, whose map keys are sorted.
func digestOf(request session.ModelRequest) (string, error) {
	encoded, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("digest request: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:]), nil
}
