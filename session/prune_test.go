package session_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// anyPlace compares messages whose places in the log are not the same.
func anyPlace() cmp.Option {
	return cmpopts.IgnoreFields(session.Message{}, "Seq", "MessageBody.Boundary", "MessageBody.Kept")
}

// talked is a session with an epoch that has updates, which was compacted and went on.
func (r *lifeRig) talked() string {
	r.t.Helper()
	id := r.Create()
	r.put(id, session.TodosChanged{Todos: []session.Todo{{ID: "1", Content: "one", Status: "pending"}}},
		session.DirectoriesRead{Directories: []string{"/work/a"}},
		session.ContextInitialized{Baseline: "first", Snapshot: session.Snapshot{}},
		session.ContextUpdated{Message: r.message(), Text: "of the first epoch", Changed: session.Snapshot{}})
	r.rounds(id, 4, 10)
	r.put(id, session.ContextReplaced{Baseline: "second", Snapshot: session.Snapshot{}})
	r.rounds(id, 2, 10)
	r.put(id, session.ContextUpdated{Message: r.message(), Text: "of the second", Changed: session.Snapshot{}})
	r.rounds(id, 1, 10)
	r.compact(id)
	r.rounds(id, 2, 20<<10)
	return id
}

// asked lets the session take a prompt and answers what its model was sent.
func (r *lifeRig) asked(id string) session.ModelRequest {
	r.t.Helper()
	before := len(r.Provider.Requests())
	r.Provider.Script(sessiontest.Say("so it is"))
	r.Prompt(id, "and now?", session.Steer)
	if err := r.Coordinator.Settle(r.t.Context(), id); err != nil {
		r.t.Fatal(err)
	}
	requests := r.Provider.Requests()
	if len(requests) != before+1 {
		r.t.Fatalf("%d requests, %d before", len(requests), before)
	}
	return requests[before]
}

// A pruned session is what it was: its row, its history, and the request that follows.
func TestAPrunedSessionIsWhatItWas(t *testing.T) {
	r := newLifeRig(t, "")
	id := r.talked()
	r.put(id, session.Renamed{Title: "Long"}, session.RetentionChanged{Retention: session.Retention{Keep: session.RetainCompaction}})
	before, err := r.Sessions.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	epoch := func() (e session.Epoch) {
		if err := r.Log.View(t.Context(), func(tx store.Tx) (err error) {
			e, err = session.LoadEpoch(t.Context(), tx, id)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return e
	}
	history, begun := r.activeHistory(id, epoch().Seq), epoch()
	totals, _ := r.Sessions.Totals(t.Context(), id)

	pruning, err := r.Sessions.Prune(t.Context(), session.System(), id)
	if err != nil || !pruning.Pruned {
		t.Fatalf("%+v, %v", pruning, err)
	}
	after, err := r.Sessions.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if after.Pruned != pruning.First {
		t.Errorf("pruned at %d, reported %d", after.Pruned, pruning.First)
	}
	if diff := cmp.Diff(before, after, cmpopts.IgnoreFields(session.Session{}, "History", "Compaction", "Pruned", "Rewritten", "Answered")); diff != "" {
		t.Errorf("session (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(history, r.activeHistory(id, -1), anyPlace(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("history (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(begun, epoch(), cmpopts.IgnoreFields(session.Epoch{}, "Seq")); diff != "" {
		t.Errorf("epoch:\n%s", diff)
	}
	if again, _ := r.Sessions.Totals(t.Context(), id); again != totals || totals.Usage.Input == 0 {
		t.Errorf("totals %+v, before %+v", again, totals)
	}
	if err := r.Log.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Log.Read(t.Context(), id, -1, 10); !errors.Is(err, store.ErrPruned) {
		t.Errorf("the events before it: %v", err)
	}
	if again, err := r.Sessions.Prune(t.Context(), session.System(), id); err != nil || again.Pruned || again.First != pruning.First {
		t.Errorf("again: %+v, %v", again, err)
	}

	// Alone in another store it is the same.
	page, err := r.Log.Read(t.Context(), id, pruning.First-1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	other := newLifeRig(t, "")
	if err := other.Log.Replay(t.Context(), page.Events, store.ReplayOptions{From: session.From(page.Events[0])}); err != nil {
		t.Fatal(err)
	}
	ownRows := func(log store.Log) (rows []string) { // the days' spending is everybody's
		for row := range strings.Lines(sessiontest.Tables(t, log)) {
			if !strings.HasPrefix(row, `spent ["day/`) {
				rows = append(rows, row)
			}
		}
		return rows
	}
	if diff := cmp.Diff(ownRows(r.Log), ownRows(other.Log)); diff != "" {
		t.Errorf("tables (-pruned +replayed):\n%s", diff)
	}
}

// activeHistory is what LoadHistory answers in an epoch.
func (r *lifeRig) activeHistory(id string, baseline int64) (history []session.Message) {
	r.t.Helper()
	err := r.Log.View(r.t.Context(), func(tx store.Tx) error {
		s, err := session.LoadSession(r.t.Context(), tx, id)
		if err != nil {
			return err
		}
		history, err = session.LoadHistory(r.t.Context(), tx, s, baseline)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return history
}

// Two sessions with the same events, of which one is pruned, ask their models the same.
func TestAPruningDoesNotChangeTheNextRequest(t *testing.T) {
	r := newLifeRig(t, "")
	id := r.talked()
	page, err := r.Log.Read(t.Context(), id, -1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	twin := newLifeRig(t, "")
	if err := twin.Log.Replay(t.Context(), page.Events, store.ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	if pruning, err := r.Sessions.Prune(t.Context(), session.System(), id); err != nil || !pruning.Pruned {
		t.Fatalf("%+v, %v", pruning, err)
	}
	want, got := twin.asked(id), r.asked(id)
	if len(want.Messages) < 8 {
		t.Fatalf("the model was sent %d messages", len(want.Messages))
	}
	ids := cmpopts.IgnoreFields(session.ModelMessage{}, "ID")
	parts := cmpopts.IgnoreFields(session.ModelPart{}, "ID")
	last := len(want.Messages) - 1 // the prompt of each has an id of its own
	if diff := cmp.Diff(want.Messages[:last], got.Messages[:last]); diff != "" {
		t.Errorf("messages (-whole +pruned):\n%s", diff)
	}
	if diff := cmp.Diff(want.Messages[last], got.Messages[last], ids, parts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.System, got.System); diff != "" {
		t.Error(diff)
	}
}

func TestAPruningIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(r *lifeRig) []session.Payload
		want string
	}{
		"while a prompt waits": {func(r *lifeRig) []session.Payload {
			return []session.Payload{session.PromptAdmitted{Message: r.message(), Prompt: session.Prompt{Text: "x"}, Delivery: session.Queue}}
		}, "waits"},
		"while it works": {func(r *lifeRig) []session.Payload {
			return []session.Payload{session.ActivityStarted{Activity: "act_1", Opener: "prompt"}}
		}, "works (act_1)"},
		"while a resume waits":     {func(*lifeRig) []session.Payload { return []session.Payload{session.ResumeRequested{}} }, "a resume waits"},
		"while a compaction waits": {func(*lifeRig) []session.Payload { return []session.Payload{session.CompactionRequested{}} }, "a compaction waits"},
		"while a revert is staged": {func(*lifeRig) []session.Payload {
			return []session.Payload{session.RevertStaged{Revert: session.Revert{Message: "msg_x", Boundary: 3}}}
		}, "a staged revert waits"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newLifeRig(t, "")
			id := r.talked()
			last := r.put(id, c.put(r)...)
			_, err := r.Sessions.Prune(t.Context(), session.System(), id)
			if _, ok := errors.AsType[*session.ConflictError](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if page, err := r.Log.Read(t.Context(), id, -1, 1000); err != nil || page.Head.Seq != last || page.Head.First != 0 {
				t.Errorf("head %+v, %v", page.Head, err)
			}
		})
	}
	r := newLifeRig(t, "")
	if _, err := r.Sessions.Prune(t.Context(), session.System(), "ses_x"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("an unknown session: %v", err)
	}
	id := r.Create()
	r.rounds(id, 2, 10)
	if pruning, err := r.Sessions.Prune(t.Context(), session.System(), id); err != nil || pruning.Pruned || len(r.Messages(id)) != 4 {
		t.Errorf("without a compaction: %+v, %v", pruning, err)
	}
}

// The keeper prunes what the retention of each session, or the operator's, says.
func TestTheKeeper(t *testing.T) {
	r := newLifeRig(t, "")
	days := session.Retention{Keep: session.RetainDays, Days: 10}
	own := map[string]*session.Retention{"operator's": nil, "all": {Keep: session.RetainAll}, "compaction": {Keep: session.RetainCompaction}, "days": &days}
	ids := map[string]string{}
	for name, retention := range own {
		ids[name] = r.talked()
		if retention != nil {
			if _, err := r.Sessions.SetRetention(t.Context(), session.System(), ids[name], *retention); err != nil {
				t.Fatal(err)
			}
		}
	}
	pruned := func() (names []string) {
		for _, name := range []string{"all", "compaction", "days", "operator's"} {
			page, err := r.Log.Read(t.Context(), ids[name], 1<<40, 0)
			if err != nil {
				t.Fatal(err)
			}
			if page.Head.First > 0 {
				names = append(names, name)
			}
		}
		return names
	}
	pass := func(operator session.Retention, later time.Duration, want ...string) {
		t.Helper()
		keeper := session.NewKeeper(r.Log, r.Sessions, session.KeeperOptions{Retention: operator, Clock: laterClock(later)}, hclog.NewNullLogger())
		defer keeper.Close()
		if err := keeper.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, pruned()); diff != "" {
			t.Errorf("pruned (-want +got):\n%s", diff)
		}
	}
	all := session.Retention{Keep: session.RetainAll}
	day := 24 * time.Hour
	pass(all, 9*day, "compaction")
	pass(all, 11*day, "compaction", "days")
	pass(session.Retention{Keep: session.RetainDays, Days: 30}, 29*day, "compaction", "days")
	pass(session.Retention{Keep: session.RetainDays, Days: 30}, 31*day, "compaction", "days", "operator's")
}

// laterClock stands still some time after the others.
type laterClock time.Duration

func (l laterClock) Now() time.Time { return sessiontest.Clock{}.Now().Add(time.Duration(l)) }

// A session that becomes idle is pruned by the keeper's goroutine, and a pruning that a
// crash cut off is finished by its first pass.
func TestTheKeeperWorksBesideTheSessions(t *testing.T) {
	r := newLifeRig(t, "")
	keeper := session.NewKeeper(r.Log, r.Sessions, session.KeeperOptions{Retention: session.Retention{Keep: session.RetainCompaction},
		Clock: sessiontest.Clock{}}, hclog.NewNullLogger())
	keeper.Start()
	defer keeper.Close()
	id := r.talked()
	wake := r.Log.Watch(id)
	defer wake.Close()
	keeper.Idle(id)
	for {
		page, err := r.Log.Read(t.Context(), id, 1<<40, 0)
		if err != nil {
			t.Fatal(err)
		}
		if page.Head.First > 0 {
			break
		}
		<-wake.C()
	}
}

// A host that dies between a pruning and its mark leaves the mark to the next one.
func TestAPruningThatACrashCutOffIsFinished(t *testing.T) {
	r := newLifeRig(t, "")
	id := r.talked()
	pruning, err := r.Sessions.Prune(t.Context(), session.System(), id)
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.Log.Read(t.Context(), id, pruning.First-1, 1000)
	if err != nil {
		t.Fatal(err)
	}

	// The other log has the events before the pruning too, and no mark.
	next := newLifeRig(t, "")
	next.put(id, session.Created{Location: session.Location{Directory: "/work", Root: "/work"}, Agent: "build"})
	for last := int64(0); last < pruning.First-1; {
		last = next.put(id, session.Archived{})
	}
	if err := next.Log.Replay(t.Context(), page.Events, store.ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	keeper := session.NewKeeper(next.Log, next.Sessions, session.KeeperOptions{Clock: sessiontest.Clock{}}, hclog.NewNullLogger())
	defer keeper.Close()
	for range 2 {
		if err := keeper.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		page, err := next.Log.Read(t.Context(), id, 1<<40, 0)
		if err != nil || page.Head.First != pruning.First {
			t.Errorf("head %+v, %v, want %d to be the first", page.Head, err, pruning.First)
		}
	}
}
