package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/session"
)

// promotion is which pending prompts a boundary makes visible.
type promotion int

const (
	promoteNothing promotion = iota
	promoteSteers            // all that are pending now
	promoteQueue             // the oldest queued one, then the steers
)

func promotionOf(pending []session.Input) promotion {
	kind := promoteNothing
	for _, input := range pending {
		if input.Delivery == session.Steer {
			return promoteSteers
		}
		kind = promoteQueue
	}
	return kind
}

// errDeclined is the cause of a turn that a person's refusal ends.
var errDeclined = errors.New("a person declined")

// activity is what one activity is about to do and has done.
type activity struct {
	id      string
	opener  session.Opener
	promote promotion
	started bool // its start is recorded
	turns   int  // provider turns so far
	steps   int  // of them since the last promotion
	// reminders is how often the model was reminded of a structured answer.
	reminders int
	// relief is what was done since the last answer to make room for the next request.
	relief relief
	// allowed are the budgets that a person has let it exceed.
	allowed map[allowance]bool
}

func newActivity(d *drain, opener session.Opener, promote promotion) *activity {
	return &activity{id: d.Encoder.IDs.New(session.PrefixActivity), opener: opener, promote: promote, allowed: map[allowance]bool{}}
}

// continued is an activity that another drain began.
func continued(a session.Activity) *activity {
	return &activity{id: a.ID, opener: a.Opener, promote: promoteSteers, started: true, turns: a.Turns, steps: a.Steps,
		allowed: map[allowance]bool{}}
}

// activity runs provider turns until nothing asks for another.
func (d *drain) activity(ctx context.Context, a *activity) error {
	for {
		if d.parked() && a.started {
			return d.suspend(ctx, a, session.SuspendedByShutdown)
		}
		t, err := d.boundary(ctx, a)
		if err != nil {
			return d.abandon(ctx, a, err)
		}
		a.turns++
		again, err := d.take(ctx, a, t)
		if !again {
			return err
		}
		a.promote = promoteSteers
	}
}

// suspend leaves the activity to the next host, or to the answer that it waits for.
func (d *drain) suspend(ctx context.Context, a *activity, reason session.SuspendReason) error {
	if err := d.append(ctx, session.ActivitySuspended{Activity: a.id, Reason: reason}); err != nil {
		return err
	}
	return session.ErrShutdown
}

// take runs one turn to its recorded end and says whether another follows.
func (d *drain) take(ctx context.Context, a *activity, t *turn) (again bool, err error) {
	defer t.release()
	result, err := t.attempts(ctx, a)
	if err != nil {
		return false, err
	}
	if tooLarge(result) {
		if result, err = t.recover(ctx, a, result); err != nil {
			return false, d.abandon(ctx, a, err)
		}
	} else {
		a.relief = relief{futile: a.relief.futile}
	}
	return d.conclude(ctx, a, t, result)
}

// conclude records a turn's end together with what follows from it for the activity.
func (d *drain) conclude(ctx context.Context, a *activity, t *turn, result *turnResult) (again bool, err error) {
	if result.err != nil {
		return false, result.err
	}
	if result.parked != "" {
		suspended := session.ActivitySuspended{Activity: a.id, Reason: result.parked}
		if err := d.append(ctx, append(result.closing, suspended)...); err != nil {
			return false, err
		}
		return false, session.ErrShutdown
	}
	again, following, err := d.next(ctx, a, t, result)
	if err != nil {
		return false, err
	}
	if err := d.append(ctx, append(result.closing, following...)...); err != nil {
		return false, err
	}
	if !again && result.outcome == session.Completed && d.Completed != nil {
		d.Completed(d.session)
	}
	return again, result.stop()
}

// next decides whether the activity goes on after a turn, and what is recorded with
// the turn's end.
func (d *drain) next(ctx context.Context, a *activity, t *turn, result *turnResult) (again bool, following []session.Payload, err error) {
	ended := func() (bool, []session.Payload, error) {
		following = append(following, d.changed(ctx, a, result.closing)...)
		return false, append(following, session.ActivityEnded{Activity: a.id, Outcome: result.outcome, Error: result.failure}), nil
	}
	if result.failure != nil {
		return ended()
	}
	again = result.again
	switch reminder, failure := t.remind(a); {
	case failure != nil:
		result.outcome, result.failure = session.Failed, failure
		return ended()
	case reminder != nil:
		following, again = append(following, reminder), true
	}
	if again && d.config.MaxTurns > 0 && a.turns >= d.config.MaxTurns {
		result.outcome, result.failure = session.Failed, &session.Failure{Code: session.FailureMaxTurns, Message: fmt.Sprintf(
			"The activity took %d provider turns and asks for more; raise runner.max_turns, or resume to go on", d.config.MaxTurns)}
		return ended()
	}
	if !again && (d.config.MaxTurns == 0 || a.turns < d.config.MaxTurns) {
		s, err := d.state(context.WithoutCancel(ctx))
		if err != nil {
			return false, nil, err
		}
		again = promotionOf(s.pending) == promoteSteers
	}
	if again {
		return true, following, nil
	}
	result.outcome = session.Completed
	return ended()
}

// abandon ends an activity whose next boundary could not be reached. The first
// boundary records its own failures, because nothing stands before it.
func (d *drain) abandon(ctx context.Context, a *activity, err error) error {
	if recorded, ok := errors.AsType[*recordedError](err); ok {
		return recorded.err
	}
	if !a.started {
		if !undecodable(err) {
			return err
		}
		if err := d.append(ctx, session.ActivityStarted{Activity: a.id, Opener: a.opener}); err != nil {
			return err
		}
	}
	if errors.Is(context.Cause(ctx), session.ErrShutdown) || errors.Is(err, session.ErrShutdown) {
		return d.suspend(ctx, a, session.SuspendedByShutdown)
	}
	failure, outcome := failureOf(ctx, err)
	ended := append(d.changed(ctx, a, nil), session.ActivityEnded{Activity: a.id, Outcome: outcome, Error: failure})
	if appendErr := d.append(ctx, ended...); appendErr != nil {
		return errors.Join(err, appendErr)
	}
	return err
}

// recordedError is a failure whose events are in the log already.
type recordedError struct{ err error }

func (e *recordedError) Error() string { return e.err.Error() }
func (e *recordedError) Unwrap() error { return e.err }

// failureOf says what an error was, for the log.
func failureOf(ctx context.Context, err error) (*session.Failure, session.Outcome) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, session.ErrShutdown):
		return &session.Failure{Code: session.FailureShutdown, Message: "The host was shut down; the next one goes on"}, session.Interrupted
	case cause != nil:
		return &session.Failure{Code: session.FailureInterrupted, Message: "Provider turn interrupted"}, session.Interrupted
	case errors.Is(err, errDeclined):
		return &session.Failure{Code: session.FailureDeclined, Message: "A person declined; prompt or resume to go on"}, session.Halted
	}
	if failure, ok := errors.AsType[*session.Failure](err); ok {
		return failure, session.Failed
	}
	if provider, ok := errors.AsType[*session.ProviderError](err); ok {
		return &session.Failure{Code: provider.Class, Message: provider.Message, Status: provider.Status, Retryable: provider.Retryable}, session.Failed
	}
	if undecodable(err) {
		return &session.Failure{Code: session.FailureUndecodable, Message: err.Error()}, session.Failed
	}
	return &session.Failure{Code: session.FailureInternal, Message: "The host failed: " + err.Error()}, session.Failed
}

func undecodable(err error) bool {
	_, message := errors.AsType[*session.MessageDecodeError](err)
	_, snapshot := errors.AsType[*session.SnapshotDecodeError](err)
	return message || snapshot
}
