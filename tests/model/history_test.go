package model

import (
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// history is the reference: what the events of all sessions come to. It takes them one
// by one and refuses what may not follow.
type history struct {
	sessions map[string]*past
	order    []string           // of sessions, as they were made
	prompts  map[string]*prompt // by id
	admitted []*prompt          // in the order of their admission
	requests map[string]*request
	asked    []*request // in the order they were asked
	messages map[string]named
}

// named is what has an id.
type named struct{ session, what string }

// prompt is an admitted prompt.
type prompt struct {
	id, session string
	delivery    session.Delivery
	text        string
	admitted    int64
	wake        int64 // of the newest event that asks for its execution, or -1
	synthetic   bool
	became      string
}

// The fates of a prompt.
const (
	waits     = "waits"
	promoted  = "promoted"
	cancelled = "cancelled"
	forgotten = "forgotten"
)

// request is a permission or a question.
type request struct {
	id, session string
	message     string
	call        string
	action      string // empty for a question
	at          int64  // the sequence at which it was asked
	open        bool
	withdrawn   bool
	declined    bool
}

// callKey names a call for ever.
type callKey struct{ message, call string }

// settlement is what became of a call.
type settlement struct {
	session string
	tool    string
	settled string // empty, "success", or the kind of the error
}

// worker is as whom a session works.
type worker struct {
	agent string
	model session.ModelRef
}

// past is what the events of one session come to.
type past struct {
	id, parent string
	next       int64
	pending    []*prompt
	location   string
	agent      string
	model      session.ModelRef
	// were are those of before, since the step began that is being taken: a turn may
	// have looked at the session just before a switch.
	were []worker
	// shuffled: the inbox was reordered since then, and it may have been just after a
	// boundary looked at it.
	shuffled  bool
	interrupt int64
	resume    int64 // of a resume that is not served, or -1

	activity  string // its id, empty for none
	opener    session.Opener
	started   int64
	suspended session.SuspendReason
	queued    bool // the activity took its queued prompt
	began     bool // the activity had a turn
	turn      session.TurnStarted
	newly     []*prompt // promoted by the boundary that is being read
	ended     session.ActivityEnded
	endedAt   int64

	epoch, fresh int64 // sequences of what began the epoch, and of the newest one that no turn has seen
	open         string
	calls        map[callKey]*settlement
	tasks        map[string]bool // by prompt: runs
	rest         rest

	told       *told
	title      string
	archived   bool
	fork       bool
	gone       bool            // it was removed
	compact    int64           // of a compaction that is asked for, or -1
	compacting string          // the summary that is being made
	staged     *session.Revert // nil for none
}

// rest is a session as it was when nothing moved.
type rest struct {
	next, interrupt int64
	drained         bool // it had a drain
}

func newHistory() *history {
	return &history{sessions: map[string]*past{}, prompts: map[string]*prompt{}, requests: map[string]*request{}, messages: map[string]named{}}
}

// enter reads an entry of the log.
func (h *history) enter(e entry) error {
	if e.event.Type != "" {
		return h.take(e.event)
	}
	h.remove(e.removed)
	return nil
}

// take reads one event.
func (h *history) take(event store.Event) error {
	payload, err := session.Decode(event)
	if err != nil {
		return err
	}
	if event.Aggregate == "host" {
		return nil
	}
	p := h.sessions[event.Aggregate]
	if p == nil {
		p = &past{id: event.Aggregate, interrupt: -1, resume: -1, endedAt: -1, epoch: -1, fresh: -1, calls: map[callKey]*settlement{}, tasks: map[string]bool{}, rest: rest{interrupt: -1},
			told: newTold(), compact: -1}
		h.sessions[p.id] = p
		h.order = append(h.order, p.id)
	}
	if p.gone {
		return fmt.Errorf("%s at %d of %s, which was removed", event.Type, event.Seq, p.id)
	}
	if event.Seq != p.next {
		return fmt.Errorf("%s has the sequence %d where %d comes next", event.Type, event.Seq, p.next)
	}
	p.next++
	for _, read := range []func(*past, int64, session.Payload) error{h.inbox, h.activity, h.step, h.ask, h.change, h.kept} {
		if err := read(p, event.Seq, payload); err != nil {
			return fmt.Errorf("%s at %d of %s: %w", event.Type, event.Seq, p.id, err)
		}
	}
	return nil
}

// rested says that everything the sessions did is in the history, and which of them
// have a drain.
func (h *history) rested(drained func(id string) bool) {
	for id, p := range h.sessions {
		if p.compacting == "" { // else a boundary is being prepared
			p.were, p.shuffled = nil, false
		}
		p.rest = rest{next: p.next, interrupt: p.interrupt, drained: drained(id)}
	}
}

// message takes an id that no message and no prompt has.
func (h *history) message(p *past, id, what string) error {
	if other, known := h.messages[id]; known {
		return fmt.Errorf("the id of %s %s is that of %s already", what, id, other.what)
	}
	h.messages[id] = named{p.id, what}
	return nil
}

func (h *history) inbox(p *past, seq int64, payload session.Payload) error {
	switch e := payload.(type) {
	case session.PromptAdmitted:
		admitted := &prompt{id: e.Message, session: p.id, delivery: e.Delivery, text: e.Prompt.Text, admitted: seq, wake: -1,
			synthetic: e.Synthetic, became: waits}
		if e.Wake {
			admitted.wake = seq
		}
		h.prompts[e.Message], h.admitted, p.pending = admitted, append(h.admitted, admitted), append(p.pending, admitted)
		return h.message(p, e.Message, "a prompt")
	case session.PromptWoken:
		return p.waiting(e.Message, func(at int) { p.pending[at].wake = seq })
	case session.PromptEdited:
		return p.waiting(e.Message, func(at int) { p.pending[at].text = e.Prompt.Text })
	case session.PromptRedelivered:
		p.shuffled = true
		return p.waiting(e.Message, func(at int) { p.pending[at].delivery = e.Delivery })
	case session.PromptCancelled:
		return p.waiting(e.Message, func(at int) {
			p.pending[at].became = cancelled
			p.pending = slices.Delete(p.pending, at, at+1)
		})
	case session.PromptReordered:
		p.shuffled = true
		return p.reorder(e)
	case session.PromptPromoted:
		return p.promote(e)
	}
	return nil
}

func (p *past) waiting(id string, change func(at int)) error {
	at := slices.IndexFunc(p.pending, func(in *prompt) bool { return in.id == id })
	if at < 0 {
		return fmt.Errorf("%s does not wait in this session", id)
	}
	change(at)
	return nil
}

func (p *past) reorder(e session.PromptReordered) error {
	return p.waiting(e.Message, func(at int) {
		moved := p.pending[at]
		p.pending = slices.Delete(p.pending, at, at+1)
		to := slices.IndexFunc(p.pending, func(in *prompt) bool { return in.id == e.Before })
		if to < 0 {
			to = len(p.pending)
		}
		p.pending = slices.Insert(p.pending, to, moved)
	})
}

// promote holds the order: steers as they stand in the inbox, and one queued prompt
// at the first boundary of an activity, before the steers.
func (p *past) promote(e session.PromptPromoted) error {
	at := slices.IndexFunc(p.pending, func(in *prompt) bool { return in.id == e.Message })
	if at < 0 {
		return fmt.Errorf("%s does not wait, so it cannot be promoted", e.Message)
	}
	in := p.pending[at]
	first := slices.IndexFunc(p.pending, func(other *prompt) bool { return other.delivery == in.delivery })
	switch {
	case p.activity == "" || p.suspended != "":
		return fmt.Errorf("%s is promoted while no activity runs", in.id)
	case first != at && !p.shuffled:
		return fmt.Errorf("%s is promoted before %s, which waits with the same delivery", in.id, p.pending[first].id)
	case in.delivery == session.Queue && !p.shuffled && (p.queued || p.began || len(p.newly) > 0):
		return fmt.Errorf("the queued prompt %s joins an activity that has begun", in.id)
	case e.Prompt.Text != in.text:
		return fmt.Errorf("%s is promoted as %q and was last edited to %q", in.id, e.Prompt.Text, in.text)
	}
	p.queued = p.queued || in.delivery == session.Queue
	in.became = promoted
	p.pending = slices.Delete(p.pending, at, at+1)
	p.newly = append(p.newly, in)
	return nil
}
