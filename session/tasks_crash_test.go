package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// resume does what a host does when it starts: it settles what died, goes on with the
// tasks and wakes who has work.
func (r *taskRig) resume() {
	r.T.Helper()
	for _, id := range seen(r, session.LoadRunning) {
		again, err := r.Runner.Recover(r.T.Context(), id)
		if err != nil {
			r.T.Fatal(err)
		}
		if again {
			defer r.Coordinator.Wake(id, 0)
		}
	}
	if err := r.tasks.Start(r.T.Context()); err != nil {
		r.T.Fatal(err)
	}
	for _, id := range seen(r, session.LoadWoken) {
		r.Coordinator.Wake(id, 0)
	}
}

// feed answers everything that is in the log.
func (r *taskRig) feed() []store.Event {
	r.T.Helper()
	page, err := r.Log.Feed(context.WithoutCancel(r.T.Context()), 0, 10_000)
	if err != nil {
		r.T.Fatal(err)
	}
	return page.Events
}

// replayed is a rig whose log holds the events and nothing else: what a process leaves
// that died there.
func replayed(t *testing.T, events []store.Event, play func(session.ModelRequest) sessiontest.Turn) *taskRig {
	t.Helper()
	r := newTaskRig(t, "", play)
	for len(events) > 0 {
		n := 1 // as many as are of one session
		for n < len(events) && events[n].Aggregate == events[0].Aggregate {
			n++
		}
		if err := r.Log.Replay(t.Context(), events[:n], store.ReplayOptions{}); err != nil {
			t.Fatal(err)
		}
		events = events[n:]
	}
	return r
}

// Wherever a host dies, the next one ends the task exactly once, and a task in the
// background delivers exactly one result.
func TestATaskSurvivesADeathAtEveryEvent(t *testing.T) {
	for _, background := range []bool{false, true} {
		play := parentAndChild(background, sessiontest.Say("seen"))
		whole := newTaskRig(t, "", play)
		parent := whole.Create()
		whole.Prompt(parent, "go", session.Steer)
		whole.Await(parent, session.TaskEnded{}.EventType(), 1)
		whole.Settled(parent, 1)
		events := whole.feed()
		for n := 1; n <= len(events); n++ {
			if background && events[n-1].Type == "session.task.ended" {
				continue // one append with the result, so nobody dies between the two
			}
			t.Run(fmt.Sprintf("background %v, %02d %s", background, n, events[n-1].Type), func(t *testing.T) {
				t.Parallel()
				diedAt(t, parent, background, events[:n], play)
			})
		}
	}
}

func diedAt(t *testing.T, parent string, background bool, events []store.Event, play func(session.ModelRequest) sessiontest.Turn) {
	r := replayed(t, events, play)
	started := payloads[session.TaskStarted](r, parent)
	r.resume()
	if len(started) > 0 {
		r.Await(parent, session.TaskEnded{}.EventType(), 1)
	}
	r.tasks.Close()
	r.Coordinator.Close(0)

	next := replayed(t, r.feed(), play) // a second death, right after
	next.resume()
	next.tasks.Close()
	next.Coordinator.Close(0)
	for _, r := range []*taskRig{r, next} {
		given := payloads[session.TaskStarted](r, parent)
		wanted := 0
		if background {
			wanted = len(given)
		}
		if texts := r.delivered(parent); len(texts) != wanted {
			t.Errorf("delivered %q of %d tasks", texts, len(given))
		}
		if len(started) == 0 {
			continue // the task, if any, was given after the death and needs none of this
		}
		if ended := payloads[session.TaskEnded](r, parent); len(ended) != len(given) {
			t.Errorf("%d tasks ended as %+v", len(given), ended)
		}
		if left := r.running(parent); len(left) != 0 {
			t.Errorf("still running: %+v", left)
		}
	}
}

// The child ends while nobody follows it, and the host goes; the next one delivers.
func TestAResultThatNobodyFollowedIsDelivered(t *testing.T) {
	reached, open := make(chan struct{}, 1), make(chan struct{})
	play := parentAndChild(true, sessiontest.Then(sessiontest.Gate(reached, open), sessiontest.Say("seen")))
	r := newTaskRig(t, "", play)
	parent := r.Create()
	r.Prompt(parent, "go", session.Steer)
	<-reached
	r.Settled(parent, 1)
	r.tasks.Close()
	close(open)
	r.Settled(payloads[session.TaskStarted](r, parent)[0].Session, 1)
	if texts := r.delivered(parent); len(texts) != 0 {
		t.Fatalf("delivered %q after Close", texts)
	}
	r.Close()

	next := newTaskRig(t, r.Dir, play)
	next.resume()
	next.Settled(parent, 2)
	if err := next.tasks.Start(t.Context()); err != nil { // again
		t.Fatal(err)
	}
	if texts := next.delivered(parent); len(texts) != 1 || !strings.Contains(texts[0], "is completed. Its last answer:\n\nseen") {
		t.Errorf("delivered %q", texts)
	}
}

// A shutdown parks the child by itself. The call is over, so the next host abandons
// its task.
func TestAShutdownLeavesTheChildToTheNextHost(t *testing.T) {
	reached := make(chan struct{}, 1)
	r := newTaskRig(t, "", func(session.ModelRequest) sessiontest.Turn { return sessiontest.Gate(reached, nil) })
	parent := r.Create()
	ctx, shutdown := context.WithCancelCause(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := r.tasks.Run(ctx, r.caller(parent), helperTask("look")); !errors.Is(err, session.ErrShutdown) {
			t.Errorf("error %v", err)
		}
	})
	<-reached
	shutdown(session.ErrShutdown)
	group.Wait()
	child := payloads[session.TaskStarted](r, parent)[0].Session
	if interrupts := payloads[session.InterruptRequested](r, child); len(interrupts) != 0 || !r.Coordinator.Running(child) {
		t.Error("the shutdown of the call stopped the child")
	}
	if ended := payloads[session.TaskEnded](r, parent); len(ended) != 0 {
		t.Errorf("the shutdown ended the task: %+v", ended)
	}
	r.tasks.Close()
	r.Close()

	next := newTaskRig(t, r.Dir, sayAlways("noted"))
	next.resume()
	if err := next.tasks.Abandon(t.Context(), parent); err != nil { // again
		t.Fatal(err)
	}
	if ended := payloads[session.TaskEnded](next, parent); len(ended) != 1 || ended[0].Outcome != session.Interrupted {
		t.Errorf("ended %+v", ended)
	}
	if texts := next.delivered(parent); len(texts) != 0 {
		t.Errorf("delivered %q; nobody waits for it", texts)
	}
}

// The host dies after the child is done and before its end is recorded: the child
// keeps what it did, and what a person asked of it since goes on.
func TestAnAbandonedChildThatIsDoneIsLeftAlone(t *testing.T) {
	reached, open := make(chan struct{}, 1), make(chan struct{})
	play := func(request session.ModelRequest) sessiontest.Turn {
		if said(request) == "a person's" {
			return sessiontest.Then(sessiontest.Gate(reached, open), sessiontest.Say("answered"))
		}
		return sessiontest.Say("seen")
	}
	whole := newTaskRig(t, "", play)
	parent := whole.Create()
	if _, err := whole.run(parent, helperTask("look")); err != nil {
		t.Fatal(err)
	}
	events := whole.feed()
	r := replayed(t, events[:len(events)-1], play) // all but the end of the task
	child := payloads[session.TaskStarted](r, parent)[0].Session
	r.Prompt(child, "a person's", session.Steer)
	<-reached
	if err := r.tasks.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ended := payloads[session.TaskEnded](r, parent); len(ended) != 1 || ended[0].Outcome != session.Completed {
		t.Errorf("ended %+v", ended)
	}
	close(open)
	r.Settled(child, 2)
	if ended := payloads[session.ActivityEnded](r, child); ended[1].Outcome != session.Completed {
		t.Errorf("the person's prompt ended %+v", ended[1])
	}
}

// A task whose call has not been settled is one that somebody may wait for.
func TestATaskOfALiveCallIsNotAbandoned(t *testing.T) {
	reached, open := make(chan struct{}, 1), make(chan struct{})
	r := newTaskRig(t, "", parentAndChild(false, sessiontest.Then(sessiontest.Gate(reached, open), sessiontest.Say("seen"))))
	parent := r.Create()
	r.Prompt(parent, "go", session.Steer)
	<-reached
	other := session.NewTasks(r.Log, r.Encoder, r.Sessions, r.Coordinator, r.Agents, hclog.NewNullLogger()) // of another host
	defer other.Close()
	if err := other.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(open)
	r.Settled(parent, 1)
	if ended := payloads[session.TaskEnded](r, parent); len(ended) != 1 || ended[0].Outcome != session.Completed {
		t.Errorf("ended %+v", ended)
	}
}

// Two hosts that follow the same task deliver its result once.
func TestTwoFollowersDeliverOnce(t *testing.T) {
	reached, open := make(chan struct{}, 1), make(chan struct{})
	r := newTaskRig(t, "", parentAndChild(true, sessiontest.Then(sessiontest.Gate(reached, open), sessiontest.Say("seen"))))
	parent := r.Create()
	r.Prompt(parent, "go", session.Steer)
	<-reached
	r.Settled(parent, 1)
	other := session.NewTasks(r.Log, r.Encoder, r.Sessions, r.Coordinator, r.Agents, hclog.NewNullLogger())
	defer other.Close()
	if err := other.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(open)
	r.Settled(parent, 2)
	r.Coordinator.Close(0)
	other.Close()
	r.tasks.Close()
	if ended := payloads[session.TaskEnded](r, parent); len(ended) != 1 || len(r.delivered(parent)) != 1 {
		t.Errorf("ended %+v, delivered %q", ended, r.delivered(parent))
	}
}
