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
var errDeclined = errors.New("a permission was declined")

// activity runs provider turns until nothing asks for another.
func (d *drain) activity(ctx context.Context, opener session.Opener, promote promotion) error {
	id := d.Encoder.IDs.New(session.PrefixActivity)
	for number := 1; ; number++ {
		t, err := d.boundary(ctx, id, opener, number, promote)
		if err != nil {
			return d.abandon(ctx, id, number, err)
		}
		again, err := d.take(ctx, id, number, t)
		if !again {
			return err
		}
		promote = promoteSteers
	}
}

// take runs one turn to its recorded end and says whether another follows.
func (d *drain) take(ctx context.Context, id string, number int, t *turn) (again bool, err error) {
	defer t.endLive()
	result := t.run(ctx)
	t.pin.Release()
	if result.err != nil {
		return false, result.err
	}
	again, ended, err := d.next(ctx, id, number, result)
	if err != nil {
		return false, err
	}
	if err := d.append(ctx, append(result.closing, ended...)...); err != nil {
		return false, err
	}
	return again, result.stop()
}

// next decides whether the activity goes on after a turn, and with which event it
// ends if not.
func (d *drain) next(ctx context.Context, id string, number int, result *turnResult) (again bool, ended []session.Payload, err error) {
	if result.failure != nil {
		return false, []session.Payload{session.ActivityEnded{Activity: id, Outcome: result.outcome, Error: result.failure}}, nil
	}
	if result.again && d.config.MaxTurns > 0 && number >= d.config.MaxTurns {
		result.outcome = session.Failed
		result.failure = &session.Failure{Code: session.FailureMaxTurns, Message: fmt.Sprintf(
			"The activity took %d provider turns and asks for more; raise runner.max_turns, or resume to go on", d.config.MaxTurns)}
		return false, []session.Payload{session.ActivityEnded{Activity: id, Outcome: session.Failed, Error: result.failure}}, nil
	}
	again = result.again
	if !again && (d.config.MaxTurns == 0 || number < d.config.MaxTurns) {
		_, pending, err := d.state(context.WithoutCancel(ctx))
		if err != nil {
			return false, nil, err
		}
		again = promotionOf(pending) == promoteSteers
	}
	if again {
		return true, nil, nil
	}
	return false, []session.Payload{session.ActivityEnded{Activity: id, Outcome: session.Completed}}, nil
}

// abandon ends an activity whose next boundary could not be reached. The first
// boundary records its own failures, because nothing stands before it.
func (d *drain) abandon(ctx context.Context, id string, number int, err error) error {
	if recorded, ok := errors.AsType[*recordedError](err); ok {
		return recorded.err
	}
	if number == 1 {
		return err
	}
	failure, outcome := failureOf(ctx, err)
	if appendErr := d.append(ctx, session.ActivityEnded{Activity: id, Outcome: outcome, Error: failure}); appendErr != nil {
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
		return &session.Failure{Code: session.FailureShutdown, Message: "The host was shut down; resume to go on"}, session.Interrupted
	case cause != nil:
		return &session.Failure{Code: session.FailureInterrupted, Message: "Provider turn interrupted"}, session.Interrupted
	case errors.Is(err, errDeclined):
		return &session.Failure{Code: session.FailureDeclined, Message: "A permission was declined"}, session.Halted
	}
	if failure, ok := errors.AsType[*session.Failure](err); ok {
		return failure, session.Failed
	}
	if provider, ok := errors.AsType[*session.ProviderError](err); ok {
		return &session.Failure{Code: provider.Class, Message: provider.Message, Status: provider.Status, Retryable: provider.Retryable}, session.Failed
	}
	return &session.Failure{Code: session.FailureInternal, Message: "The host failed: " + err.Error()}, session.Failed
}
