package model

import (
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/session"
)

// activity holds that activities do not overlap and leave nothing open.
func (h *history) activity(p *past, seq int64, payload session.Payload) error {
	switch e := payload.(type) {
	case session.InterruptRequested:
		p.interrupt, p.resume = seq, -1
	case session.ResumeRequested:
		if p.activity == "" || p.opener != session.OpenedByResume {
			p.resume = seq
		}
	case session.ActivityStarted:
		if p.activity != "" {
			return fmt.Errorf("%s has not ended", p.activity)
		}
		p.activity, p.opener, p.started, p.suspended = e.Activity, e.Opener, seq, ""
		p.queued, p.began, p.newly, p.turn = false, false, nil, session.TurnStarted{}
		return p.opened(e)
	case session.ActivitySuspended:
		p.suspended = e.Reason
		return h.suspended(p, e)
	case session.ActivityRecovered:
		if p.suspended == "" {
			return fmt.Errorf("it was not suspended")
		}
		p.suspended, p.resume = "", -1
		return p.is(e.Activity)
	case session.ActivityEnded:
		if err := p.is(e.Activity); err != nil {
			return err
		}
		if err := p.joined(e); err != nil {
			return err
		}
		p.activity, p.suspended, p.newly = "", "", nil
		p.ended, p.endedAt = e, seq
		switch {
		case e.Outcome == session.Halted:
			p.interrupt = max(p.interrupt, h.declined(p.id))
		case e.Outcome == session.Completed && p.interrupt < p.started:
			p.interrupt = -1
		}
		return h.closed(p)
	case session.TurnStarted:
		return p.turnStarted(e)
	case session.RetryScheduled:
		return p.is(e.Activity)
	}
	return nil
}

// declined is when the session's newest request that a person declined was asked.
func (h *history) declined(id string) int64 {
	newest := int64(-1)
	for _, r := range h.asked {
		if r.session == id && r.declined {
			newest = max(newest, r.at)
		}
	}
	return newest
}

// opened holds that a session which was idle begins nothing that was not asked for since
// the last interrupt.
func (p *past) opened(e session.ActivityStarted) error {
	asked := slices.ContainsFunc(p.pending, func(in *prompt) bool { return in.wake > p.rest.interrupt })
	switch {
	case e.Opener == session.OpenedByResume && p.resume < 0 && p.interrupt == p.rest.interrupt:
		return fmt.Errorf("no resume asks for it")
	case e.Opener == session.OpenedByPrompt && !asked && !p.rest.drained && p.endedAt < p.rest.next:
		return fmt.Errorf("no prompt asks for it since the interrupt at %d", p.rest.interrupt)
	}
	if e.Opener == session.OpenedByResume {
		p.resume = -1
	}
	return nil
}

// joined holds that a completed activity has taken the steers that waited for it.
func (p *past) joined(e session.ActivityEnded) error {
	at := slices.IndexFunc(p.pending, func(in *prompt) bool { return in.delivery == session.Steer && in.admitted < p.rest.next })
	if e.Outcome == session.Completed && at >= 0 && !p.shuffled && p.turn.Turn < maxTurns {
		return fmt.Errorf("%s steers since %d and is not taken", p.pending[at].id, p.pending[at].admitted)
	}
	return nil
}

func (p *past) is(activity string) error {
	if p.activity != activity {
		return fmt.Errorf("it is about %q and the activity is %q", activity, p.activity)
	}
	return nil
}

// suspended holds that only an ask or a crash leaves an answer open.
func (h *history) suspended(p *past, e session.ActivitySuspended) error {
	if e.Reason == session.SuspendedByShutdown && p.open != "" {
		return fmt.Errorf("the answer %s is open", p.open)
	}
	return p.is(e.Activity)
}

// closed holds that an activity leaves no answer, no call and no request open.
func (h *history) closed(p *past) error {
	if p.open != "" {
		return fmt.Errorf("the answer %s is open", p.open)
	}
	for key, call := range p.calls {
		if call.settled == "" {
			return fmt.Errorf("the call %v of %s is not settled", key, call.tool)
		}
	}
	for _, r := range h.asked {
		if r.open && r.session == p.id {
			return fmt.Errorf("the request %s is open (%s)", r.id, r.action)
		}
	}
	return nil
}

// turnStarted holds that the turn is made for the session as it is.
func (p *past) turnStarted(e session.TurnStarted) error {
	if err := p.is(e.Activity); err != nil {
		return err
	}
	again := e.Attempt > 1
	step := p.turn.Step + 1
	if len(p.newly) > 0 {
		step = 1
	}
	switch {
	case p.suspended != "" || p.open != "":
		return fmt.Errorf("suspended %q, open answer %q", p.suspended, p.open)
	case e.Location != p.location:
		return fmt.Errorf("it works in %s, the session in %s", e.Location, p.location)
	case !again && !slices.Contains(append(p.were, worker{p.agent, p.model}), worker{e.Agent, e.Model}):
		return fmt.Errorf("it works as %s with %s, the session is %s with %s", e.Agent, e.Model, p.agent, p.model)
	case !again && (e.Turn != p.turn.Turn+1 || e.Step != step || e.Attempt != 1):
		return fmt.Errorf("turn %d, step %d, attempt %d after turn %d, step %d with %d promotions", e.Turn, e.Step, e.Attempt, p.turn.Turn, p.turn.Step, len(p.newly))
	case again && (e.Turn != p.turn.Turn || e.Attempt != p.turn.Attempt+1 || e.Digest != p.turn.Digest || e.Epoch != p.turn.Epoch || len(p.newly) > 0):
		return fmt.Errorf("attempt %d of turn %d is not the one before again", e.Attempt, e.Turn)
	case !again && e.Epoch != p.epoch && (e.Epoch != -1 || p.fresh != p.epoch):
		return fmt.Errorf("it names the epoch of %d, the newest is of %d", e.Epoch, p.epoch)
	case p.epoch < 0:
		return fmt.Errorf("the session has no context")
	}
	p.turn, p.began, p.newly, p.fresh = e, true, nil, -1
	return nil
}

// step holds that a call is settled once and before its answer is closed.
func (h *history) step(p *past, _ int64, payload session.Payload) error {
	switch e := payload.(type) {
	case session.StepStarted:
		if p.open != "" || p.activity == "" || p.suspended != "" {
			return fmt.Errorf("open answer %q, activity %q, suspended %q", p.open, p.activity, p.suspended)
		}
		p.open = e.Message
		return h.message(p, e.Message, "an answer")
	case session.TextEnded:
		return p.answers(e.Message)
	case session.ToolInputEnded: // of a call that broke off, and fails for it
		if key := (callKey{e.Message, e.Call}); p.calls[key] == nil {
			p.calls[key] = &settlement{session: p.id, tool: e.Name}
		}
		return p.answers(e.Message)
	case session.ToolCalled:
		key := callKey{e.Message, e.Call}
		if p.calls[key] != nil {
			return fmt.Errorf("the call %v is there twice", key)
		}
		p.calls[key] = &settlement{session: p.id, tool: e.Name}
		return p.answers(e.Message)
	case session.ToolSucceeded:
		return p.settle(callKey{e.Message, e.Call}, "success")
	case session.ToolFailed:
		return p.settle(callKey{e.Message, e.Call}, e.Error.Kind)
	case session.StepEnded:
		return p.close(e.Message)
	case session.StepFailed:
		return p.close(e.Message)
	case session.TaskStarted:
		if p.tasks[e.Prompt] {
			return fmt.Errorf("the task %s runs already", e.Prompt)
		}
		p.tasks[e.Prompt] = true
		return p.answers(e.Message)
	case session.TaskEnded:
		if !p.tasks[e.Prompt] {
			return fmt.Errorf("the task %s does not run", e.Prompt)
		}
		p.tasks[e.Prompt] = false
	}
	return nil
}

func (p *past) answers(message string) error {
	if p.open != message {
		return fmt.Errorf("it is of the answer %s and %q is open", message, p.open)
	}
	return nil
}

func (p *past) settle(key callKey, as string) error {
	call := p.calls[key]
	if call == nil || call.settled != "" {
		return fmt.Errorf("the call %v has no settlement to come: %+v", key, call)
	}
	call.settled = as
	return p.answers(key.message)
}

func (p *past) close(message string) error {
	for key, call := range p.calls {
		if key.message == message && call.settled == "" {
			return fmt.Errorf("the call %v of %s is not settled", key, call.tool)
		}
	}
	err := p.answers(message)
	p.open = ""
	return err
}

// ask holds that a request is asked by a call that is not settled, and closed once.
func (h *history) ask(p *past, seq int64, payload session.Payload) error {
	add := func(r request) error {
		for _, earlier := range h.asked {
			if r.call != "" && earlier.message == r.message && earlier.call == r.call && earlier.action == r.action && !earlier.withdrawn {
				return fmt.Errorf("the call %s has asked this before, as %s", r.call, earlier.id)
			}
		}
		r.session, r.open, r.at = p.id, true, seq
		h.requests[r.id] = &r
		h.asked = append(h.asked, &r)
		if r.call == "" {
			return nil
		}
		if call := p.calls[callKey{r.message, r.call}]; call == nil || call.settled != "" {
			return fmt.Errorf("the call %s asks and is %+v", r.call, call)
		}
		return nil
	}
	closing := func(id string, withdrawn, declined bool) error {
		r := h.requests[id]
		if r == nil || !r.open || r.session != p.id {
			return fmt.Errorf("the request %s is not open", id)
		}
		r.open, r.withdrawn, r.declined = false, withdrawn, declined
		return nil
	}
	switch e := payload.(type) {
	case session.PermissionAsked:
		return add(request{id: e.Request, message: e.Message, call: e.Call, action: e.Ask.Action})
	case session.QuestionAsked:
		return add(request{id: e.Request, message: e.Message, call: e.Call})
	case session.PermissionReplied:
		return closing(e.Request, e.Reply == session.ReplyWithdrawn, e.Reply == session.ReplyReject && e.Feedback == "")
	case session.QuestionAnswered:
		return closing(e.Request, false, false)
	case session.QuestionDismissed:
		return closing(e.Request, e.Withdrawn, !e.Withdrawn)
	}
	return nil
}

// change reads what the next turn is made for.
func (h *history) change(p *past, seq int64, payload session.Payload) error {
	switch e := payload.(type) {
	case session.Created:
		p.parent, p.location, p.agent, p.model = e.Parent, e.Location.Directory, e.Agent, e.Model
	case session.AgentSwitched:
		p.were = append(p.were, worker{p.agent, p.model})
		p.agent = e.Agent
		return h.message(p, e.Message, "a switch")
	case session.ModelSwitched:
		p.were = append(p.were, worker{p.agent, p.model})
		p.model = e.Model
		return h.message(p, e.Message, "a switch")
	case session.Moved:
		p.location, p.epoch, p.fresh = e.Location.Directory, -1, -1
	case session.ContextInitialized:
		p.epoch, p.fresh = seq, seq
	case session.ContextReplaced:
		p.epoch, p.fresh = seq, seq
	case session.ContextUpdated:
		return h.message(p, e.Message, "an update")
	}
	return nil
}
