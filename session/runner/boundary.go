package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/epoch"
	"github.com/plinthhost/plinth/store"
)

// window is a session as one consistent read sees it. What is admitted later
// waits for the next boundary.
type window struct {
	session session.Session
	pending []session.Input
	epoch   *session.Epoch // nil before the first
	history []session.Message
}

// boundary reaches the safe point before a provider request: it samples the
// context, promotes what is eligible, and records both with the turn's start in
// one append. Nothing is promoted while the first context is unavailable.
func (d *drain) boundary(ctx context.Context, activity string, opener session.Opener, number int, promote promotion) (*turn, error) {
	w, err := d.window(ctx)
	if err != nil {
		return nil, err
	}
	pin := d.Registries.Pin(w.session.Location.Directory)
	t, err := d.prepare(ctx, w, pin, activity, opener, number, promote)
	if err != nil {
		pin.Release()
		return nil, err
	}
	return t, nil
}

func (d *drain) window(ctx context.Context) (w window, err error) {
	err = d.Log.View(ctx, func(tx store.Tx) error {
		if w.session, err = session.LoadSession(ctx, tx, d.session); err != nil {
			return err
		}
		if w.pending, err = session.LoadPending(ctx, tx, d.session); err != nil {
			return err
		}
		running, err := session.LoadEpoch(ctx, tx, d.session)
		switch {
		case err == nil:
			w.epoch = &running
		case !errors.Is(err, session.ErrNotFound):
			return err
		}
		w.history, err = session.LoadMessages(ctx, tx, d.session, -1, math.MaxInt32)
		return err
	})
	if err != nil {
		return window{}, fmt.Errorf("read session: %w", err)
	}
	return w, nil
}

func (d *drain) prepare(ctx context.Context, w window, pin *registry.Pin, activity string, opener session.Opener,
	number int, promote promotion) (*turn, error) {
	var payloads []session.Payload
	if number == 1 {
		payloads = append(payloads, session.ActivityStarted{Activity: activity, Opener: opener})
	}
	fail := func(err error) error {
		failure, outcome := failureOf(ctx, err)
		ended := session.ActivityEnded{Activity: activity, Outcome: outcome, Error: failure}
		if err := d.append(ctx, append(payloads, ended)...); err != nil {
			return err
		}
		return &recordedError{err: err}
	}
	tools := d.tools(pin)
	observed := d.observe(ctx, w, pin)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	render := func(parts []session.TextPart) ([]session.TextPart, error) {
		return d.transformSystem(ctx, pin, parts, definitions(tools))
	}
	if w.epoch == nil {
		initialized, err := epoch.Initialize(observed, render)
		if err != nil {
			return nil, fail(contextFailure(err))
		}
		payloads = append(payloads, initialized)
	}
	for _, input := range eligible(w.pending, promote) {
		payloads = append(payloads, session.PromptPromoted{Message: input.ID, Prompt: input.Prompt, Created: input.Created})
	}
	if w.epoch != nil {
		change, err := epoch.Reconcile(*w.epoch, observed, render)
		if err != nil {
			return nil, fail(contextFailure(err))
		}
		if updated, ok := change.(session.ContextUpdated); ok {
			updated.Message = d.Encoder.IDs.New(session.PrefixMessage)
			change = updated
		}
		if change != nil {
			payloads = append(payloads, change)
		}
	}
	w.advance(payloads)
	provider, ok := registry.Lookup(pin, d.Kinds.Providers, w.session.Model.Provider)
	if !ok {
		return nil, fail(&session.Failure{Code: session.FailureModelUnavailable, Message: fmt.Sprintf(
			"There is no provider %q; configure [providers.%s] or choose another model", w.session.Model.Provider, w.session.Model.Provider)})
	}
	request := lower(w, definitions(tools))
	if err := d.transformRequest(ctx, pin, &request); err != nil {
		return nil, fail(err)
	}
	digest, err := digestOf(request)
	if err != nil {
		return nil, fail(err)
	}
	payloads = append(payloads, session.TurnStarted{Activity: activity, Turn: number, Step: number, Attempt: 1, Location: w.session.Location.Directory, Agent: w.session.Agent, Model: w.session.Model,
		Pins: pins(pin), Digest: digest})
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if err := d.append(ctx, payloads...); err != nil {
		return nil, err
	}
	return newTurn(d, w.session, pin, provider.Value, request, tools), nil
}

func contextFailure(err error) error {
	if blocked, ok := errors.AsType[*session.BlockedError](err); ok {
		return &session.Failure{Code: session.FailureContextBlocked, Message: blocked.Error(), Retryable: true}
	}
	return err
}

// observe samples the contributed sources, each once.
func (d *drain) observe(ctx context.Context, w window, pin *registry.Pin) []epoch.Observed {
	observation := session.Observation{Session: d.session, Agent: w.session.Agent, Location: w.session.Location, Now: d.Encoder.Clock.Now()}
	if w.epoch != nil {
		observation.Previous = make(map[string]json.RawMessage, len(w.epoch.Snapshot))
		for key, admitted := range w.epoch.Snapshot {
			observation.Previous[key] = admitted.Value
		}
	}
	var sources []epoch.Source
	for _, entry := range registry.All(pin, d.Kinds.Contexts) {
		sources = append(sources, epoch.Source{Name: entry.Name, Required: entry.Builtin, Revision: entry.Revision, Source: entry.Value})
	}
	return epoch.Observe(ctx, sources, observation, d.config.ContextTimeout, d.Logger)
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

// advance applies what is about to be appended, so that the request is the one a
// read after the append would give.
func (w *window) advance(payloads []session.Payload) {
	for _, payload := range payloads {
		switch e := payload.(type) {
		case session.ContextInitialized:
			w.epoch = &session.Epoch{Baseline: e.Baseline, Snapshot: e.Snapshot, Seq: maxSeq}
		case session.ContextReplaced:
			w.epoch = &session.Epoch{Baseline: e.Baseline, Snapshot: e.Snapshot, Seq: maxSeq}
		case session.PromptPromoted:
			prompt := e.Prompt
			w.history = append(w.history, session.Message{ID: e.Message, Seq: maxSeq, Type: session.MessageUser,
				Created: e.Created, MessageBody: session.MessageBody{Prompt: &prompt}})
			if prompt.Agent != "" {
				w.session.Agent = prompt.Agent
			}
			if prompt.Model != nil {
				w.session.Model = *prompt.Model
			}
		case session.ContextUpdated:
			w.history = append(w.history, session.Message{ID: e.Message, Seq: maxSeq, Type: session.MessageSystem,
				MessageBody: session.MessageBody{Text: e.Text}})
		}
	}
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
