package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/probation"
	"github.com/plinthhost/plinth/session"
)

// breaking is a version whose tool traps.
func breaking(t *testing.T, version string) Candidate {
	t.Helper()
	guest := bridgetest.New().Traps(abi.ExportTool).Answers(abi.ExportContext, `{"ok":{"sources":[]}}`)
	return versioned(t, guest, "acme/a", version, toolTable("greet")+"[[context]]\nkey = \"acme/a/x\"\n")
}

// breaks calls the tool in these sessions, one after the other.
func (w *world) breaks(sessions ...string) {
	w.t.Helper()
	u := w.turn()
	defer u.pin.Release()
	for _, id := range sessions {
		if _, err := u.call("greet", id); err == nil {
			w.t.Error("it does not break")
		}
	}
}

var quick = probation.Limits{Calls: 6, Time: time.Nanosecond, Faults: 3, Sessions: 2}

// A version that breaks calls of two sessions on probation is taken back, and does not
// come back by itself.
func TestAVersionThatBreaksIsRolledBack(t *testing.T) {
	w := newWorld(t, Options{Probation: quick})
	good, bad := greeter(t, "acme/a", "1.0.0", "good"), breaking(t, "2.0.0")
	first := w.must(good)
	broken := w.must(bad)
	w.breaks("ses_1", "ses_1", "ses_2")
	w.await("rolled_back acme/a", 1)
	w.eventually(func() bool { return w.show("acme/a").Revision == first })
	w.says("greet", "good")
	status := w.show("acme/a")
	taken := status.At(broken)
	const reason = "3 of its first 3 calls broke it, in 2 sessions; the last: "
	if !taken.Blocked || !strings.HasPrefix(taken.Error, reason) || !strings.HasPrefix(status.Error, reason) || len(taken.Faults) != 3 || taken.Faults[0].Session != "ses_1" || taken.Faults[0].Fault != "trap" {
		t.Errorf("%+v", status.Plugin)
	}
	want := fmt.Sprintf("plugin acme/a from test.wasm: refused: this version was rolled back: %s; roll back to %s to have it all the same", taken.Error, broken)
	if err := w.add(bad); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	w.restart(nil)
	w.says("greet", "good")
	// What breaks after it goes to the good one, never to the one that is blocked.
	third := w.must(breaking(t, "3.0.0"))
	w.breaks("ses_1", "ses_1", "ses_2")
	w.await("rolled_back acme/a", 2)
	w.eventually(func() bool { return w.show("acme/a").Revision == first })
	if last := w.last(session.PluginRolledBack{}.EventType()); last["revision"] != first || last["from"] != third {
		t.Errorf("%v", last)
	}
	// Somebody may have it all the same.
	if plugin, err := w.Rollback(t.Context(), ann, Ref{ID: "acme/a"}, broken); err != nil || plugin.Revision != broken || plugin.At(broken).Blocked {
		t.Errorf("%+v %v", plugin, err)
	}
}

// One session alone takes nothing back, however often it breaks; nor do calls after the
// probation.
func TestWhatDoesNotTakeAVersionBack(t *testing.T) {
	w := newWorld(t, Options{Probation: quick})
	w.must(greeter(t, "acme/a", "1.0.0", "good"))
	bad := w.must(breaking(t, "2.0.0"))
	w.breaks("ses_1", "ses_1", "ses_1", "ses_1", "ses_1", "ses_1")
	w.await("proved acme/a", 1)
	w.breaks("ses_1", "ses_2", "ses_3", "ses_4", "ses_5")
	status := w.show("acme/a")
	if status.Revision != bad || w.count("rolled_back acme/a") != 0 || status.Figures.Calls != 11 || status.Figures.Faults != 11 || w.count("faulted acme/a") > 6 {
		t.Errorf("%+v, %d faults in the log", status, w.count("faulted acme/a"))
	}
	w.restart(nil) // it stays proved
	w.breaks("ses_1", "ses_2", "ses_3", "ses_4")
	if status := w.show("acme/a"); status.Revision != bad || !status.At(bad).Proved {
		t.Errorf("%+v", status.Plugin)
	}
}

// The faults are remembered over a restart.
func TestAProbationGoesOnAfterARestart(t *testing.T) {
	w := newWorld(t, Options{Probation: quick})
	first := w.must(greeter(t, "acme/a", "1.0.0", "good"))
	w.must(breaking(t, "2.0.0"))
	w.breaks("ses_1", "ses_2")
	w.await("faulted acme/a", 2)
	w.restart(nil)
	w.breaks("ses_1")
	w.await("rolled_back acme/a", 1)
	w.eventually(func() bool { return w.show("acme/a").Revision == first })
}

// A first version that breaks has nothing before it: it is quarantined until somebody
// enables it, and sessions keep what they were told by it.
func TestAFirstVersionThatBreaksIsQuarantined(t *testing.T) {
	w := newWorld(t, Options{Probation: quick})
	only := w.must(breaking(t, "1.0.0"))
	old := w.turn()
	w.breaks("ses_1", "ses_1", "ses_2")
	w.await("quarantined acme/a", 1)
	w.eventually(func() bool { return !w.show("acme/a").Serving })
	isUnavailable(t, w.contexts()["acme/a"], "acme/a/x")
	if _, err := old.call("greet", "ses_1"); err == nil {
		t.Error("the turn that has it lost it, or it is well")
	}
	old.pin.Release()
	w.await("retired acme/a", 1)
	if _, err := w.Rollback(t.Context(), ann, Ref{ID: "acme/a"}, ""); !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
	if plugin, err := w.Enable(t.Context(), ann, Ref{ID: "acme/a"}); err != nil || plugin.State != session.PluginStateActive || plugin.Revision != only || len(plugin.At(only).Faults) != 0 {
		t.Errorf("%+v %v", plugin, err)
	}
}

// By hand: the revision before, one by name, and what cannot be.
func TestRollback(t *testing.T) {
	w := newWorld(t, Options{})
	ref := Ref{ID: "acme/a"}
	if _, err := w.Rollback(t.Context(), ann, ref, ""); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	one := w.must(greeter(t, "acme/a", "1.0.0", "one"))
	for _, revision := range []string{"", one, "none"} {
		_, err := w.Rollback(t.Context(), ann, ref, revision)
		if want := map[string]error{"": ErrRefused, one: ErrRefused, "none": ErrUnknown}[revision]; !errors.Is(err, want) {
			t.Errorf("%s: %v", revision, err)
		}
	}
	two, three := w.must(greeter(t, "acme/a", "2.0.0", "two")), w.must(greeter(t, "acme/a", "3.0.0", "three"))
	step := func(revision, want, text string) {
		t.Helper()
		plugin, err := w.Rollback(t.Context(), ann, ref, revision)
		if err != nil || plugin.Revision != want {
			t.Fatalf("%+v %v", plugin, err)
		}
		w.says("greet", text)
	}
	step("", two, "two")
	step("", one, "one")
	if _, err := w.Rollback(t.Context(), ann, ref, ""); !errors.Is(err, ErrRefused) {
		t.Errorf("all others are blocked: %v", err)
	}
	step(three, three, "three")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Rollback(ctx, ann, ref, one); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
