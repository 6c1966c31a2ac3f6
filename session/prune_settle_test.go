package session_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// settling is the execution of a session whose drain has not gone yet.
type settling struct {
	session.Execution
	running bool
	settle  func(ctx context.Context) error
}

func (s *settling) Running(string) bool { return s.running }

func (s *settling) Settle(ctx context.Context, _ string) error {
	err := s.settle(ctx)
	s.running = err != nil
	return err
}

// A drain that has nothing left to do is waited for, not refused; and not for ever.
func TestAPruningWaitsForADrainThatIsEnding(t *testing.T) {
	r := newLifeRig(t, "")
	id := r.talked()
	execution := &settling{running: true, settle: func(ctx context.Context) error {
		if end, bounded := ctx.Deadline(); !bounded || time.Until(end) > 5*time.Second {
			t.Errorf("it would wait until %v", end)
		}
		return context.DeadlineExceeded
	}}
	sessions := session.NewSessions(r.Log, r.Encoder, nil, execution, session.SessionOptions{})
	if _, err := sessions.Prune(t.Context(), session.System(), id); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a drain that stays: %v", err)
	}
	execution.settle = func(context.Context) error { return nil }
	if pruning, err := sessions.Prune(t.Context(), session.System(), id); err != nil || !pruning.Pruned {
		t.Errorf("a drain that goes: %+v, %v", pruning, err)
	}
	// One that works is not waited for.
	for _, payload := range []session.Payload{session.CompactionRequested{}, session.ActivityStarted{Activity: "act_1", Opener: session.OpenedByPrompt}} {
		id := r.talked()
		r.put(id, payload)
		execution.running, execution.settle = true, func(context.Context) error {
			t.Errorf("%T is waited for", payload)
			return nil
		}
		_, err := sessions.Prune(t.Context(), session.System(), id)
		if _, is := errors.AsType[*session.ConflictError](err); !is {
			t.Errorf("%T: %v", payload, err)
		}
	}
}

// Who reads a session's events to an end is left to come to it, and not for ever.
func TestAPruningLeavesReadersTheirEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLifeRig(t, "")
		for _, hangs := range []bool{false, true} {
			id := r.talked()
			done := r.Sessions.Reading(id)
			began, pruned := time.Now(), make(chan error, 1)
			go func() {
				_, err := r.Sessions.Prune(t.Context(), session.System(), id)
				pruned <- err
			}()
			synctest.Wait()
			if page, err := r.Log.Read(t.Context(), id, -1, 1); err != nil || len(page.Events) != 1 {
				t.Errorf("while somebody reads: %d events, %v", len(page.Events), err)
			}
			if !hangs {
				done()
			}
			if err := <-pruned; err != nil {
				t.Error(err)
			}
			if took := time.Since(began); hangs && took != 5*time.Second || !hangs && took != 0 {
				t.Errorf("after %v", took)
			}
			if _, err := r.Log.Read(t.Context(), id, -1, 1); !errors.Is(err, store.ErrPruned) {
				t.Errorf("after it: %v", err)
			}
			if hangs {
				done()
			}
		}
	})
}
