package runner_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// When prompts join, and how long an activity is.
func TestInboxCases(t *testing.T) {
	Cases(t, "E", []Case{
		{Number: 131, Text: "A steer that is admitted during a turn joins at the next boundary, also when that turn asked for no continuation.", Run: e131},
		{Number: 133, Text: "A queued prompt that is admitted during an activity starts after that activity has ended.", Run: e133},
		{Number: 134, Text: "Two prompts that were queued while the session was idle make two activities, in the order of their admission; a steer " +
			"during the first one joins it.", Run: e134},
		{Number: 136, Text: "Any number of queued prompts runs in one drain: each has an activity, and turns, of its own.", Run: e136},
		{Number: 137, Text: "An activity has a limit of turns, also when the agent has no limit of steps.",
			Ours: "runner.max_turns is 25 by default: after the 25th turn an activity with work left fails with the code max_turns. 0 is no limit.", Run: e137},
		{Number: 139, Text: "A steer that joins at an agent's last step starts its count of steps anew, so tools can be called.", Run: e139},
	})
}

func e131(t *testing.T) {
	w := New(t, Options{})
	reached, open := make(chan struct{}), make(chan struct{})
	w.Provider.Script(Then(Gate(reached, open), Say("One")), Say("Two"))
	id := w.Create()
	w.Prompt(id, "first", session.Steer)
	<-reached
	w.Admit(id, "late", session.Steer) // wakes nobody
	close(open)
	w.Settled(id, 1)
	if diff := cmp.Diff([]string{"first", "late"}, lastTexts(w)); diff != "" {
		t.Error(diff)
	}
	want := []string{"session.prompt.promoted", "session.turn.started", "session.step.started", "session.text.ended", "session.step.ended", "session.activity.ended"}
	if diff := cmp.Diff(want, types(w, id, "session.step.ended", 1)); diff != "" {
		t.Error(diff)
	}
}

func e133(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", echo(w))
	reached, open := make(chan struct{}), make(chan struct{})
	w.Provider.Script(Then(Gate(reached, open), Calls("echo", `{}`)), Say("One"), Say("Two"))
	id := w.Create()
	w.Prompt(id, "first", session.Steer)
	<-reached
	w.Prompt(id, "queued", session.Queue)
	close(open)
	w.Settled(id, 2)
	var ends, promoted int64
	for _, event := range events(w, id) {
		switch event.Type {
		case session.ActivityEnded{}.EventType():
			if ends == 0 {
				ends = event.Seq
			}
		case session.PromptPromoted{}.EventType():
			promoted = event.Seq
		}
	}
	if promoted < ends {
		t.Errorf("the queued prompt was promoted at %d, before the first activity ended at %d", promoted, ends)
	}
	if n := len(w.Provider.Requests()); n != 3 || lastTexts(w)[2] != "queued" {
		t.Errorf("requests end with %q", lastTexts(w))
	}
}

func e134(t *testing.T) {
	w := New(t, Options{})
	id := w.Create()
	w.Admit(id, "one", session.Queue)
	w.Admit(id, "two", session.Queue)
	w.Provider.Script(func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		w.Admit(id, "steer", session.Steer)
		Say("One")(ctx, request, yield)
	}, Say("Steered"), Say("Two"))
	w.Run(id)
	if diff := cmp.Diff([]string{"one", "steer", "two"}, lastTexts(w)); diff != "" {
		t.Error(diff)
	}
	var turns []string
	activities := map[string]int{}
	for _, turn := range payloads[session.TurnStarted](w, id) {
		if activities[turn.Activity] == 0 {
			activities[turn.Activity] = len(activities) + 1
		}
		turns = append(turns, fmt.Sprintf("activity %d turn %d", activities[turn.Activity], turn.Turn))
	}
	if diff := cmp.Diff([]string{"activity 1 turn 1", "activity 1 turn 2", "activity 2 turn 1"}, turns); diff != "" {
		t.Error(diff)
	}
}

func e136(t *testing.T) {
	w := New(t, Options{})
	id := w.Create()
	var want []string
	for n := range 26 {
		want = append(want, fmt.Sprintf("prompt %d", n))
		w.Admit(id, want[n], session.Queue)
		w.Provider.Script(Say("ok"))
	}
	put(w, id, session.ResumeRequested{})
	if err := w.Runner.Drain(t.Context(), &session.Work{Session: id}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, lastTexts(w)); diff != "" {
		t.Error(diff)
	}
	completed := 0
	for _, ended := range payloads[session.ActivityEnded](w, id) {
		if ended.Outcome == session.Completed {
			completed++
		}
	}
	if completed != 26 {
		t.Errorf("%d activities completed, want 26", completed)
	}
}

func e137(t *testing.T) {
	for name, test := range map[string]struct {
		limit, requests int
		outcome         session.Outcome
		code            string
	}{
		"the default limit": {runner.DefaultConfig().MaxTurns, 25, session.Failed, session.FailureMaxTurns},
		"no limit":          {0, 27, session.Completed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{Config: configured(func(c *runner.Config) { c.MaxTurns = test.limit })})
			w.Contribute("core/tools", echo(w))
			for n := range 26 {
				w.Provider.Script(Calls("echo", fmt.Sprintf(`{"n":%d}`, n)))
			}
			w.Provider.Script(Say("Done"))
			id := w.Create()
			w.Prompt(id, "Loop", session.Steer)
			w.Settled(id, 1)
			if got := ended(w, id); got.Outcome != test.outcome || code(got.Error) != test.code {
				t.Errorf("ended %+v", got)
			}
			if n := len(w.Provider.Requests()); n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
			if n := len(payloads[session.ToolSucceeded](w, id)); n != min(test.requests, 26) {
				t.Errorf("%d calls settled", n)
			}
		})
	}
}

func e139(t *testing.T) {
	w := New(t, Options{Agents: builder(func(a *session.Agent) { a.Steps = 2 })})
	w.Contribute("core/tools", echo(w))
	id := w.Create()
	w.Provider.Script(func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		w.Admit(id, "and this", session.Steer)
		Calls("echo", `{"n":1}`)(ctx, request, yield)
	}, Calls("echo", `{"n":2}`), Say("Done"))
	w.Prompt(id, "Do this", session.Steer)
	w.Settled(id, 1)
	var got []string
	for i, turn := range payloads[session.TurnStarted](w, id) {
		got = append(got, fmt.Sprintf("turn %d step %d tools %s", turn.Turn, turn.Step, w.Provider.Requests()[i].ToolChoice))
	}
	if diff := cmp.Diff([]string{"turn 1 step 1 tools auto", "turn 2 step 1 tools auto", "turn 3 step 2 tools none"}, got); diff != "" {
		t.Error(diff)
	}
	if n := len(payloads[session.ToolSucceeded](w, id)); n != 2 {
		t.Errorf("%d calls succeeded, want 2", n)
	}
}
