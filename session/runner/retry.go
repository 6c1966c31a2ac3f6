package runner

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/plinthhost/plinth/session"
)

// Waits before a retry: the first one doubles each time up to the longest.
const (
	firstWait   = time.Second
	longestWait = 30 * time.Second
)

// attempts runs the turn until it has an outcome. A provider that fails before any
// output is tried again with the same request, a few times.
func (t *turn) attempts(ctx context.Context, a *activity) (*turnResult, error) {
	for attempt := 1; ; attempt++ {
		if attempt > 1 {
			t.beginning.Attempt = attempt
			switch err := t.append(ctx, t.beginning); {
			case errors.Is(err, session.ErrMoved):
				return &turnResult{again: true}, nil // the next turn works there
			case err != nil:
				return nil, err
			}
			t.answer = nil
		}
		result := t.run(ctx)
		wait, again := t.retry(result.silent, attempt)
		if !again {
			return result, nil
		}
		at := t.Encoder.Clock.Now().Add(wait)
		if err := t.append(ctx, session.RetryScheduled{Activity: a.id, Turn: t.beginning.Turn, Attempt: attempt + 1,
			At: at.UnixMilli(), Error: *result.failure}); err != nil {
			return nil, err
		}
		t.Logger.Info("provider turn is tried again", "session", t.session, "attempt", attempt+1, "wait", wait, "error", result.silent)
		if stopped := t.await(ctx, wait); stopped != nil {
			return stopped, nil
		}
	}
}

// retry answers how long to wait before the next attempt, and whether there is one.
// What the provider asks for is honoured; jitter keeps sessions apart.
func (t *turn) retry(err error, attempt int) (wait time.Duration, again bool) {
	failed, ok := errors.AsType[*session.ProviderError](err)
	if !ok || attempt > t.config.Retries || !retryable(failed) {
		return 0, false
	}
	if failed.RetryAfter > 0 {
		return failed.RetryAfter, failed.RetryAfter <= t.config.MaxRetryWait
	}
	wait = min(firstWait<<(attempt-1), longestWait)
	return wait - time.Duration(rand.Int64N(int64(wait)/4)), true //nolint:gosec // jitter, no secret
}

// retryable reports whether the same request may succeed. One that is too large never
// does, whatever the provider says.
func retryable(err *session.ProviderError) bool {
	switch err.Class {
	case session.ProviderContextOverflow:
		return false
	case session.ProviderRateLimit, session.ProviderOverloaded, session.ProviderInternal, session.ProviderTransport, session.ProviderIncomplete:
		return true
	}
	return err.Retryable
}

// await waits for the next attempt, or answers how the turn ends instead.
func (t *turn) await(ctx context.Context, wait time.Duration) *turnResult {
	switch err := t.pause(ctx, wait); {
	case err == nil:
		return nil
	case context.Cause(ctx) == nil:
		return &turnResult{parked: session.SuspendedByShutdown}
	}
	failure, outcome := failureOf(ctx, context.Cause(ctx))
	result := &turnResult{failure: failure, outcome: outcome}
	if failure.Code == session.FailureShutdown {
		result.parked = session.SuspendedByShutdown
	}
	return result
}

// pause waits, or answers what ends the wait: the cause of ctx, or ErrShutdown when the
// host asks drains to park.
func (d *drain) pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-d.work.Parking():
		return session.ErrShutdown
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
