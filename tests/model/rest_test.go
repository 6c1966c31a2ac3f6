package model

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// check holds everything to the reference, once nothing moves any more.
func (w *world) check(ctx context.Context) error {
	if err := w.catchUp(); err != nil {
		return fmt.Errorf("the log: %w", err)
	}
	w.history.rested(w.host.coordinator.Running)
	preparing := slices.ContainsFunc(w.history.order, func(id string) bool { return w.history.sessions[id].compacting != "" })
	for _, id := range w.closing {
		if w.history.requests[id].open {
			return fmt.Errorf("the request %s is open after another one of its session was refused", id)
		}
	}
	w.closing = nil
	w.mu.Lock()
	broken := w.broken
	w.unsteady = w.unsteady && preparing // a boundary may have sampled before
	w.mu.Unlock()
	if err := errors.Join(broken, w.host.faults.first(), w.once()); err != nil {
		return err
	}
	if err := w.tables(ctx); err != nil {
		return fmt.Errorf("the tables: %w", err)
	}
	for _, id := range w.history.order {
		if err := w.rests(w.history.sessions[id]); err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
	}
	return nil
}

// once holds that no call had its effect twice, nor before it was recorded, nor
// against a refusal.
func (w *world) once() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := map[callKey]int{}
	for _, e := range w.effects {
		count[e.callKey]++
		var call *settlement
		for _, p := range w.history.sessions {
			if found := p.calls[e.callKey]; found != nil {
				call = found
			}
		}
		switch {
		case call == nil || call.tool != e.name:
			return fmt.Errorf("%s had an effect for the call %v, which is recorded as %+v", e.name, e.callKey, call)
		case count[e.callKey] > 1 && !e.idempotent:
			return fmt.Errorf("%s had its effect %d times for the call %v", e.name, count[e.callKey], e.callKey)
		case e.asksFirst && call.settled == "denied":
			return fmt.Errorf("%s had its effect for the call %v, which was denied", e.name, e.callKey)
		}
	}
	for _, p := range w.history.sessions {
		for key, call := range p.calls {
			if call.settled == "success" && count[key] == 0 {
				return fmt.Errorf("the call %v of %s succeeded and nothing ran", key, call.tool)
			}
		}
	}
	return nil
}

// state is what the kernel's tables tell of a session, as the reference has it too.
type state struct {
	Pending   []string
	Activity  string
	Suspended session.SuspendReason
	Location  string
	Agent     string
	Model     session.ModelRef
	Interrupt int64
	Resume    int64
	Requests  []string

	Title      string
	Archived   bool
	Compact    int64
	Compacting string
	Reverted   string
	Epoch      string
}

// tables compares what the kernel says of the sessions with the reference.
func (w *world) tables(ctx context.Context) error {
	for _, id := range w.history.order {
		p := w.history.sessions[id]
		want := state{Activity: p.activity, Suspended: p.suspended, Location: p.location, Agent: p.agent, Model: p.model,
			Interrupt: p.interrupt, Resume: p.resume, Title: p.title, Archived: p.archived, Compact: p.compact, Compacting: p.compacting}
		if p.staged != nil {
			want.Reverted = p.staged.Message
		}
		if p.epoch >= 0 {
			want.Epoch = epochText(p.epoch, p.told.baseline, p.told.snapshot)
		}
		for _, in := range p.pending {
			want.Pending = append(want.Pending, fmt.Sprintf("%s %s wake %d: %s", in.id, in.delivery, in.wake, in.text))
		}
		for _, r := range w.history.asked {
			if r.open && r.session == id {
				want.Requests = append(want.Requests, r.id)
			}
		}
		var has state
		err := w.host.log.View(ctx, func(tx store.Tx) (err error) {
			has, err = loadState(ctx, tx, id)
			return err
		})
		if err != nil {
			return err
		}
		slices.Sort(want.Requests)
		slices.Sort(has.Requests)
		if diff := cmp.Diff(want, has); diff != "" {
			return fmt.Errorf("%s (-reference +kernel):\n%s", id, diff)
		}
	}
	return nil
}

func loadState(ctx context.Context, tx store.Tx, id string) (has state, err error) {
	current, err := session.LoadSession(ctx, tx, id)
	if err != nil {
		return has, err
	}
	has.Location, has.Agent, has.Model = current.Location.Directory, current.Agent, current.Model
	has.Interrupt, has.Resume = current.Interrupt, current.Resume
	has.Title, has.Archived, has.Compact = current.Title, current.Archived != 0, current.Compact
	if current.Compacting != nil {
		has.Compacting = current.Compacting.Message
	}
	if current.Revert != nil {
		has.Reverted = current.Revert.Message
	}
	running, err := session.LoadEpoch(ctx, tx, id)
	if err == nil {
		has.Epoch = epochText(running.Seq, running.Baseline, running.Snapshot)
	} else if !errors.Is(err, session.ErrNotFound) {
		return has, err
	}
	pending, err := session.LoadPending(ctx, tx, id)
	if err != nil {
		return has, err
	}
	for _, in := range pending {
		has.Pending = append(has.Pending, fmt.Sprintf("%s %s wake %d: %s", in.ID, in.Delivery, in.Wake, in.Prompt.Text))
	}
	activity, err := session.LoadActivity(ctx, tx, id)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return has, err
	}
	has.Activity, has.Suspended = activity.ID, activity.Reason
	permissions, err := session.LoadPermissions(ctx, tx, id)
	if err != nil {
		return has, err
	}
	for _, permission := range permissions {
		has.Requests = append(has.Requests, permission.Request)
	}
	questions, err := session.LoadQuestions(ctx, tx, id)
	for _, question := range questions {
		has.Requests = append(has.Requests, question.Request)
	}
	return has, err
}

// rests holds that a session on which nothing works has nothing left to do.
func (w *world) rests(p *past) error {
	if w.host.coordinator.Running(p.id) {
		if p.activity == "" && len(p.open) > 0 {
			return fmt.Errorf("the answer %s is open", p.open)
		}
		return nil
	}
	switch {
	case p.compacting != "":
		return fmt.Errorf("the compaction %s has not come out", p.compacting)
	case p.activity == "":
		return w.idle(p)
	case p.suspended != session.SuspendedByAsk && p.suspended != session.SuspendedByDoubt:
		return fmt.Errorf("its activity is left behind, suspended %q", p.suspended)
	case !w.waitsForPerson(p):
		return fmt.Errorf("its activity is suspended by %s and nothing is asked", p.suspended)
	}
	for key, call := range p.calls {
		if call.settled == "" && key.message != p.open {
			return fmt.Errorf("the call %v of %s is left behind", key, call.tool)
		}
	}
	return nil
}

// idle holds that what asks for execution was served, or given up by a failure.
func (w *world) idle(p *past) error {
	if p.resume >= 0 {
		return fmt.Errorf("the resume at %d is not served", p.resume)
	}
	if p.compact >= 0 && (p.ended.Outcome == session.Completed || p.compact > p.endedAt) {
		return fmt.Errorf("the compaction asked for at %d is not made", p.compact)
	}
	for _, in := range p.pending {
		if in.wake > p.interrupt && (p.ended.Outcome == session.Completed || in.wake > p.endedAt) {
			return fmt.Errorf("%s asks for execution since %d and waits; the last activity ended %s at %d", in.id, in.wake, p.ended.Outcome, p.endedAt)
		}
	}
	return w.history.closed(p)
}

func (w *world) waitsForPerson(p *past) bool {
	return slices.ContainsFunc(w.history.asked, func(r *request) bool { return r.open && r.session == p.id })
}
