package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/store"
)

// Revision changes a prompt that waits. What is not set stays.
type Revision struct {
	Prompt   *Prompt
	Delivery Delivery
	// Before is the prompt to come before, or "" to come last.
	Before *string
}

// Cancel takes a prompt out of the inbox for good. ErrNotFound when the session has
// no such prompt, *ConflictError when it was promoted or cancelled already.
func (s *Sessions) Cancel(ctx context.Context, origin Origin, session, id string) (Input, error) {
	return s.revise(ctx, origin, session, id, func(waitingPrompt) ([]Payload, error) {
		return []Payload{PromptCancelled{Message: id}}, nil
	})
}

// Edit replaces the body. Errors as of Cancel. A retry of the admission still
// repeats what was admitted.
func (s *Sessions) Edit(ctx context.Context, origin Origin, session, id string, body Prompt) (Input, error) {
	return s.Revise(ctx, origin, session, id, Revision{Prompt: &body})
}

// Redeliver moves the prompt between steer and queue. Errors as of Cancel, and
// ErrBusy when enough steer already. A session that works is woken by a steer.
func (s *Sessions) Redeliver(ctx context.Context, origin Origin, session, id string, delivery Delivery) (Input, error) {
	return s.Revise(ctx, origin, session, id, Revision{Delivery: delivery})
}

// Reorder puts the prompt before another one that waits, or last when before is
// empty. Errors as of Cancel.
func (s *Sessions) Reorder(ctx context.Context, origin Origin, session, id, before string) (Input, error) {
	return s.Revise(ctx, origin, session, id, Revision{Before: &before})
}

// Revise does all that the revision says, or nothing. What changes nothing records
// nothing. Errors as of Cancel, Redeliver and Admit.
func (s *Sessions) Revise(ctx context.Context, origin Origin, session, id string, revision Revision) (Input, error) {
	if revision.Delivery != "" {
		if err := revision.Delivery.check(); err != nil {
			return Input{}, err
		}
	}
	var canonical []byte
	if revision.Prompt != nil {
		var err error
		if canonical, err = revision.Prompt.checked(); err != nil {
			return Input{}, err
		}
		if err := s.checkPrompt(ctx, session, *revision.Prompt); err != nil {
			return Input{}, err
		}
	}
	return s.revise(ctx, origin, session, id, func(w waitingPrompt) ([]Payload, error) {
		edited, err := w.edit(revision.Prompt, canonical)
		if err != nil {
			return nil, err
		}
		redelivered, err := w.redeliver(revision.Delivery, s.options.Limits)
		if err != nil {
			return nil, err
		}
		reordered, err := w.reorder(revision.Before)
		return slices.Concat(edited, redelivered, reordered), err
	})
}

// waitingPrompt is a prompt that waits, in its session.
type waitingPrompt struct {
	Input
	session Session
	pending []Input
	running bool
}

// revise appends what follows from a prompt that waits, and wakes a session that
// works when the prompt now steers it.
func (s *Sessions) revise(ctx context.Context, origin Origin, session, id string, change func(waitingPrompt) ([]Payload, error)) (Input, error) {
	defer s.inboxes.lock(session)()
	w, err := s.waiting(ctx, session, id)
	if err != nil {
		return Input{}, err
	}
	payloads, err := change(w)
	if err != nil || len(payloads) == 0 {
		return w.Input, err
	}
	events, err := s.append(ctx, origin, session, store.Any(), payloads...)
	if conflict, ok := errors.AsType[*ConflictError](err); ok { // it was promoted meanwhile
		if _, err := s.waiting(ctx, session, id); err != nil {
			return Input{}, err
		}
		return Input{}, conflict
	}
	if err != nil {
		return Input{}, fmt.Errorf("change prompt: %w", err)
	}
	for i, payload := range payloads {
		if e, ok := payload.(PromptRedelivered); ok && e.Delivery == Steer && w.running {
			s.execution.Wake(session, events[i].Seq)
		}
	}
	return s.Input(ctx, id)
}

func (s *Sessions) waiting(ctx context.Context, session, id string) (w waitingPrompt, err error) {
	err = s.log.View(ctx, func(tx store.Tx) error {
		if w.session, err = LoadSession(ctx, tx, session); err != nil {
			return err
		}
		if w.Input, err = LoadInput(ctx, tx, id); err != nil {
			return err
		}
		if w.Session != session {
			return fmt.Errorf("prompt %s in session %s: %w", clip(id), session, ErrNotFound)
		}
		if err := w.settled(); err != nil {
			return err
		}
		if w.pending, err = LoadPending(ctx, tx, session); err != nil {
			return err
		}
		activity, err := loadActivity(ctx, tx, session)
		w.running = activity != nil
		return err
	})
	return w, err
}

// settled says what became of a prompt that waits no more; nil while it does.
func (in *Input) settled() error {
	switch {
	case in.Promoted != nil:
		return &ConflictError{ID: in.ID, Reason: fmt.Sprintf("was promoted at sequence %d", *in.Promoted),
			Fix: "it is part of the conversation and stays as it is; send another prompt"}
	case in.Cancelled != nil:
		return &ConflictError{ID: in.ID, Reason: fmt.Sprintf("was cancelled at sequence %d", *in.Cancelled),
			Fix: "send the prompt again under a new id"}
	}
	return nil
}

func (w *waitingPrompt) edit(prompt *Prompt, canonical []byte) ([]Payload, error) {
	if prompt == nil {
		return nil, nil
	}
	if w.Synthetic {
		return nil, fmt.Errorf("%w: the host wrote the prompt %s; it can be cancelled and moved, not edited", ErrInvalid, w.ID)
	}
	current, err := w.Prompt.Canonical()
	if err != nil || bytes.Equal(current, canonical) {
		return nil, err
	}
	return []Payload{PromptEdited{Message: w.ID, Prompt: *prompt}}, nil
}

// redeliver asks for execution, too, when the prompt now steers a session that works
// and no request for it counts: it never asked, or an interrupt came after it.
func (w *waitingPrompt) redeliver(delivery Delivery, limits Limits) ([]Payload, error) {
	if delivery == "" || delivery == w.Delivery {
		return nil, nil
	}
	var waiting Backlog
	for _, input := range w.pending {
		waiting.add(input.Delivery, 1)
	}
	if err := limits.checkSteer(waiting, delivery); err != nil {
		return nil, err
	}
	payloads := []Payload{PromptRedelivered{Message: w.ID, Delivery: delivery}}
	if delivery == Steer && w.running && w.Wake <= w.session.Interrupt {
		payloads = append(payloads, PromptWoken{Message: w.ID})
	}
	return payloads, nil
}

func (w *waitingPrompt) reorder(before *string) ([]Payload, error) {
	switch {
	case before == nil:
		return nil, nil
	case *before == w.ID:
		return nil, fmt.Errorf("%w: before names the prompt itself; name another one that waits, or none to put it last", ErrInvalid)
	}
	ordered, err := reorder(w.pending, w.ID, *before)
	if err != nil || slices.EqualFunc(ordered, w.pending, func(a, b Input) bool { return a.ID == b.ID }) {
		return nil, err
	}
	return []Payload{PromptReordered{Message: w.ID, Before: *before}}, nil
}
