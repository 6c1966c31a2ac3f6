package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/epoch"
	"github.com/plinthhost/plinth/session/schema"
)

// turn is one provider request, its answer and the tools it calls.
type turn struct {
	*drain
	activity *activity
	pin      *registry.Pin

	// What was sampled at the boundary.
	current     session.Session
	lineage     []session.Session // current and its ancestors
	agents      *session.Agents   // of the session's place
	agent       session.Agent
	model       session.ModelInfo
	provider    session.Provider
	prompt      session.Prompt // the last one of a person
	history     []session.Message
	tools       map[string]toolEntry
	definitions []session.ToolDefinition
	format      *schema.Schema // of a structured answer, nil for none
	last        bool           // the agent's last step: no tools run
	before      string         // snapshot of the files, empty for none; see filesBefore
	captured    chan struct{}  // closed when before is known; nil when nobody looks
	request     session.ModelRequest
	beginning   session.TurnStarted
	observed    []epoch.Observed
	outcome     epoch.Outcome // of observed; zero when the epoch began with it

	answer *answer
	called []toolRun // of local tools, in order
	calls  sync.WaitGroup
	slots  chan struct{} // one per tool that runs
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	broken    error // the first settlement that could not be recorded
	held      bool  // a call waits for a person and outlives this process
	formatted bool  // the structured answer was given
	// misformatted: one was given that does not fit.
	misformatted bool
	// directories are those that tools read in, as far as the session remembers them.
	directories map[string]bool
	crowded     bool // there are more than it remembers
}

// turnResult is how a turn came out. The closing events are not appended yet, so
// that the activity's next step can be part of the same append.
type turnResult struct {
	closing []session.Payload
	again   bool // the model waits for tool results
	failure *session.Failure
	outcome session.Outcome
	parked  session.SuspendReason // the activity is left to another drain
	silent  error                 // the provider's failure before any output
	err     error                 // the log could not be written; nothing more can be recorded
}

// stop is the error a drain ends with after this turn, nil when it may go on.
func (r *turnResult) stop() error {
	switch {
	case r.failure == nil:
		return nil
	case r.failure.Code == session.FailureShutdown:
		return session.ErrShutdown
	case r.outcome == session.Interrupted || r.outcome == session.Halted:
		return session.ErrInterrupted
	}
	return r.failure
}

// run makes the request and waits for everything it starts.
func (t *turn) run(ctx context.Context) *turnResult {
	turnCtx, cancel := t.begin(ctx)
	defer cancel(nil)
	err := t.stream(turnCtx)
	return t.finish(ctx, turnCtx, err)
}

// begin readies the turn for an answer.
func (t *turn) begin(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	turnCtx, cancel := context.WithCancelCause(ctx)
	t.cancel = cancel
	t.slots = make(chan struct{}, t.config.MaxParallelTools)
	if t.answer == nil || t.answer.finished {
		t.answer = newAnswer(t)
	}
	return turnCtx, cancel
}

// finish waits for the calls, also when the provider failed: what they did is
// recorded.
func (t *turn) finish(ctx, turnCtx context.Context, err error) *turnResult {
	if err != nil && t.recordable() != nil {
		t.cancel(err) // nothing more can be recorded, so nothing more may happen
	}
	t.calls.Wait()
	if broken := t.recordable(); broken != nil {
		return &turnResult{err: broken}
	}
	if cause := context.Cause(turnCtx); cause != nil && (err == nil || errors.Is(cause, errDeclined)) {
		err = cause
	}
	return t.result(ctx, err)
}

// stream consumes the model's answer.
func (t *turn) stream(ctx context.Context) error {
	if err := t.receive(ctx, t.answer.take); err != nil {
		return err
	}
	if !t.answer.finished {
		return unfinished()
	}
	return nil
}

// unfinished is a stream that ended without a finish.
func unfinished() error {
	return &session.ProviderError{Class: session.ProviderIncomplete, Retryable: true,
		Message: "The provider's answer ended without saying that it is complete"}
}

// receive makes the request and hands over each event of the answer. It stops at the
// first error, or when the provider is silent for too long. A provider that panics has
// failed.
func (t *turn) receive(ctx context.Context, take func(context.Context, session.ModelEvent) error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			t.Logger.Error("provider panicked", "provider", t.current.Model.Provider, "session", t.session, "panic", broken, "stack", string(debug.Stack()))
			err = &session.ProviderError{Class: session.ProviderUnknown, Message: fmt.Sprintf(
				"The provider %s broke; the host's log has the reason", t.current.Model.Provider)}
		}
	}()
	watched, watchdog := t.watch(ctx) // the request's; tools go on beyond it
	defer watchdog.stop()
	for event, err := range t.provider.Stream(watched, t.request) {
		watchdog.pause()
		if cause := context.Cause(watched); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
		if err := take(ctx, event); err != nil {
			return err
		}
		watchdog.resume()
	}
	return context.Cause(watched)
}

// result closes the step with what arrived. An interrupt before the first output
// leaves no message, and an empty answer none either.
func (t *turn) result(ctx context.Context, err error) *turnResult {
	a := t.answer
	cost := t.cost()
	switch {
	case t.heldNow():
		return &turnResult{closing: a.close(), parked: session.SuspendedByAsk}
	case err == nil && a.empty():
		return &turnResult{}
	case err == nil:
		a.begin()
		ended := session.StepEnded{Message: a.message, Finish: a.finish, Usage: a.usage, Cost: cost}
		ended.Snapshot, ended.Files = t.changes(ctx)
		return &turnResult{closing: append(a.close(), ended), again: a.called && !t.formatted && !t.last}
	}
	failure, outcome := failureOf(ctx, err)
	if outcome == session.Interrupted && !a.started {
		result := &turnResult{failure: failure, outcome: outcome}
		if failure.Code == session.FailureShutdown {
			result.parked = session.SuspendedByShutdown
		}
		return result
	}
	silent := !a.started
	a.begin()
	failed := session.StepFailed{Message: a.message, Error: *failure, Usage: a.usage, Cost: cost}
	failed.Snapshot, failed.Files = t.changes(ctx)
	closing := append(a.close(), failed)
	result := &turnResult{closing: closing, failure: failure, outcome: outcome}
	switch {
	case failure.Code == session.FailureShutdown:
		result.parked = session.SuspendedByShutdown
	case silent:
		result.silent = err
	}
	return result
}

// cost is what the answer cost in nano-dollars, nil when that is not known.
func (t *turn) cost() *int64 {
	if t.answer.usage == nil {
		return nil
	}
	return t.model.Cost(*t.answer.usage)
}

// record appends facts of the turn. After one failure nothing is recorded.
func (t *turn) record(ctx context.Context, payloads ...session.Payload) error {
	if err := t.recordable(); err != nil {
		return err
	}
	err := t.append(ctx, payloads...)
	if err != nil {
		t.mu.Lock()
		t.broken = errors.Join(t.broken, err)
		t.mu.Unlock()
		t.cancel(fmt.Errorf("record: %w", err))
	}
	return err
}

func (t *turn) recordable() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broken
}

func (t *turn) heldNow() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held
}

// release takes the turn's parts off the live state, because what they hold is
// recorded, and lets the pinned revisions go.
func (t *turn) release() {
	if t.captured != nil {
		<-t.captured
	}
	if t.answer != nil {
		t.answer.endLive()
	}
	t.pin.Release()
}
