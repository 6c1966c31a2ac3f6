package main

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

const (
	sessions = 20 // at work at a time
	calls    = 10 // of a turn; the last waits for a person
	turns    = 3  // of a session, with calls; then one without
)

// caller is a provider whose every answer calls the tool, with its stream open until the
// calls are under way, and that is satisfied after some turns.
type caller struct{}

// Stream yields an answer.
func (caller) Stream(ctx context.Context, request session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	asked := 0
	for _, message := range request.Messages {
		if message.Role == session.RoleAssistant {
			asked++
		}
	}
	return func(yield func(session.ModelEvent, error) bool) {
		if asked >= turns {
			_ = yield(session.ModelEvent{Type: session.EventTextDelta, ID: "text-0", Text: "Done."}, nil) &&
				yield(session.ModelEvent{Type: session.EventFinish, Reason: session.FinishStop}, nil)
			return
		}
		for i := range calls {
			if i == calls/2 && !pause(ctx) {
				return
			}
			input := fmt.Sprintf(`{"n":%d}`, asked*calls+i)
			if i == calls-1 {
				input = fmt.Sprintf(`{"n":%d,"ask":"%c"}`, asked*calls+i, person)
			}
			id := fmt.Sprint("call-", i)
			for _, event := range []session.ModelEvent{{Type: session.EventToolStart, ID: id, Name: tool}, {Type: session.EventToolDelta, ID: id, Text: input},
				{Type: session.EventToolEnd, ID: id}} {
				if !yield(event, nil) {
					return
				}
			}
		}
		if pause(ctx) {
			yield(session.ModelEvent{Type: session.EventFinish, Reason: session.FinishToolCalls}, nil)
		}
	}
}

// pause keeps a stream open for a while.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(15 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// load is sessions at work, and what their logs say of it.
type load struct {
	kernel *kernel
	stop   atomic.Bool
	group  *errgroup.Group
	failed <-chan struct{} // closed when a session cannot go on; finish says why

	mu    sync.Mutex
	tally tally
}

// tally is what the logs of sessions come to.
type tally struct {
	sessions     int
	calls        int
	asked        int // of a person
	failed       int // calls that failed, or never ended
	doubled      int // calls that ended more than once
	inconsistent int // turns whose calls are of more than one revision
	unnamed      int // results that say another version than their revision is of
	err          error
	said         map[[2]string]bool // revisions with the versions they said
}

// begin has the sessions work until finish.
func (k *kernel) begin(ctx context.Context) *load {
	l := &load{kernel: k, tally: tally{said: map[[2]string]bool{}}}
	l.group, ctx = errgroup.WithContext(ctx)
	l.failed = ctx.Done()
	answering, end := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Add(sessions)
	for range sessions {
		l.group.Go(func() error {
			defer working.Done()
			for !l.stop.Load() {
				events, err := k.turn(ctx)
				if err != nil {
					return err
				}
				if err := l.count(events); err != nil {
					return err
				}
			}
			return nil
		})
	}
	l.group.Go(func() error { return k.answer(answering) })
	l.group.Go(func() error { working.Wait(); end(); return nil }) // the person stays while somebody may ask
	return l
}

// await waits until so many sessions have worked through their turns.
func (l *load) await(n int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		l.mu.Lock()
		done := l.tally.sessions
		l.mu.Unlock()
		if done >= n {
			return
		}
		select {
		case <-tick.C:
		case <-l.failed:
			return
		}
	}
}

// finish lets the sessions come to their ends and answers what they did.
func (l *load) finish() (tally, error) {
	l.stop.Store(true)
	err := l.group.Wait()
	return l.tally, err
}

// answer is the person: every question is answered when it has been open for a while.
func (k *kernel) answer(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	seen := map[string]bool{}
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		open, err := k.permissions.Questions(ctx, "")
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		now := map[string]bool{}
		for _, question := range open {
			if now[question.Request] = true; !seen[question.Request] {
				continue
			}
			if _, err := k.permissions.Answer(ctx, session.System(), question.Request, [][]string{{"yes"}}); err != nil && ctx.Err() == nil {
				return fmt.Errorf("answer a question: %w", err)
			}
		}
		seen = now
	}
}

// count adds what a session's log says.
func (l *load) count(events []store.Event) error {
	ended, turnOf := map[[2]string]int{}, map[string]string{}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.tally
	t.sessions++
	mixed := map[string]bool{}
	settled := func(message, call, revision string) {
		if ended[[2]string{message, call}]++; ended[[2]string{message, call}] > 1 {
			t.doubled++
		}
		if before, ok := turnOf[message]; ok && before != revision {
			mixed[message] = true
		}
		turnOf[message] = revision
	}
	for _, event := range events {
		payload, err := session.Decode(event)
		if err != nil {
			return err
		}
		switch e := payload.(type) {
		case session.ToolCalled:
			t.calls++
			ended[[2]string{e.Message, e.Call}] += 0
			turnOf[e.Message] = e.Revision
		case session.ToolSucceeded:
			settled(e.Message, e.Call, e.Revision)
			if len(e.Content) != 1 {
				t.unnamed++
				break
			}
			t.said[[2]string{e.Revision, e.Content[0].Text}] = true
		case session.ToolFailed:
			settled(e.Message, e.Call, e.Revision)
			t.failed++
			t.err = fmt.Errorf("a call of %s: %s: %s", event.Aggregate, e.Error.Kind, e.Error.Message)
		case session.QuestionAsked:
			t.asked++
		}
	}
	for _, times := range ended {
		if times == 0 {
			t.failed++
		}
	}
	t.inconsistent += len(mixed)
	return nil
}
