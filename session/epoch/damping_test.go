package epoch

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
)

// ticking is one key whose epoch goes on from sample to sample.
type ticking struct {
	t     *testing.T
	epoch session.Epoch
	now   time.Time
}

// see samples the value a second later and reports whether it was told.
func (k *ticking) see(value Observed) bool {
	k.t.Helper()
	k.now = k.now.Add(time.Second)
	outcome, err := Reconcile(k.epoch, []Observed{value}, k.now, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	updated, told := outcome.Change.(session.ContextUpdated)
	if told == (len(outcome.Held) > 0) && !equal(k.epoch.Snapshot["k/a"].Value, value.Value) {
		k.t.Errorf("%s told: %v, held: %v", value.Value, told, outcome.Held)
	}
	encoded, err := json.Marshal(k.epoch.Snapshot.Advance(updated.Changed, updated.Removed)) // what a restart reads
	if err != nil {
		k.t.Fatal(err)
	}
	k.epoch.Snapshot = nil
	if err := json.Unmarshal(encoded, &k.epoch.Snapshot); err != nil {
		k.t.Fatal(err)
	}
	return told
}

func a(v string) Observed { return value("k/a", v, "A is "+v, "A is now "+v, "") }

func start(t *testing.T) *ticking {
	return &ticking{t: t, epoch: running(session.Snapshot{"k/a": admitted(`1`, "")}), now: now}
}

func TestASourceThatGoesBackAndForthIsHeld(t *testing.T) {
	k := start(t)
	var told []bool
	for i := range 9 {
		told = append(told, k.see(a([]string{`2`, `1`}[i%2])))
	}
	// The first change, three returns, and then what was told last stays told.
	if diff := cmp.Diff([]bool{true, true, true, true, false, false, false, false, false}, told); diff != "" {
		t.Error(diff)
	}
	if got := k.epoch.Snapshot["k/a"]; string(got.Value) != `1` || !Flapped(got) {
		t.Errorf("admitted %s after %d flips, want 1", got.Value, got.Flips)
	}
	if k.see(a(`3`)) {
		t.Error("a third value is told during the hold")
	}
	k.now = time.UnixMilli(k.epoch.Snapshot["k/a"].At).Add(FlapHold - 2*time.Second)
	if k.see(a(`2`)) {
		t.Error("told a second before the hold is over")
	}
	if !k.see(a(`2`)) || k.epoch.Snapshot["k/a"].Flips != MaxFlips+1 {
		t.Errorf("not told after the hold, or a new hold does not begin: %+v", k.epoch.Snapshot["k/a"])
	}
	if k.see(a(`1`)) {
		t.Error("told in the second hold")
	}
	k.now = k.now.Add(FlapHold)
	if !k.see(a(`4`)) || k.epoch.Snapshot["k/a"].Flips != 0 || !k.see(a(`5`)) {
		t.Errorf("new values after the hold are news: %+v", k.epoch.Snapshot["k/a"])
	}
}

func TestNewValuesAreNeverHeld(t *testing.T) {
	k := start(t)
	for _, v := range []string{`2`, `3`, `4`, `5`, `6`, `7`, `8`, `9`} {
		if !k.see(a(v)) {
			t.Errorf("%s was not told", v)
		}
	}
}

func TestASourceMayBeUndamped(t *testing.T) {
	k := start(t)
	for i := range 9 {
		o := a([]string{`2`, `1`}[i%2])
		o.Undamped = true
		if !k.see(o) {
			t.Errorf("change %d was not told", i)
		}
	}
}

func TestAClockThatWasSetBackHoldsNothing(t *testing.T) {
	k := start(t)
	for i := range 4 {
		k.see(a([]string{`2`, `1`}[i%2]))
	}
	k.now = now.Add(-time.Hour)
	if !k.see(a(`2`)) {
		t.Error("held for longer than the hold")
	}
}

func TestMetrics(t *testing.T) {
	var m Metrics
	m.observed("b", 3*time.Millisecond, false)
	m.observed("b", 1*time.Millisecond, true)
	m.observed("a", 2*time.Millisecond, false)
	m.Recorded(session.ContextInitialized{Baseline: "12345"})
	m.Recorded(session.ContextReplaced{Baseline: "123"})
	m.Recorded(session.ContextUpdated{Text: "1234"})
	m.Recorded(session.Reminded{Text: "no context"})
	m.Settled(Outcome{Held: []string{"k/a"}}, []Observed{{SourceState: session.SourceState{Key: "k/a"}, Source: "b"}})
	m.Settled(Outcome{Blocked: []string{"k/a", "k/b"}}, nil)
	m.Contended()
	want := Counts{Baselines: 2, BaselineBytes: 8, BaselineMax: 5, Updates: 1, UpdateBytes: 4, Blocked: 1, Contended: 1,
		Sources: []SourceCounts{{Name: "a", Observations: 1, Total: 2 * time.Millisecond, Max: 2 * time.Millisecond},
			{Name: "b", Observations: 2, Total: 4 * time.Millisecond, Max: 3 * time.Millisecond, Unavailable: 1, Held: 1}}}
	if diff := cmp.Diff(want, m.Counts()); diff != "" {
		t.Error(diff)
	}
}
