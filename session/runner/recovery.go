package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// Recover settles what a process that died left open in a session, and reports
// whether the session goes on by itself: nothing in it waits for a person, or the person
// has answered that process already. Tools that may have run fail as interrupted
// and are never run again.
func (r *Runner) Recover(ctx context.Context, id string) (again bool, err error) {
	d, err := r.begin(ctx, id)
	if err != nil {
		return false, err
	}
	s, err := d.state(ctx)
	if err != nil {
		return false, err
	}
	if err := d.dangling(ctx, s.session); err != nil || s.activity == nil {
		return false, err
	}
	if s.activity.State == session.ActivityStateRunning {
		if err := d.settle(ctx, s); err != nil {
			return false, err
		}
	}
	if d.Tasks != nil { // of calls that were settled just now, or by the process that died
		if err := d.Tasks.Abandon(ctx, id); err != nil {
			return false, fmt.Errorf("abandon the tasks of %s: %w", id, err)
		}
	}
	if s, err = d.state(ctx); err != nil || s.activity == nil {
		return false, err
	}
	left, err := d.remains(ctx, *s.activity)
	return err == nil && !s.held(left), err
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
	doubt := r.open != nil || s.activity.Turn >= 0
	payloads, waiting := d.settleCalls(s, &r)
	switch {
	case waiting:
		payloads = append(payloads, session.ActivitySuspended{Activity: s.activity.ID, Reason: session.SuspendedByAsk})
	case s.activity.Attempts >= d.config.Recoveries:
		return d.append(ctx, append(payloads, d.end(r, session.FailureRecovery, fmt.Sprintf(
			"The host stopped %d times while it worked on this, so it is not tried again by itself; resume to go on", s.activity.Attempts+1))...)...)
	case !doubt || d.config.Recovery == session.RecoverResume:
		payloads = append(payloads, session.ActivitySuspended{Activity: s.activity.ID, Reason: session.SuspendedByCrash})
	case d.config.Recovery == session.RecoverAsk:
		payloads = append(payloads, session.ActivitySuspended{Activity: s.activity.ID, Reason: session.SuspendedByDoubt},
			session.PermissionAsked{Request: d.Encoder.IDs.New(session.PrefixPermission), Agent: s.session.Agent,
				Ask: session.PermissionRequest{Action: actionRecovery, Resources: []string{s.activity.ID}, Before: true}})
	default:
		return d.append(ctx, append(payloads, d.end(r, session.FailureInterrupted, "The host stopped while it worked on this; resume to go on")...)...)
	}
	// What a boundary asked is asked again by the next one.
	payloads = append(r.close(""), payloads...)
	return d.append(ctx, payloads...)
}

// settleCalls fails the calls that are not run again, and closes the answer when none
// is left of it. r holds what is left. waiting: a person decides on one of them.
func (d *drain) settleCalls(s state, r *remains) (payloads []session.Payload, waiting bool) {
	if r.open == nil {
		return nil, false
	}
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
	if r.unsettled = left; len(left) == 0 {
		payloads = append(payloads, session.StepFailed{Message: r.open.ID,
			Error: session.Failure{Code: session.FailureInterrupted, Message: "The host stopped during this answer"}})
		r.open = nil
	}
	return payloads, waiting
}

// actionRecovery is asked about an activity whose last turn has no known outcome.
const actionRecovery = "recovery"

// end closes an activity that does not go on, with everything in it.
func (d *drain) end(r remains, code, message string) []session.Payload {
	return append(r.cut(code, message), session.ActivityEnded{Activity: r.activity.ID, Outcome: session.Interrupted,
		Error: &session.Failure{Code: code, Message: message}})
}

// idempotent reports whether the tool of a call says that it may run again, and is
// still the one that the call was offered with.
func (d *drain) idempotent(location session.Location, call *session.ToolPart) bool {
	if call.State != session.ToolStateRunning || call.Hosted {
		return false
	}
	pin := d.Registries.Pin(location.Root)
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

// held reports whether the activity that is suspended waits for an answer. An interrupt
// ends it without, and one in doubt is decided by a resume or a new prompt too.
func (s state) held(r remains) bool {
	if s.session.Interrupt > s.activity.Started {
		return false
	}
	if slices.ContainsFunc(r.unsettled, func(part session.MessagePart) bool { return r.asking(part.ID) }) {
		return true
	}
	doubt, asked := r.doubt()
	return s.activity.Reason == session.SuspendedByDoubt && asked && doubt.Reply == "" &&
		s.session.Resume <= doubt.Seq && !s.newer(doubt.Seq)
}

// decided reports whether the activity may go on: nothing in it waits for an answer,
// and a doubtful one was allowed to. A resume allows it too; a new prompt ends it.
func (d *drain) decided(ctx context.Context, s state, r remains) (goes bool, err error) {
	if s.held(r) {
		return false, nil
	}
	if s.activity.Reason != session.SuspendedByDoubt {
		return true, nil
	}
	doubt, asked := r.doubt()
	switch {
	case !asked || s.session.Resume > doubt.Seq && doubt.Reply == "":
		return true, d.append(ctx, r.close("")...)
	case doubt.Reply == session.ReplyOnce || doubt.Reply == session.ReplyAlways:
		return true, nil
	}
	return false, d.append(ctx, d.end(r, session.FailureInterrupted, "The host stopped while it worked on this, and it was not to go on")...)
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
		if failure, _ := failureOf(ctx, err); failure.Code != session.FailureShutdown { // the next host finds the calls
			if failed := d.append(ctx, r.cut(failure.Code, failure.Message)...); failed != nil {
				return false, errors.Join(err, failed)
			}
		}
		return false, d.abandon(ctx, a, err)
	}
	t := &turn{drain: d, activity: a, pin: d.Registries.Pin(w.session.Location.Root)}
	defer t.release()
	unusable := t.choose(ctx, w, 0)
	turnCtx, cancel := t.begin(ctx)
	defer cancel(nil)
	t.answer.message, t.answer.started, t.answer.finished = r.open.ID, true, true
	t.before = r.open.Before
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
