package runner

import (
	"context"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// Recover settles what a process that died left open in a session, and reports
// whether the session goes on by itself. Tools that may have run fail as interrupted
// and are never run again.
func (r *Runner) Recover(ctx context.Context, id string) (again bool, err error) {
	d, err := r.begin(ctx, id)
	if err != nil {
		return false, err
	}
	s, err := d.state(ctx)
	if err != nil || s.activity == nil {
		return false, err
	}
	if s.activity.State == session.ActivityStateRunning {
		if err := d.settle(ctx, s); err != nil {
			return false, err
		}
		if s, err = d.state(ctx); err != nil || s.activity == nil {
			return false, err
		}
	}
	if d.Tasks != nil {
		if err := d.Tasks.Abandon(ctx, id); err != nil {
			return false, fmt.Errorf("abandon the tasks of %s: %w", id, err)
		}
	}
	if s.activity.Reason == session.SuspendedByShutdown || s.activity.Reason == session.SuspendedByCrash {
		return true, nil
	}
	left, err := d.remains(ctx, *s.activity)
	return err == nil && !left.asked(), err
}

// remains is what an activity left behind.
type remains struct {
	activity  session.Activity
	open      *session.Message // the answer that is not closed; nil for none
	unsettled []session.MessagePart
	requests  []session.Permission
	questions []session.QuestionRequest
}

func (d *drain) remains(ctx context.Context, activity session.Activity) (r remains, err error) {
	r.activity = activity
	err = d.Log.View(ctx, func(tx store.Tx) error {
		messages, err := session.LoadSince(ctx, tx, d.session, activity.Started)
		if err != nil {
			return err
		}
		for i := range messages {
			if messages[i].Type == session.MessageAssistant && messages[i].Completed == 0 {
				r.open = &messages[i]
			}
		}
		if r.requests, err = session.LoadRequests(ctx, tx, d.session, activity.Started); err != nil {
			return err
		}
		r.questions, err = session.LoadAllQuestions(ctx, tx, d.session, activity.Started)
		return err
	})
	if err != nil || r.open == nil {
		return r, err
	}
	for _, part := range r.open.Parts {
		if part.Tool != nil && part.Tool.Unsettled() {
			r.unsettled = append(r.unsettled, part)
		}
	}
	return r, nil
}

// waits reports whether a call is held by an ask before which nothing had an effect:
// it can be run again from its start. While its process lives an answered ask lets the
// call go on, so after a crash only an open one holds it.
func (r remains) waits(call string, crashed bool) bool {
	before, open := false, false
	for _, request := range r.requests {
		if request.Message == r.open.ID && request.Call == call {
			before, open = request.Ask.Before, request.Reply == ""
		}
	}
	for _, question := range r.questions {
		if question.Message == r.open.ID && question.Call == call && (question.Seq > r.lastAsked(call)) {
			before, open = question.Before, question.State == session.QuestionStateOpen
		}
	}
	return before && (open || !crashed)
}

func (r remains) lastAsked(call string) int64 {
	last := int64(-1)
	for _, request := range r.requests {
		if request.Message == r.open.ID && request.Call == call {
			last = max(last, request.Seq)
		}
	}
	return last
}

// asking reports whether a call still waits for an answer.
func (r remains) asking(call string) bool {
	for _, request := range r.requests {
		if request.Call == call && request.Message == r.open.ID && request.Reply == "" {
			return true
		}
	}
	for _, question := range r.questions {
		if question.Call == call && question.Message == r.open.ID && question.State == session.QuestionStateOpen {
			return true
		}
	}
	return false
}

// asked reports whether anything in the activity waits for an answer. Where nothing
// does, the process that was to go on with it died after the last answer.
func (r remains) asked() bool {
	return slices.ContainsFunc(r.requests, func(p session.Permission) bool { return p.Reply == "" }) ||
		slices.ContainsFunc(r.questions, func(q session.QuestionRequest) bool { return q.State == session.QuestionStateOpen })
}

// close withdraws what was asked and is still open: of a call, or with "" of no call.
func (r remains) close(call string) []session.Payload {
	var payloads []session.Payload
	for _, request := range r.requests {
		if request.Call == call && request.Reply == "" {
			payloads = append(payloads, session.PermissionReplied{Request: request.Request, Reply: session.ReplyWithdrawn})
		}
	}
	for _, question := range r.questions {
		if question.Call == call && question.State == session.QuestionStateOpen {
			payloads = append(payloads, session.QuestionDismissed{Request: question.Request, Withdrawn: true})
		}
	}
	return payloads
}

func (r remains) fail(call string) []session.Payload {
	return append(r.close(call), session.ToolFailed{Message: r.open.ID, Call: call,
		Error: session.ToolError{Kind: "cancelled", Message: interruptedTool}})
}

// settle records what became of an activity whose process died, before anything is
// tried again: calls that may have had an effect fail; calls that wait for a person,
// and idempotent ones, are left to be run again; then it is suspended, or ended where
// it does not go on.
func (d *drain) settle(ctx context.Context, s state) error {
	r, err := d.remains(ctx, *s.activity)
	if err != nil {
		return err
	}
	var payloads []session.Payload
	waiting := false
	var left []session.MessagePart
	for _, part := range r.unsettled {
		switch {
		case r.waits(part.ID, true):
			waiting = true
			left = append(left, part)
		case d.idempotent(s.session.Location, part.Tool) && d.config.Recovery != session.RecoverOff:
			payloads = append(payloads, r.close(part.ID)...)
			left = append(left, part)
		default:
			payloads = append(payloads, r.fail(part.ID)...)
		}
	}
	r.unsettled = left
	doubt := r.open != nil || s.activity.Turn >= 0
	if r.open != nil && len(left) == 0 {
		payloads = append(payloads, session.StepFailed{Message: r.open.ID,
			Error: session.Failure{Code: session.FailureInterrupted, Message: "The host stopped during this answer"}})
	}
	switch {
	case waiting:
		payloads = append(payloads, session.ActivitySuspended{Activity: s.activity.ID, Reason: session.SuspendedByAsk})
	case s.activity.Attempts >= d.config.Recoveries:
		payloads = append(payloads, d.end(r, session.FailureRecovery, fmt.Sprintf(
			"The host stopped %d times while it worked on this, so it is not tried again by itself; resume to go on", s.activity.Attempts+1))...)
	case !doubt || d.config.Recovery == session.RecoverResume:
		payloads = append(payloads, session.ActivitySuspended{Activity: s.activity.ID, Reason: session.SuspendedByCrash})
	case d.config.Recovery == session.RecoverAsk:
		payloads = append(payloads, session.ActivitySuspended{Activity: s.activity.ID, Reason: session.SuspendedByDoubt},
			session.PermissionAsked{Request: d.Encoder.IDs.New(session.PrefixPermission), Agent: s.session.Agent,
				Ask: session.PermissionRequest{Action: actionRecovery, Resources: []string{s.activity.ID}, Before: true}})
	default:
		payloads = append(payloads, d.end(r, session.FailureInterrupted, "The host stopped while it worked on this; resume to go on")...)
	}
	return d.append(ctx, payloads...)
}

// actionRecovery is asked about an activity whose last turn has no known outcome.
const actionRecovery = "recovery"

// end closes an activity that does not go on, with everything in it.
func (d *drain) end(r remains, code, message string) []session.Payload {
	payloads := r.close("")
	for _, part := range r.unsettled {
		payloads = append(payloads, r.fail(part.ID)...)
	}
	if len(r.unsettled) > 0 {
		payloads = append(payloads, session.StepFailed{Message: r.open.ID, Error: session.Failure{Code: code, Message: message}})
	}
	return append(payloads, session.ActivityEnded{Activity: r.activity.ID, Outcome: session.Interrupted,
		Error: &session.Failure{Code: code, Message: message}})
}

// idempotent reports whether the tool of a call says that it may run again, and is
// still the one that the call was offered with.
func (d *drain) idempotent(location session.Location, call *session.ToolPart) bool {
	pin := d.Registries.Pin(location.Directory)
	defer pin.Release()
	entry, ok := registry.Lookup(pin, d.Kinds.Tools, call.Name)
	return ok && entry.Revision == call.Revision && entry.Value.Definition().Idempotent
}

// proceed goes on with an activity that was suspended, as far as nothing in it waits
// for a person. An activity that has no drain and is not suspended is one that died
// under this process.
func (d *drain) proceed(ctx context.Context, s state) error {
	if s.activity.State == session.ActivityStateRunning {
		if err := d.settle(ctx, s); err != nil {
			return err
		}
		var err error
		if s, err = d.state(ctx); err != nil || s.activity == nil {
			return err
		}
	}
	r, err := d.remains(ctx, *s.activity)
	if err != nil {
		return err
	}
	if s.session.Interrupt > s.activity.Started {
		return d.append(ctx, d.end(r, session.FailureInterrupted, "Interrupted")...)
	}
	switch goes, err := d.decided(ctx, s, r); {
	case err != nil:
		return err
	case !goes:
		return nil
	}
	if s, err = d.state(ctx); err != nil || s.activity == nil {
		return err
	}
	if d.parked() {
		return nil
	}
	d.work.Opened(s.activity.Started)
	if err := d.append(ctx, session.ActivityRecovered{Activity: s.activity.ID, Attempt: s.activity.Attempts}); err != nil {
		return err
	}
	a := continued(*s.activity)
	if len(r.unsettled) > 0 {
		again, err := d.rerun(ctx, a, r)
		if !again {
			return err
		}
	}
	return d.activity(ctx, a)
}

// decided reports whether the activity may go on: nothing in it waits for an answer,
// and a doubtful one was allowed to. A resume allows it too; a new prompt ends it.
func (d *drain) decided(ctx context.Context, s state, r remains) (goes bool, err error) {
	for _, part := range r.unsettled {
		if r.asking(part.ID) {
			return false, nil
		}
	}
	if s.activity.Reason != session.SuspendedByDoubt {
		return true, nil
	}
	request := r.doubt()
	switch {
	case request == nil || s.session.Resume > request.Seq && request.Reply == "":
		return true, d.append(ctx, r.close("")...)
	case request.Reply == session.ReplyOnce || request.Reply == session.ReplyAlways:
		return true, nil
	case request.Reply == "" && !s.newer(request.Seq):
		return false, nil // it waits for the answer
	}
	return false, d.append(ctx, d.end(r, session.FailureInterrupted, "The host stopped while it worked on this, and it was not to go on")...)
}

// doubt is what a person was asked about the activity when it was suspended last; nil
// when nothing was. What was answered after an earlier crash does not count for this one.
func (r remains) doubt() *session.Permission {
	for i := len(r.requests) - 1; i >= 0; i-- {
		if ask := r.requests[i].Ask; ask.Action == actionRecovery && slices.Contains(ask.Resources, r.activity.ID) {
			return &r.requests[i]
		}
	}
	return nil
}

// newer reports whether a prompt asks for execution since a sequence.
func (s state) newer(seq int64) bool {
	return slices.ContainsFunc(s.pending, func(input session.Input) bool { return input.Wake > seq })
}

// rerun runs the calls of an open answer that were left unsettled, from their start
// and with the answers they have got, and closes the answer.
func (d *drain) rerun(ctx context.Context, a *activity, r remains) (again bool, err error) {
	w, err := d.window(ctx)
	if err != nil {
		return false, d.abandon(ctx, a, err)
	}
	t := &turn{drain: d, activity: a, pin: d.Registries.Pin(w.session.Location.Directory)}
	defer t.release()
	unusable := t.choose(ctx, w, 0)
	turnCtx, cancel := t.begin(ctx)
	defer cancel(nil)
	t.answer.message, t.answer.started, t.answer.finished = r.open.ID, true, true
	t.answer.finish, t.answer.called = session.FinishToolCalls, true
	for i, part := range r.unsettled {
		if unusable != nil {
			if err := d.append(ctx, r.fail(part.ID)...); err != nil {
				return false, err
			}
			continue
		}
		t.start(turnCtx, toolRun{message: r.open.ID, call: part.ID, name: part.Tool.Name, input: part.Tool.Input, valid: true, number: i + 1,
			earlier: r.answers(part.ID), revision: part.Tool.Revision})
	}
	return d.conclude(ctx, a, t, t.finish(ctx, turnCtx, unusable))
}

// answers are what a call asked in its earlier life.
func (r remains) answers(call string) *session.Answers {
	var permissions []session.Permission
	for _, request := range r.requests {
		if request.Message == r.open.ID && request.Call == call {
			permissions = append(permissions, request)
		}
	}
	var questions []session.QuestionRequest
	for _, question := range r.questions {
		if question.Message == r.open.ID && question.Call == call {
			questions = append(questions, question)
		}
	}
	return session.NewAnswers(permissions, questions)
}
