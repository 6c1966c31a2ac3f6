package epoch

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/schema"
)

func value(key, v, baseline, update, removed string) Observed {
	return Observed{SourceState: session.SourceState{Key: key, State: session.SourceValue, Value: json.RawMessage(v),
		Baseline: baseline, Update: update, Removed: removed}, Required: true}
}

func state(key string, status session.SourceStatus, required bool) Observed {
	return Observed{SourceState: session.SourceState{Key: key, State: status}, Required: required}
}

func running(snapshot session.Snapshot) session.Epoch {
	return session.Epoch{Baseline: "old", Snapshot: snapshot}
}

func admitted(v, removed string) session.Admitted {
	return session.Admitted{Value: json.RawMessage(v), Removed: removed}
}

// based is a value that so many bytes of the baseline tell.
func based(v, removed string, bytes int) session.Admitted {
	return session.Admitted{Value: json.RawMessage(v), Removed: removed, Bytes: bytes}
}

// now is when the tests sample.
var now = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// moved is a value that an update tells in the place of another.
func moved(v, removed, before string) session.Admitted {
	return session.Admitted{Value: json.RawMessage(v), Removed: removed, At: now.UnixMilli(), Before: digest(json.RawMessage(before))}
}

func sampler(timeout time.Duration) Sampler {
	return Sampler{Timeout: timeout, Schemas: &schema.Cache{}, Logger: hclog.NewNullLogger()}
}

func TestInitialize(t *testing.T) {
	got, err := Initialize([]Observed{
		value("core/date", `"Mon"`, "Today is Mon", "", ""),
		state("acme/now", session.SourceUnavailable, false),
		value("core/dir", `{"a":1}`, "You are in /x", "", "gone"),
		state("core/none", session.SourceAbsent, true),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := session.ContextInitialized{Baseline: "Today is Mon\n\nYou are in /x", Snapshot: session.Snapshot{
		"core/date": based(`"Mon"`, "", 12), "core/dir": based(`{"a":1}`, "gone", 13),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInitializeIsBlockedByRequiredSources(t *testing.T) {
	_, err := Initialize([]Observed{
		state("core/a", session.SourceUnavailable, true), value("core/b", `1`, "b", "", ""), state("core/c", session.SourceUnavailable, true),
	}, nil)
	var blocked *session.BlockedError
	if !errors.As(err, &blocked) || !cmp.Equal(blocked.Keys, []string{"core/a", "core/c"}) {
		t.Fatalf("Initialize = %v", err)
	}
}

func TestReconcile(t *testing.T) {
	for _, c := range []struct {
		name     string
		snapshot session.Snapshot
		observed []Observed
		want     session.Payload
	}{
		{"unchanged, however the JSON is written", session.Snapshot{"k/a": admitted(`{"x":1,"y":2}`, "")},
			[]Observed{value("k/a", `{ "y":2, "x":1 }`, "A", "A changed", "")}, nil},
		{"changed tells the update", session.Snapshot{"k/a": admitted(`1`, ""), "k/b": admitted(`1`, "")},
			[]Observed{value("k/a", `2`, "A", "A is 2", ""), value("k/b", `1`, "B", "B!", "")},
			session.ContextUpdated{Text: "A is 2", Changed: session.Snapshot{"k/a": moved(`2`, "", `1`)}}},
		{"changed without an update tells the baseline", session.Snapshot{"k/a": admitted(`1`, "")},
			[]Observed{value("k/a", `2`, "A", "", "")},
			session.ContextUpdated{Text: "A", Changed: session.Snapshot{"k/a": moved(`2`, "", `1`)}}},
		{"added tells the baseline", session.Snapshot{}, []Observed{value("k/a", `1`, "A", "A changed", "")},
			session.ContextUpdated{Text: "A", Changed: session.Snapshot{"k/a": admitted(`1`, "")}}},
		{"two changed, one added, two removed in one text",
			session.Snapshot{"k/c": admitted(`1`, ""), "k/a": admitted(`1`, ""), "k/z": admitted(`1`, "z is gone"), "k/y": admitted(`1`, "y is gone")},
			[]Observed{value("k/c", `2`, "C", "C2", ""), value("k/n", `1`, "N", "", ""), value("k/a", `2`, "A", "A2", "")},
			session.ContextUpdated{Text: "C2\n\nN\n\nA2\n\ny is gone\n\nz is gone", Removed: []string{"k/y", "k/z"},
				Changed: session.Snapshot{"k/c": moved(`2`, "", `1`), "k/n": admitted(`1`, ""), "k/a": moved(`2`, "", `1`)}}},
		{"unavailable keeps what was admitted", session.Snapshot{"k/a": admitted(`1`, "gone")},
			[]Observed{state("k/a", session.SourceUnavailable, true)}, nil},
		{"unavailable and never admitted is ignored", session.Snapshot{}, []Observed{state("k/a", session.SourceUnavailable, true)}, nil},
		{"absent tells the stored removal", session.Snapshot{"k/a": admitted(`1`, "a is gone")},
			[]Observed{state("k/a", session.SourceAbsent, true)},
			session.ContextUpdated{Text: "a is gone", Changed: session.Snapshot{}, Removed: []string{"k/a"}}},
		{"vanished without removal text replaces", session.Snapshot{"k/a": admitted(`1`, ""), "k/b": admitted(`1`, "")},
			[]Observed{value("k/b", `2`, "B", "B2", "")},
			session.ContextReplaced{Baseline: "B", Snapshot: session.Snapshot{"k/b": based(`2`, "", 1)},
				Reason: "the source k/a is gone and left no removal text"}},
		{"a replacement waits for what is unavailable", session.Snapshot{"k/a": admitted(`1`, ""), "k/b": admitted(`1`, "")},
			[]Observed{state("k/b", session.SourceUnavailable, true)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Reconcile(running(c.snapshot), c.observed, now, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Change); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// answering is a source that answers with a function.
type answering struct {
	keys    []string
	observe func(context.Context, session.Observation) ([]session.SourceState, error)
}

func (a answering) Keys() []string { return a.keys }
func (a answering) Observe(ctx context.Context, o session.Observation) ([]session.SourceState, error) {
	return a.observe(ctx, o)
}

func TestObserveHoldsSourcesToTheirContract(t *testing.T) {
	good := session.SourceState{Key: "k/a", State: session.SourceValue, Value: json.RawMessage(`1`), Baseline: "A"}
	for name, states := range map[string][]session.SourceState{
		"a key missing":      nil,
		"another key":        {good, {Key: "k/x", State: session.SourceAbsent}},
		"a key twice":        {good, good},
		"no JSON":            {{Key: "k/a", State: session.SourceValue, Value: json.RawMessage(`{`), Baseline: "A"}},
		"an empty baseline":  {{Key: "k/a", State: session.SourceValue, Value: json.RawMessage(`1`)}},
		"a state of its own": {{Key: "k/a", State: "maybe"}},
	} {
		t.Run(name, func(t *testing.T) {
			source := answering{[]string{"k/a"}, func(context.Context, session.Observation) ([]session.SourceState, error) { return states, nil }}
			got := sampler(time.Second).Observe(t.Context(), []Source{{Name: "k", Source: source}}, session.Observation{})
			if len(got) != 1 || got[0].State != session.SourceUnavailable || got[0].Key != "k/a" {
				t.Errorf("Observe = %+v, want k/a unavailable", got)
			}
		})
	}
}

func TestObserveBoundsASlowSourceAndKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := answering{[]string{"a/slow"}, func(ctx context.Context, _ session.Observation) ([]session.SourceState, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		quick := answering{[]string{"b/quick"}, func(_ context.Context, o session.Observation) ([]session.SourceState, error) {
			if len(o.Previous) != 1 || string(o.Previous["b/quick"]) != "7" {
				t.Errorf("previous = %v, want its own value only", o.Previous)
			}
			return []session.SourceState{{Key: "b/quick", State: session.SourceValue, Value: json.RawMessage(`1`), Baseline: "B"}}, nil
		}}
		previous := map[string]json.RawMessage{"a/slow": json.RawMessage(`1`), "b/quick": json.RawMessage(`7`)}
		got := sampler(250*time.Millisecond).Observe(t.Context(), []Source{{Name: "a", Source: slow}, {Name: "b", Source: quick}},
			session.Observation{Previous: previous})
		if len(got) != 2 || got[0].State != session.SourceUnavailable || got[1].State != session.SourceValue {
			t.Errorf("Observe = %+v", got)
		}
	})
}
