package session_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// A removal stops the session and its tasks, takes all of them away, and leaves others
// as they are.
func TestARemovalTakesTheFamily(t *testing.T) {
	for _, background := range []bool{false, true} {
		t.Run(fmt.Sprint("background ", background), func(t *testing.T) {
			reached := make(chan struct{}, 1)
			r := newTaskRig(t, "", parentAndChild(background, sessiontest.Gate(reached, nil)))
			parent, other := r.Create(), r.Create()
			before := sessiontest.Tables(t, r.Log)
			r.Prompt(parent, "go", session.Steer)
			<-reached
			child := payloads[session.TaskStarted](r, parent)[0].Session
			tail := store.NewTail(r.Log, child, 1<<40)
			defer tail.Close()

			removed, err := r.Sessions.Remove(t.Context(), session.System(), parent)
			if diff := cmp.Diff([]string{parent, child}, removed); diff != "" || err != nil {
				t.Errorf("removed: %v\n%s", err, diff)
			}
			if _, err := tail.Next(t.Context(), 1); !errors.Is(err, store.ErrDeleted) {
				t.Errorf("a follower of the child: %v", err)
			}
			for _, id := range removed {
				if r.Coordinator.Running(id) {
					t.Errorf("%s still works", id)
				}
				expectRemoved(t, r.World, id)
			}
			if again, err := r.Sessions.Remove(t.Context(), session.System(), parent); err != nil || again != nil {
				t.Errorf("again: %v, %v", again, err)
			}
			if _, err := r.Sessions.Remove(t.Context(), session.System(), "ses_x"); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("an unknown session: %v", err)
			}
			if err := r.Log.Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
			// Nothing is left but the other session, and what the day has cost.
			var rows []string
			for row := range strings.Lines(before) {
				if !strings.Contains(row, parent) {
					rows = append(rows, strings.TrimSpace(row))
				}
			}
			left := slices.DeleteFunc(strings.Split(sessiontest.Tables(t, r.Log), "\n"), func(row string) bool {
				return strings.HasPrefix(row, `spent ["day/`)
			})
			if diff := cmp.Diff(rows, left); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			r.Prompt(other, "hello", session.Steer)
			r.Settled(other, 1)
		})
	}
}

// expectRemoved holds a session to being gone for everybody.
func expectRemoved(t *testing.T, w *sessiontest.World, id string) {
	t.Helper()
	ctx, by := t.Context(), session.System()
	_, get := w.Sessions.Get(ctx, id)
	_, messages := w.Sessions.Messages(ctx, id, -1, 1)
	_, admit := w.Sessions.Admit(ctx, by, session.PromptRequest{Session: id, Prompt: session.Prompt{Text: "x"}})
	_, rename := w.Sessions.Rename(ctx, by, id, "x")
	_, _, fork := w.Sessions.Fork(ctx, by, session.ForkRequest{Session: id})
	_, prune := w.Sessions.Prune(ctx, by, id)
	_, events := w.Log.Read(ctx, id, -1, 1)
	for name, err := range map[string]error{"get": get, "messages": messages, "admit": admit, "rename": rename, "fork": fork, "prune": prune, "events": events} {
		if !errors.Is(err, store.ErrDeleted) {
			t.Errorf("%s of %s: %v", name, id, err)
		}
	}
	if _, _, err := w.Sessions.Create(ctx, by, session.CreateRequest{ID: id, Directory: "/work"}); err == nil || !strings.Contains(err.Error(), "deleted") {
		t.Errorf("create %s again: %v", id, err)
	}
}

// A parent is told of a child that was removed under it.
func TestAParentIsToldOfARemovedChild(t *testing.T) {
	reached := make(chan struct{}, 1)
	r := newTaskRig(t, "", parentAndChild(true, sessiontest.Gate(reached, nil)))
	parent := r.Create()
	r.Prompt(parent, "go", session.Steer)
	<-reached
	child := payloads[session.TaskStarted](r, parent)[0].Session
	if removed, err := r.Sessions.Remove(t.Context(), session.System(), child); err != nil || len(removed) != 1 {
		t.Fatalf("%v, %v", removed, err)
	}
	r.Await(parent, session.TaskEnded{}.EventType(), 1)
	if ended := payloads[session.TaskEnded](r, parent); ended[0].Outcome != session.Interrupted {
		t.Errorf("ended %+v", ended)
	}
}

// removingLog removes a session right before the first event of another one is written.
type removingLog struct {
	store.Log
	victim string
}

func (l *removingLog) Append(ctx context.Context, batch store.Batch) ([]store.Event, error) {
	if batch.Aggregate != l.victim {
		if err := l.Delete(ctx, l.victim); err != nil {
			return nil, err
		}
	}
	return l.Log.Append(ctx, batch)
}

// A task that begins while its parent is removed leaves no child behind.
func TestARemovalOvertakesATask(t *testing.T) {
	r := newTaskRig(t, "", sayAlways("noted"))
	parent := r.Create()
	tasks := session.NewTasks(&removingLog{Log: r.Log, victim: parent}, r.Encoder, r.Sessions, r.Coordinator, r.Agents, hclog.NewNullLogger())
	defer tasks.Close()
	if _, err := tasks.Run(t.Context(), r.caller(parent), helperTask("look")); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("%v", err)
	}
	if err := r.Log.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := sessiontest.Tables(t, r.Log); strings.Contains(left, "session [") {
		t.Errorf("left:\n%s", left)
	}
}

// What a host that died left of a removal is removed by the next one, and only that.
func TestOrphansAreRemoved(t *testing.T) {
	r := newLifeRig(t, "")
	ids := map[string]string{}
	for _, name := range []string{"parent", "child", "grandchild", "foreign"} {
		ids[name] = r.Encoder.IDs.New(session.PrefixSession)
	}
	begin := func(name, parent string, depth int) {
		r.put(ids[name], session.Created{Location: session.Location{Directory: "/work"}, Agent: "build", Parent: parent, Depth: depth})
	}
	begin("parent", "", 0)
	begin("child", ids["parent"], 1)
	begin("grandchild", ids["child"], 2)
	begin("foreign", r.Encoder.IDs.New(session.PrefixSession), 1) // its parent was never here
	if err := r.Log.Delete(t.Context(), ids["parent"]); err != nil {
		t.Fatal(err)
	}
	if err := r.Sessions.RemoveOrphans(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"child", "grandchild"} {
		expectRemoved(t, r.World, ids[name])
	}
	if _, err := r.Sessions.Get(t.Context(), ids["foreign"]); err != nil {
		t.Error(err)
	}
}

// dyingProjection removes little at a time, and nothing any more after some steps.
type dyingProjection struct {
	session.Projection
	left int
}

var errDied = errors.New("the host died")

func (p *dyingProjection) Forget(ctx context.Context, tx store.Tx, aggregate string, limit int) (bool, error) {
	if limit == 0 {
		return p.Projection.Forget(ctx, tx, aggregate, 0)
	}
	if p.left--; p.left < 0 {
		return false, errDied
	}
	return p.Projection.Forget(ctx, tx, aggregate, 3)
}

// Wherever a host dies while it removes, what was removed is gone for the next one from
// its first moment, and nothing of it is left in the end.
func TestARemovalSurvivesADeathAtEveryStep(t *testing.T) {
	whole := newLifeRig(t, "")
	id, other := whole.talked(), whole.talked()
	events := map[string][]store.Event{}
	for _, one := range []string{id, other} {
		page, err := whole.Log.Read(t.Context(), one, -1, 1000)
		if err != nil {
			t.Fatal(err)
		}
		events[one] = page.Events
	}
	if err := whole.Log.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := whole.Log.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := sessiontest.Tables(t, whole.Log)
	for steps := 0; ; steps++ {
		dir := t.TempDir()
		done := diesWhileRemoving(t, dir, steps, events, id)
		next := newLifeRig(t, dir)
		expectRemoved(t, next.World, id)
		if err := next.Log.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, sessiontest.Tables(t, next.Log)); diff != "" {
			t.Fatalf("after %d steps (-want +got):\n%s", steps, diff)
		}
		if left, err := next.Log.Remains(t.Context()); err != nil || len(left) != 0 {
			t.Fatalf("after %d steps: %+v, %v", steps, left, err)
		}
		if done {
			if steps < 10 {
				t.Errorf("the removal took %d steps", steps)
			}
			return
		}
	}
}

// diesWhileRemoving fills a store, removes a session and stops after some steps. It
// reports whether those were all.
func diesWhileRemoving(t *testing.T, dir string, steps int, events map[string][]store.Event, id string) bool {
	t.Helper()
	kernel, err := fs.Sub(session.Migrations, "migrations/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	log, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Projections: []store.Projection{&dyingProjection{left: steps}},
		Migrations: []sqlite.Migration{{Name: "kernel", FS: kernel}}})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, one := range events {
		if err := log.Replay(t.Context(), one, store.ReplayOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	err = log.Purge(t.Context())
	if err != nil && !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	return err == nil
}

// While a long session goes, others write: the removal comes in many steps, and nobody
// waits for all of them.
func TestALongRemovalKeepsNobodyWaiting(t *testing.T) {
	r := newLifeRig(t, "")
	id, other := r.Create(), r.Create()
	rounds := 500 // 4,000 events
	if os.Getenv("PLINTH_LONG") != "" {
		rounds = 12_500
	}
	r.rounds(id, rounds, 500)
	before := r.Log.Stats().Groups
	if _, err := r.Sessions.Remove(t.Context(), session.System(), id); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- r.Log.Purge(t.Context()) }()
	var waits []time.Duration
	for done := false; !done; {
		began := time.Now()
		r.put(other, session.Synthetic{Message: r.message(), Text: "I write"})
		waits = append(waits, time.Since(began))
		select {
		case err := <-gone:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
	}
	slices.Sort(waits)
	t.Logf("%d events went in %d commits; %d appends meanwhile took %v in the middle, %v at p99, %v at most", 8*rounds,
		r.Log.Stats().Groups-before, len(waits), waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1])
	// A step removes at most 1024 rows: of the events, and of a message and parts for each.
	if groups := r.Log.Stats().Groups - before; groups < int64(8*rounds/1024) {
		t.Errorf("%d events went in %d commits", 8*rounds, groups)
	}
	if len(waits) < 3 {
		t.Errorf("%d appends fell into the removal", len(waits))
	}
}
