package model

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/session"
)

// prompt admits a new draft, or one that was admitted before.
func (w *world) prompt(ctx context.Context, s step, strict bool) (string, error) {
	request := session.PromptRequest{ID: w.host.encoder.IDs.New(session.PrefixMessage), Session: w.session(s),
		Prompt: session.Prompt{Text: planned + s.Plan}, Delivery: session.Steer, AdmitOnly: s.Flag}
	if s.Do == "queue" {
		request.Delivery = session.Queue
	}
	if s.Do == "retry" || s.Do == "clash" {
		drafts := w.drafted(s.Flag)
		if len(drafts) == 0 {
			return "nothing to repeat", nil
		}
		request = drafts[s.Item%len(drafts)]
	} else {
		w.draft(request)
	}
	known := w.history.prompts[request.ID]
	if s.Do == "clash" {
		if known == nil || known.became == forgotten {
			return "nothing to repeat", nil
		}
		request.Prompt.Text += "; say"
	}
	var pending, steers int
	for _, in := range w.history.sessions[request.Session].pending {
		pending++
		if in.delivery == session.Steer {
			steers++
		}
	}
	input, err := w.host.sessions.Admit(ctx, session.System(), request)
	words := fmt.Sprintf("%s in %s: %v", request.ID, request.Session, err)
	if !strict {
		if err == nil && input.ID != request.ID {
			return words, fmt.Errorf("the receipt is of %s", input.ID)
		}
		return words, unless(err, expected)
	}
	conflict := func(err error) bool { _, ok := errors.AsType[*session.ConflictError](err); return ok }
	full := known == nil && (pending >= limits.Pending || request.Delivery == session.Steer && steers >= limits.Steers)
	removed := w.history.sessions[request.Session].gone
	switch {
	case removed && !isGone(err):
		return words, fmt.Errorf("a prompt for a session that was removed is answered %v", err)
	case removed:
		return words, nil
	case known != nil && known.became == forgotten: // it may be admitted anew, unless a message has its id still
		return words, unless(err, expected)
	case s.Do == "clash" && !conflict(err):
		return words, fmt.Errorf("another prompt under a known id is answered %v", err)
	case s.Do == "clash":
		return words, nil
	case full && !errors.Is(err, session.ErrBusy):
		return words, fmt.Errorf("%d prompts wait, %d of them steer, and one more is answered %v", pending, steers, err)
	case full:
		return words, nil
	case err != nil:
		return words, err
	case known != nil && (input.Admitted != known.admitted || (input.Cancelled != nil) != (known.became == cancelled)):
		return words, fmt.Errorf("a repeated admission is answered %+v, it was %+v", input, known)
	}
	return words, nil
}

func (w *world) draft(request session.PromptRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drafts = append(w.drafts, request)
}

// drafted answers the prompts that were sent, or those of them that wait.
func (w *world) drafted(waiting bool) []session.PromptRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.drafts), func(draft session.PromptRequest) bool {
		known := w.history.prompts[draft.ID]
		return waiting && (known == nil || known.became != waits)
	})
}

func unless(err error, fine func(error) bool) error {
	if fine(err) {
		return nil
	}
	return err
}

// choose answers a prompt, of the session's that wait if there are any.
func (w *world) choose(s step) *prompt {
	all := w.history.sessions[w.session(s)].pending
	if len(all) == 0 || s.Item == 7 {
		all = w.history.admitted
	}
	if len(all) == 0 {
		return nil
	}
	return all[s.Item%len(all)]
}

// reviseInput changes a prompt that waits, or tries to change one that does not.
func (w *world) reviseInput(ctx context.Context, s step, strict bool) (string, error) {
	in := w.choose(s)
	if in == nil {
		return "nothing to change", nil
	}
	var err error
	before := ""
	steers := 0
	for _, other := range w.history.sessions[in.session].pending {
		if other.delivery == session.Steer {
			steers++
		}
	}
	delivery := map[bool]session.Delivery{true: session.Steer, false: session.Queue}[s.Flag]
	switch sessions := w.host.sessions; s.Do {
	case "cancel":
		_, err = sessions.Cancel(ctx, session.System(), in.session, in.id)
	case "edit":
		_, err = sessions.Edit(ctx, session.System(), in.session, in.id, session.Prompt{Text: planned + s.Plan})
	case "redeliver":
		_, err = sessions.Redeliver(ctx, session.System(), in.session, in.id, delivery)
	default:
		if pending := w.history.sessions[in.session].pending; len(pending) > 0 && !s.Flag {
			before = pending[s.Other%len(pending)].id
		}
		_, err = sessions.Reorder(ctx, session.System(), in.session, in.id, before)
	}
	words := fmt.Sprintf("%s, which %s in %s: %v", in.id, in.became, in.session, err)
	if !strict {
		return words, unless(err, expected)
	}
	_, conflict := errors.AsType[*session.ConflictError](err)
	busy := s.Do == "redeliver" && delivery != in.delivery && delivery == session.Steer && steers >= limits.Steers
	switch {
	case in.became == forgotten:
		return words, unless(err, expected)
	case in.became != waits:
		if !conflict {
			return words, fmt.Errorf("a change of a prompt that was %s is answered %v", in.became, err)
		}
		return words, nil
	case busy:
		return words, unless(err, func(err error) bool { return errors.Is(err, session.ErrBusy) })
	case before == in.id, s.Do == "edit" && in.synthetic:
		return words, unless(err, func(err error) bool { return errors.Is(err, session.ErrInvalid) })
	}
	return words, err
}
