package model

import (
	"fmt"

	"github.com/plinthhost/plinth/session"
)

// above says whether a session is another one's, or stands above it.
func (h *history) above(id, ancestor string) bool {
	for id != "" {
		if id == ancestor {
			return true
		}
		p := h.sessions[id]
		if p == nil {
			return false
		}
		id = p.parent
	}
	return false
}

// kept reads what concerns the history itself.
func (h *history) kept(p *past, seq int64, payload session.Payload) error {
	p.told.take(seq, payload)
	switch e := payload.(type) {
	case session.Created:
		p.title = e.Title
		p.fork = e.Fork != nil
	case session.Renamed:
		p.title = e.Title
	case session.Archived:
		p.archived = true
	case session.Unarchived:
		p.archived = false
	case session.InterruptRequested:
		p.compact = -1
	case session.CompactionRequested:
		p.compact = seq
	case session.CompactionStarted:
		if p.compacting != "" {
			return fmt.Errorf("the compaction %s has not come out", p.compacting)
		}
		p.compacting, p.compact = e.Message, -1
	case session.CompactionEnded:
		if err := p.cameOut(e.Message); err != nil {
			return err
		}
		if e.Reason == session.CompactionOverflow { // the step is made again
			p.turn.Step--
		}
		return h.message(p, e.Message, "a summary")
	case session.CompactionFailed:
		return p.cameOut(e.Message)
	case session.Reminded:
		return h.message(p, e.Message, "a reminder")
	case session.MessageImported:
		return h.message(p, e.Message.ID, "an imported message")
	case session.RevertStaged:
		p.staged = &e.Revert
		return p.rested("a revert")
	case session.RevertCleared:
		p.staged = nil
		return p.rested("a revert")
	case session.RevertCommitted:
		if p.staged == nil || p.staged.Boundary != e.Boundary {
			return fmt.Errorf("what is staged is %+v", p.staged)
		}
		p.staged, p.epoch, p.fresh = nil, -1, -1
	case session.HistoryPruned:
		return h.pruned(p, e)
	}
	return nil
}

func (p *past) cameOut(message string) error {
	if p.compacting != message {
		return fmt.Errorf("the compaction that is made is %q", p.compacting)
	}
	p.compacting = ""
	return nil
}

// rested holds that nothing works on the session.
func (p *past) rested(what string) error {
	if p.activity != "" || p.compacting != "" {
		return fmt.Errorf("%s beside the activity %q and the compaction %q", what, p.activity, p.compacting)
	}
	return nil
}

// pruned holds that nothing is in the air, and forgets the messages.
func (h *history) pruned(p *past, e session.HistoryPruned) error {
	if len(p.pending) > 0 || p.resume >= 0 || p.compact >= 0 || p.staged != nil || p.waitsForTask() {
		return fmt.Errorf("%d prompts, a resume at %d, a compaction at %d, a revert %+v, tasks %v", len(p.pending), p.resume, p.compact, p.staged, p.tasks)
	}
	for id, known := range h.messages {
		if known.session == p.id {
			delete(h.messages, id)
		}
	}
	for _, in := range h.admitted {
		if in.session == p.id && in.became != waits {
			in.became = forgotten
		}
	}
	p.epoch, p.fresh, p.interrupt, p.rest.interrupt = -1, -1, -1, -1 // nothing waits that it could hold
	if e.Session.Title != p.title || e.Session.Agent != p.agent || e.Session.Model != p.model || e.Session.Location.Directory != p.location {
		return fmt.Errorf("it says that the session is %+v", e.Session)
	}
	if err := p.rested("a pruning"); err != nil {
		return err
	}
	return h.closed(p)
}

// remove takes sessions away.
func (h *history) remove(ids []string) {
	for _, id := range ids {
		p := h.sessions[id]
		if p == nil {
			continue
		}
		p.gone = true
		h.order = without(h.order, func(other string) bool { return other == id })
		h.asked = without(h.asked, func(r *request) bool { return r.session == id })
		for _, r := range h.requests {
			if r.session == id {
				r.open = false
			}
		}
		h.admitted = without(h.admitted, func(in *prompt) bool { return in.session == id })
		p.pending = nil
	}
}

// without answers those that are not gone.
func without[T any](all []T, gone func(T) bool) (left []T) {
	for _, one := range all {
		if !gone(one) {
			left = append(left, one)
		}
	}
	return left
}
