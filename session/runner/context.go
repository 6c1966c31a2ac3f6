package runner

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/epoch"
)

// draft makes the request of a window whose promotions are applied, and applies to the
// window what is recorded with it. It answers that, also beside an error.
func (t *turn) draft(ctx context.Context, w *window, promoted []session.Input, step int) ([]session.Payload, error) {
	unusable := t.choose(ctx, *w, step)
	facts, err := t.context(ctx, w, promoted, unusable != nil)
	if err != nil {
		return nil, err
	}
	if unusable != nil {
		return facts, unusable
	}
	if t.last {
		facts = append(facts, t.remindLast(w)...)
	}
	t.request = t.lower(ctx, *w)
	return facts, t.transformRequest(ctx)
}

// context samples the sources and answers what is recorded of them and of the
// prompts: an epoch begins before the first promotion, an update or the next epoch
// follows it.
func (t *turn) context(ctx context.Context, w *window, promoted []session.Input, unusable bool) ([]session.Payload, error) {
	observed := t.observe(ctx, *w, unusable)
	t.observed = observed
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
	change, err := t.reconcile(w, observed, render)
	if err != nil || change == nil {
		return payloads, err
	}
	return append(payloads, change), nil
}

// reconcile applies to the window what changed, and answers it.
func (t *turn) reconcile(w *window, observed []epoch.Observed, render epoch.Render) (session.Payload, error) {
	var outcome epoch.Outcome
	var err error
	if w.session.Rewritten > w.epoch.Seq {
		outcome, err = epoch.Replace(*w.epoch, observed, "the history before it was compacted, or results in it were pruned", render)
	} else {
		outcome, err = epoch.Reconcile(*w.epoch, observed, t.Encoder.Clock.Now(), render)
	}
	if err != nil {
		return nil, contextFailure(err)
	}
	t.outcome = outcome
	switch e := outcome.Change.(type) {
	case session.ContextReplaced:
		w.epoch = &session.Epoch{Baseline: e.Baseline, Snapshot: e.Snapshot, Seq: maxSeq}
		return e, nil
	case session.ContextUpdated:
		e.Message = t.Encoder.IDs.New(session.PrefixMessage)
		w.tell(e.Message, e.Text)
		return e, nil
	}
	return nil, nil
}

// tell applies a system message that is about to be appended.
func (w *window) tell(id, text string) {
	w.history = append(w.history, session.Message{ID: id, Seq: maxSeq, Type: session.MessageSystem, MessageBody: session.MessageBody{Text: text}})
}

// remindLast says in the history that this step is the last, once when the step is
// tried again.
func (t *turn) remindLast(w *window) []session.Payload {
	for _, message := range slices.Backward(w.history) {
		if message.Type == session.MessageAssistant && len(message.Parts) == 0 {
			continue // an attempt without an answer
		}
		if message.Type == session.MessageSystem && message.Text == lastStepReminder {
			return nil
		}
		break
	}
	reminded := session.Reminded{Message: t.Encoder.IDs.New(session.PrefixMessage), Text: lastStepReminder}
	w.tell(reminded.Message, reminded.Text)
	return []session.Payload{reminded}
}

func contextFailure(err error) error {
	if blocked, ok := errors.AsType[*session.BlockedError](err); ok {
		return &session.Failure{Code: session.FailureContextBlocked, Message: blocked.Error(), Retryable: true}
	}
	return err
}

// observe samples the sources, each once: what the agent is told, then what is
// contributed.
func (t *turn) observe(ctx context.Context, w window, unusable bool) []epoch.Observed {
	observation := t.observation(w, unusable)
	agent := epoch.Agent{Agents: t.agents, Agent: t.agent, Model: t.model, Unknown: unusable && t.agent.System == ""}
	sources := []epoch.Source{{Name: epoch.AgentKey, Undamped: true, Source: agent}}
	for _, entry := range registry.All(t.pin, t.Kinds.Contexts) {
		source := epoch.Source{Name: entry.Name, Required: entry.Builtin, Revision: entry.Revision, Source: entry.Value}
		if specifier, ok := entry.Value.(session.SourceSpecifier); ok {
			source.Required = source.Required || specifier.Spec().Required
		}
		sources = append(sources, source)
	}
	sampler := epoch.Sampler{Timeout: t.config.ContextTimeout, Schemas: t.Schemas, Metrics: t.metrics, Logger: t.Logger}
	return sampler.Observe(ctx, sources, observation)
}

// observation is what the sources are asked with.
func (t *turn) observation(w window, unusable bool) session.Observation {
	observation := session.Observation{Session: t.session, Agent: t.agent.Name, Location: w.session.Location, Now: t.Encoder.Clock.Now(),
		Directories: below(w.session.Location.Root, w.directories)}
	if !unusable {
		observation.Model = t.current.Model
	}
	if w.epoch != nil {
		observation.Previous = make(map[string]json.RawMessage, len(w.epoch.Snapshot))
		for key, admitted := range w.epoch.Snapshot {
			observation.Previous[key] = admitted.Value
		}
	}
	return observation
}

// told counts what was recorded of the context, and warns of sources that are held
// from now on.
func (t *turn) told(facts []session.Payload) {
	t.metrics.Settled(t.outcome, t.observed)
	for _, fact := range facts {
		t.metrics.Recorded(fact)
		updated, ok := fact.(session.ContextUpdated)
		if !ok {
			continue
		}
		for _, o := range t.observed {
			if admitted, ok := updated.Changed[o.Key]; ok && !o.Undamped && epoch.Flapped(admitted) {
				t.Logger.Warn("a context source goes back and forth and is held at what was told last", "source", o.Source, "key", o.Key,
					"session", t.session, "for", epoch.FlapHold)
			}
		}
	}
}
