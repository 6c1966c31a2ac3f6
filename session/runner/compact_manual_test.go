package runner_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// keeping is a world that keeps nothing but the newest step.
func keeping(t *testing.T) *World {
	t.Helper()
	return New(t, Options{Config: configured(func(c *runner.Config) { c.Compaction.Auto, c.Compaction.Keep = false, 0 })})
}

func woken(w *World) []string {
	w.T.Helper()
	var all []string
	if err := w.Log.View(w.T.Context(), func(tx store.Tx) (err error) {
		all, err = session.LoadWoken(w.T.Context(), tx)
		return err
	}); err != nil {
		w.T.Fatal(err)
	}
	return all
}

func TestAnIdleSessionIsCompactedAtOnce(t *testing.T) {
	w := keeping(t)
	w.Provider.Script(Say("One"), Say("Summary"))
	id := w.Create()
	answered(w, id, words("first", 1_000), 1)
	waiting := w.Admit(id, "waits", session.Steer)
	compactNow(w, id)
	want := []string{"session.prompt.admitted", "session.compaction.requested", "session.compaction.started", "session.compaction.ended"}
	if diff := cmp.Diff(want, types(w, id, "session.activity.ended", 1)); diff != "" {
		t.Error(diff)
	}
	if got := only(t, inbox(w, id)); got.ID != waiting.ID {
		t.Errorf("waiting %+v", got)
	}
	if got := woken(w); len(got) != 0 {
		t.Errorf("woken %v", got)
	}
}

func TestABusySessionIsCompactedAtItsNextBoundary(t *testing.T) {
	w := keeping(t)
	running, release := make(chan struct{}, 1), make(chan struct{})
	blocking(w, "slow", running, release)
	w.Provider.Script(Say("One"), Calls("slow", `{}`), Say("Summary"), Say("Two"))
	id := w.Create()
	answered(w, id, words("first", 1_000), 1)
	w.Prompt(id, "second", session.Steer)
	<-running
	if _, err := w.Sessions.Compact(t.Context(), session.System(), id); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{id}, woken(w)); diff != "" {
		t.Error(diff)
	}
	close(release)
	w.Settled(id, 2)
	idle(w, id)
	if diff := cmp.Diff([]string{turn, turn, summing, turn}, purposes(w)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"<summary>", "second", "", "released"}, begins(w.Provider.Requests()[3])); diff != "" {
		t.Error(diff)
	}
	only(t, payloads[session.CompactionEnded](w, id))
}

func TestACompactionThatIsAskedForCanFail(t *testing.T) {
	gone := &session.ModelError{Reason: session.ModelUnavailable, Message: "there is no model scripted/gone"}
	for _, c := range []struct {
		name    string
		options Options
		first   string
		code    string
		message string
	}{
		{"nothing to condense", Options{}, "short", session.FailureCompaction, "nothing to condense"},
		{"too little to gain", Options{Config: configured(func(c *runner.Config) { c.Compaction.Keep = 0 })}, "", session.FailureCompaction, "gain too little"},
		{"a model that is gone", Options{Models: Models{"scripted/gone": {Err: gone}}, Config: configured(func(c *runner.Config) {
			c.Compaction.Keep, c.Compaction.Model = 0, &session.ModelRef{Provider: "scripted", Model: "gone"}
		})}, words("first", 1_000), session.FailureModelUnavailable, gone.Message},
		{"a budget", Options{Config: configured(func(c *runner.Config) {
			c.Compaction.Keep, c.Budgets = 0, []session.Budget{{Per: session.PerSession, Turns: 1, Action: session.BudgetStop}}
		})}, words("first", 1_000), session.FailureBudget, "turns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := New(t, c.options)
			w.Provider.Script(Say(words("One", 1_000)), Say("too many"))
			id := w.Create()
			if c.first == "" {
				c.first = "x"
			}
			answered(w, id, c.first, 1)
			compactNow(w, id)
			failed, started := only(t, payloads[session.CompactionFailed](w, id)), only(t, payloads[session.CompactionStarted](w, id))
			if failed.Error.Code != c.code || !strings.Contains(failed.Error.Message, c.message) || failed.Message != started.Message {
				t.Errorf("failed %+v", failed)
			}
			only(t, w.Provider.Requests())
			if got := woken(w); len(got) != 0 {
				t.Errorf("woken %v", got)
			}
		})
	}
	t.Run("no such session", func(t *testing.T) {
		w := keeping(t)
		if _, err := w.Sessions.Compact(t.Context(), session.System(), "ses_none"); err == nil {
			t.Error("it was taken")
		}
	})
}

func TestACompactionIsFoundAfterARestartUnlessItWasInterrupted(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		w := keeping(t)
		w.Provider.Script(Say("One"), Say("Summary"))
		id := w.Create()
		answered(w, id, words("first", 1_000), 1)
		idle(w, id)
		put(w, id, session.CompactionRequested{})
		if interrupted {
			interrupt(w, id)
		}
		if got := slices.Contains(woken(w), id); got == interrupted {
			t.Errorf("interrupted %v: woken %v", interrupted, woken(w))
		}
		w.Coordinator.Wake(id, 1_000)
		idle(w, id)
		if got := payloads[session.CompactionEnded](w, id); len(got) == 1 == interrupted {
			t.Errorf("interrupted %v: %+v", interrupted, got)
		}
	}
}

// What a process left of a compaction is closed by the next one before anything else.
func TestACompactionWhoseProcessDiedHasFailed(t *testing.T) {
	left := func(t *testing.T, w *World) string {
		t.Helper()
		w.Provider.Script(Say("One"), Say("Two"))
		id := w.Create()
		answered(w, id, "first", 1)
		idle(w, id)
		put(w, id, session.CompactionStarted{Message: message(w), Reason: session.CompactionAuto})
		return id
	}
	check := func(t *testing.T, w *World, id string) {
		t.Helper()
		if got := only(t, payloads[session.CompactionFailed](w, id)); got.Error.Code != session.FailureInterrupted || got.Reason != session.CompactionAuto {
			t.Errorf("failed %+v", got)
		}
		if s, err := w.Sessions.Get(t.Context(), id); err != nil || s.Compacting != nil {
			t.Errorf("session %+v, %v", s, err)
		}
	}
	t.Run("by the next drain", func(t *testing.T) {
		w := New(t, Options{})
		id := left(t, w)
		w.Run(id)
		check(t, w, id)
	})
	t.Run("when the host starts", func(t *testing.T) {
		w := New(t, Options{})
		id := left(t, w)
		var running []string
		if err := w.Log.View(t.Context(), func(tx store.Tx) (err error) {
			running, err = session.LoadRunning(t.Context(), tx)
			return err
		}); err != nil || !slices.Equal(running, []string{id}) {
			t.Fatalf("running %v, %v", running, err)
		}
		if again, err := w.Runner.Recover(t.Context(), id); err != nil || again {
			t.Errorf("again %v, %v", again, err)
		}
		check(t, w, id)
	})
	t.Run("a revert waits for it", func(t *testing.T) {
		w := New(t, Options{})
		id := left(t, w)
		events, err := w.Encoder.Encode(session.System(), session.RevertStaged{Revert: session.Revert{Message: "msg_1"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Log.Append(t.Context(), store.Batch{Aggregate: id, Mode: store.Any(), Events: events}); err == nil || !strings.Contains(err.Error(), "is being compacted") {
			t.Errorf("append: %v", err)
		}
	})
}
