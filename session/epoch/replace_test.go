package epoch

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/schema"
)

func TestReplaceTellsEverythingAnew(t *testing.T) {
	snapshot := session.Snapshot{"k/a": admitted(`1`, "a is gone"), "k/b": {Value: json.RawMessage(`1`), Flips: MaxFlips, At: now.UnixMilli()}}
	got, err := Replace(running(snapshot), []Observed{value("k/b", `2`, "B", "B2", ""), state("k/new", session.SourceUnavailable, false)}, "compacted", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Outcome{Change: session.ContextReplaced{Baseline: "B", Reason: "compacted", Snapshot: session.Snapshot{"k/b": based(`2`, "", 1)}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReplaceIsBlockedByWhatWasAdmitted(t *testing.T) {
	snapshot := session.Snapshot{"k/a": admitted(`1`, "gone"), "k/b": admitted(`1`, ""), "k/c": admitted(`1`, "")}
	got, err := Replace(running(snapshot), []Observed{state("k/c", session.SourceUnavailable, false), value("k/b", `2`, "B", "", ""),
		state("k/a", session.SourceUnavailable, false)}, "compacted", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Outcome{Blocked: []string{"k/c", "k/a"}}, got); diff != "" {
		t.Error(diff)
	}
}

// specified is a source with schemas that counts how often it is asked.
type specified struct {
	answering
	schemas map[string]json.RawMessage
}

func (s specified) Spec() session.SourceSpec { return session.SourceSpec{Schemas: s.schemas} }

func TestAStoredValueThatDoesNotFitReplacesTheEpoch(t *testing.T) {
	asked := 0
	source := specified{answering{[]string{"k/a"}, func(_ context.Context, o session.Observation) ([]session.SourceState, error) {
		asked++
		if len(o.Previous) != 0 {
			t.Errorf("the source is given %s, which it does not understand", o.Previous["k/a"])
		}
		return []session.SourceState{{Key: "k/a", State: session.SourceValue, Value: json.RawMessage(`2`), Baseline: "A is 2", Update: "A is now 2"}}, nil
	}}, map[string]json.RawMessage{"k/a": json.RawMessage(`{"type":"integer"}`)}}
	epoch := running(session.Snapshot{"k/a": admitted(`"one"`, "")})
	observed := sampler(time.Second).Observe(t.Context(), []Source{{Name: "k", Source: source}},
		session.Observation{Previous: map[string]json.RawMessage{"k/a": epoch.Snapshot["k/a"].Value}})
	got, err := Reconcile(epoch, observed, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Outcome{Change: session.ContextReplaced{Baseline: "A is 2", Snapshot: session.Snapshot{"k/a": based(`2`, "", 6)},
		Reason: "the stored value of the source k/a does not fit its schema: got string, want integer"}}
	if diff := cmp.Diff(want, got); diff != "" || asked != 1 {
		t.Errorf("asked %d times; %s", asked, diff)
	}
	blocked, err := Reconcile(running(session.Snapshot{"k/a": admitted(`"one"`, ""), "k/b": admitted(`1`, "")}),
		append(observed, state("k/b", session.SourceUnavailable, false)), now, nil)
	if diff := cmp.Diff(Outcome{Blocked: []string{"k/b"}}, blocked); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestAValueIsHeldToTheSourcesOwnSchema(t *testing.T) {
	var logged strings.Builder
	source := specified{answering{[]string{"k/a"}, func(context.Context, session.Observation) ([]session.SourceState, error) {
		return []session.SourceState{{Key: "k/a", State: session.SourceValue, Value: json.RawMessage(`"x"`), Baseline: "A"}}, nil
	}}, map[string]json.RawMessage{"k/a": json.RawMessage(`{"type":"integer"}`)}}
	s := Sampler{Timeout: time.Second, Schemas: &schema.Cache{}, Metrics: &Metrics{}, Logger: hclog.New(&hclog.LoggerOptions{Output: &logged})}
	got := s.Observe(t.Context(), []Source{{Name: "k", Source: source}}, session.Observation{})
	if len(got) != 1 || got[0].State != session.SourceUnavailable {
		t.Errorf("%+v, want k/a unavailable", got)
	}
	if !strings.Contains(logged.String(), `the value of \"k/a\" does not fit its schema: got string, want integer`) {
		t.Errorf("logged %s", logged.String())
	}
	if counts := s.Metrics.Counts().Sources; len(counts) != 1 || counts[0].Observations != 1 || counts[0].Unavailable != 1 {
		t.Errorf("counted %+v", counts)
	}
}

func TestAnEmptyTextNamesKeyAndKind(t *testing.T) {
	for want, state := range map[string]session.SourceState{
		`the baseline of "k/a" is empty`:     {Baseline: " \n"},
		`the update of "k/a" is empty`:       {Baseline: "A", Update: " "},
		`the removal text of "k/a" is empty`: {Baseline: "A", Removed: "\t"},
	} {
		state.Key, state.State, state.Value = "k/a", session.SourceValue, json.RawMessage(`1`)
		if err := check([]string{"k/a"}, []session.SourceState{state}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
