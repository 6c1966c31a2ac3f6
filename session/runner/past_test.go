package runner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// past answers the last turns, and holds that to leaving nothing behind.
func (w *world) past(last int) runner.Past {
	w.T.Helper()
	before, counts := Text(events(w.World, w.id)), w.Runner.ContextCounts()
	past, err := w.Runner.Past(w.T.Context(), w.id, last)
	if err != nil {
		w.T.Fatal(err)
	}
	if diff := cmp.Diff(before, Text(events(w.World, w.id))); diff != "" {
		w.T.Errorf("something was recorded: %s", diff)
	}
	if diff := cmp.Diff(counts, w.Runner.ContextCounts()); diff != "" {
		w.T.Errorf("it was counted as a boundary: %s", diff)
	}
	return past
}

// Without transforms, what is made again of the recorded turns is what was sent.
func TestPastTurnsAreMadeAgain(t *testing.T) {
	w := newWorld(t, Options{Agents: builder(func(a *session.Agent) { a.System = "Be brief" })})
	w.contribute("core/env", "", "core/date")
	w.Contribute("core/tools", echo(w.World))
	w.set("core/date", "Monday")
	if got := w.past(10); len(got.Turns) != 0 || len(got.System) != 2 || got.Observation.Session != w.id {
		t.Errorf("before anything: %+v", got)
	}
	w.Provider.Script(Calls("echo", `{"text":"a"}`), Say("One"))
	w.Admit(w.id, "Hi", session.Steer)
	w.Run(w.id)
	w.turn("More")
	sent := w.Provider.Requests()
	got := w.past(10)
	if len(got.Turns) != 3 || len(sent) != 3 {
		t.Fatalf("%d turns, %d requests", len(got.Turns), len(sent))
	}
	for i, turn := range got.Turns {
		if diff := cmp.Diff(sent[i], turn.Request); diff != "" || turn.Problem != "" {
			t.Errorf("turn %d: %s %s", i, turn.Problem, diff)
		}
	}
	calls := got.Turns[0].Calls
	if len(calls) != 1 || calls[0].Tool != "echo" || string(calls[0].Input) != `{"text":"a"}` || len(got.Turns[1].Calls) != 0 {
		t.Errorf("calls %+v", calls)
	}
	if diff := cmp.Diff([]session.TextPart{{ID: "host/agent", Text: "Be brief"}, {ID: "core/date", Text: w.past(0).System[1].Text}}, got.System); diff != "" || !strings.Contains(got.System[1].Text, "Monday") {
		t.Errorf("system %s", diff)
	}
	if diff := cmp.Diff(sent[2].Tools, got.Tools); diff != "" || string(got.Observation.Previous["core/date"]) == "" {
		t.Errorf("tools %s, previous %s", diff, got.Observation.Previous)
	}
	if last := w.past(1); len(last.Turns) != 1 || last.Turns[0].Message != got.Turns[2].Message {
		t.Errorf("the last one: %+v", last.Turns)
	}
	if none := w.past(0); len(none.Turns) != 0 {
		t.Errorf("no turns: %+v", none.Turns)
	}
	if _, err := w.Runner.Past(t.Context(), "ses_gone", 10); err == nil {
		t.Error("the past of no session")
	}
}
