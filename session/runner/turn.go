package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// maxSeq stands for the sequence of what is not appended yet: after everything.
const maxSeq = math.MaxInt64

// turn is one provider request, its answer and the tools it calls.
type turn struct {
	*drain
	current  session.Session
	pin      *registry.Pin
	provider session.Provider
	request  session.ModelRequest
	tools    map[string]toolEntry

	answer *answer
	calls  sync.WaitGroup
	slots  chan struct{} // one per tool that runs
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	broken error // the first settlement that could not be recorded
}

// turnResult is how a turn came out. The closing events are not appended yet, so
// that the activity's end can be part of the same append.
type turnResult struct {
	closing []session.Payload
	again   bool // the model waits for tool results
	failure *session.Failure
	outcome session.Outcome
	err     error // the log could not be written; nothing more can be recorded
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

func newTurn(d *drain, current session.Session, pin *registry.Pin, provider session.Provider, request session.ModelRequest, tools []toolEntry) *turn {
	t := &turn{drain: d, current: current, pin: pin, provider: provider, request: request,
		tools: make(map[string]toolEntry, len(tools)), slots: make(chan struct{}, d.config.MaxParallelTools)}
	for _, entry := range tools {
		t.tools[entry.Name] = entry
	}
	t.answer = newAnswer(t)
	return t
}

// run makes the request and waits for everything it starts.
func (t *turn) run(ctx context.Context) *turnResult {
	turnCtx, cancel := context.WithCancelCause(ctx)
	t.cancel = cancel
	defer cancel(nil)
	err := t.stream(turnCtx)
	if err != nil && t.recordable() != nil {
		cancel(err) // nothing more can be recorded, so nothing more may happen
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

// stream consumes the model's answer. It stops at the first error.
func (t *turn) stream(ctx context.Context) error {
	for event, err := range t.provider.Stream(ctx, t.request) {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
		if err := t.answer.take(ctx, event); err != nil {
			return err
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if !t.answer.finished {
		return &session.ProviderError{Class: session.ProviderIncomplete, Retryable: true,
			Message: "The provider's answer ended without saying that it is complete"}
	}
	return nil
}

// result closes the step with what arrived. An interrupt before the first output
// leaves no message.
func (t *turn) result(ctx context.Context, err error) *turnResult {
	shown := t.answer.started
	facts := t.answer.close()
	if err == nil {
		closing := append(facts, session.StepEnded{Message: t.answer.message, Finish: t.answer.finish, Usage: &t.answer.usage})
		return &turnResult{closing: closing, again: t.answer.called}
	}
	failure, outcome := failureOf(ctx, err)
	if outcome == session.Interrupted && !shown {
		return &turnResult{failure: failure, outcome: outcome}
	}
	closing := append(facts, session.StepFailed{Message: t.answer.message, Error: *failure})
	return &turnResult{closing: closing, failure: failure, outcome: outcome}
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

// endLive takes the turn's parts off the live state: what they hold is recorded.
func (t *turn) endLive() { t.answer.endLive() }
