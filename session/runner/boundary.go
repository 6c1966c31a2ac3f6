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
	// directories are those in which tools read files, ascending.
	directories []string
	// revert is staged; the rest is as it will be once it is committed.
	revert *session.Revert
}

// boundary reaches the safe point before a provider request: it samples the
// context, promotes what is eligible, and records both with the turn's start in
// one append. Nothing is promoted while the first context is unavailable. A session
// that moves meanwhile, or whose prompts or history are changed, is read again.
func (d *drain) boundary(ctx context.Context, a *activity) (*turn, error) {
	for {
		w, err := d.window(ctx)
		if err != nil {
			return nil, err
		}
		t := &turn{drain: d, activity: a, pin: d.Registries.Pin(w.session.Location.Root)}
		if err = t.prepare(ctx, w); err == nil {
			return t, nil
		}
		t.pin.Release()
		_, changed := errors.AsType[*session.ConflictError](err)
		again := changed || errors.Is(err, session.ErrMoved) || errors.Is(err, errRewritten)
		if !again || context.Cause(ctx) != nil {
			return nil, err
		}
		d.metrics.Contended()
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
		if w.directories, err = session.LoadDirectories(ctx, tx, d.session); err != nil {
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
		payloads = append(payloads, t.changed(ctx, a, nil)...)
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
	facts, err := t.draft(ctx, &w, promoted, step)
	if err == nil || len(facts) > 0 { // else the revert stays staged, as the prompts stay pending
		payloads = slices.Concat(committed, payloads, facts)
	}
	if err != nil {
		return fail(err)
	}
	if err := t.room(ctx, w, committed); errors.Is(err, errRewritten) {
		return err
	} else if err != nil {
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
	t.told(facts)
	t.capture(ctx)
	return nil
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
