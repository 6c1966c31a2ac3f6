package model

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// alter makes a step happen that concerns what is kept of a session, or the session as
// a whole.
func (w *world) alter(ctx context.Context, s step, strict bool) (words string, err error) {
	id, sessions := w.session(s), w.host.sessions
	p := w.history.sessions[id]
	switch s.Do {
	case "compact":
		_, err = sessions.Compact(ctx, session.System(), id)
	case "fork":
		return w.fork(ctx, s)
	case "revert":
		return w.revert(ctx, s, strict)
	case "clear", "commit":
		act := sessions.ClearRevert
		if s.Do == "commit" {
			act = sessions.CommitRevert
		}
		refused := p.staged == nil || p.activity != ""
		_, err = act(ctx, session.System(), id)
		return w.refused(id, err, refused, strict)
	case "prune":
		refused := w.inTheAir(p)
		_, err = sessions.Prune(ctx, session.System(), id)
		if !refused || !strict {
			return w.refused(id, err, refused, strict)
		}
		return fmt.Sprintf("%s: %v", id, err), unless(err, expected) // there may be nothing to do
	case "keep":
		keep := session.Retention{Keep: session.RetainCompaction}
		if s.Flag {
			keep = session.Retention{Keep: session.RetainDays, Days: 1}
		}
		if _, err = sessions.SetRetention(ctx, session.System(), id, keep); err == nil {
			err = w.host.keeper.Pass(ctx)
		}
		words = string(keep.Keep)
	case "rename":
		words = fmt.Sprintf("Title %d", s.Item)
		_, err = sessions.Rename(ctx, session.System(), id, words)
	case "archive":
		_, err = sessions.Archive(ctx, session.System(), id, s.Flag)
	default:
		return w.erase(ctx, id)
	}
	return id + " " + words, err
}

// refused holds a command to the answer there must be.
func (w *world) refused(id string, err error, refused, strict bool) (string, error) {
	words := fmt.Sprintf("%s: %v", id, err)
	_, conflict := errors.AsType[*session.ConflictError](err)
	switch {
	case !strict:
		return words, unless(err, expected)
	case refused && !conflict:
		return words, fmt.Errorf("this must be refused and is answered %v", err)
	case !refused:
		return words, err
	}
	return words, nil
}

// maxSessions is how many there are before no fork is made.
const maxSessions = 9

func (w *world) fork(ctx context.Context, s step) (string, error) {
	if len(w.history.order) >= maxSessions {
		return "there are enough", nil
	}
	request := session.ForkRequest{Session: w.session(s)}
	if !s.Flag {
		message, err := w.pick(ctx, s)
		if message.ID == "" || err != nil {
			return "no message", unless(err, isGoneOrNil)
		}
		request.Message = message.ID
	}
	made, _, err := w.host.sessions.Fork(ctx, session.System(), request)
	return fmt.Sprintf("%s of %s at %q", made.ID, request.Session, request.Message), err
}

func isGoneOrNil(err error) bool { return err == nil || isGone(err) }

// pick answers a message of the session, an empty one when it has none.
func (w *world) pick(ctx context.Context, s step) (session.Message, error) {
	messages, err := w.host.sessions.Messages(ctx, w.session(s), -1, 10_000)
	if err != nil || len(messages) == 0 {
		return session.Message{}, err
	}
	return messages[(s.Item*4+s.Other)%len(messages)], nil
}

func (w *world) revert(ctx context.Context, s step, strict bool) (string, error) {
	id := w.session(s)
	message, err := w.pick(ctx, s)
	if message.ID == "" || err != nil {
		return "no message", unless(err, isGoneOrNil)
	}
	p := w.history.sessions[id]
	_, err = w.host.sessions.Revert(ctx, session.System(), session.RevertRequest{Session: id, Message: message.ID})
	if message.Type != session.MessageUser && message.Type != session.MessageAssistant {
		return fmt.Sprintf("%s: %v", id, err), unless(err, expected)
	}
	words, err := w.refused(id, err, p.activity != "" || p.compacting != "", strict)
	return message.ID + " in " + words, err
}

// erase removes a session that is not the first.
func (w *world) erase(ctx context.Context, id string) (string, error) {
	if id == w.history.order[0] {
		return "the first one stays", nil
	}
	removed, err := w.host.sessions.Remove(ctx, session.System(), id)
	return strings.Join(removed, " "), err
}

// inTheAir says whether something stands against a pruning.
func (w *world) inTheAir(p *past) bool {
	if p.activity != "" || p.compacting != "" || len(p.pending) > 0 || p.resume >= 0 || p.compact >= 0 || p.staged != nil || p.waitsForTask() {
		return true
	}
	for _, r := range w.history.asked {
		if r.open && w.history.above(r.session, p.id) {
			return true
		}
	}
	for _, other := range w.history.order { // whose task it works on
		for prompt, running := range w.history.sessions[other].tasks {
			if in := w.history.prompts[prompt]; running && (in == nil || in.session == p.id) {
				return true
			}
		}
	}
	return false
}
