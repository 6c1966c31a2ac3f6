package runner_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// idempotently contributes a tool that may be run again.
func idempotently(w *World, name string, run func(context.Context, session.ToolCall) (session.ToolOutput, error)) {
	w.Contribute("core/"+name, w.Kinds.Tools.Contribute(name, 0, session.Tool(Tool{
		Define: session.ToolDefinition{Name: name, Idempotent: true}, Run: run})))
}

// left holds the session to be idle, with every call settled and every answer closed.
func left(t *testing.T, w *World, id string) {
	t.Helper()
	if activity, err := w.Sessions.Activity(t.Context(), id); err != nil || activity != nil {
		t.Errorf("activity %+v, %v", activity, err)
	}
	for _, step := range assistants(w, id) {
		if step.Completed == 0 || step.Error == nil {
			t.Errorf("answer %+v", step)
		}
		for _, part := range step.Parts {
			if part.Tool != nil && part.Tool.Unsettled() {
				t.Errorf("call %+v", part.Tool)
			}
		}
	}
	if open, err := w.Permissions.List(t.Context(), id); err != nil || len(open) != 0 {
		t.Errorf("open requests %v, %v", open, err)
	}
}

// An activity that does not go on after a crash is closed with everything in it: one
// call had not settled, whether it could be run again or not.
func TestAnActivityThatDoesNotGoOnIsClosed(t *testing.T) {
	for name, test := range map[string]struct {
		idempotent bool
		config     func(*runner.Config)
		code       string
	}{
		"recovery is off":                         {false, func(c *runner.Config) { c.Recovery = session.RecoverOff }, session.FailureInterrupted},
		"recovery is off, of an idempotent one":   {true, func(c *runner.Config) { c.Recovery = session.RecoverOff }, session.FailureInterrupted},
		"crashed too often":                       {false, func(c *runner.Config) { c.Recoveries = 0 }, session.FailureRecovery},
		"crashed too often, of an idempotent one": {true, func(c *runner.Config) { c.Recoveries = 0 }, session.FailureRecovery},
	} {
		t.Run(name, func(t *testing.T) {
			contribute := func(w *World, run func(context.Context, session.ToolCall) (session.ToolOutput, error)) {
				if test.idempotent {
					idempotently(w, "look", run)
				} else {
					w.Contribute("core/look", tool(w, "look", run))
				}
			}
			dead := New(t, Options{})
			contribute(dead, quiet)
			dead.Provider.Script(Then(Events(Delta("Let me")), Calls("look", `{}`)), Say("x"))
			id := dead.Create()
			dead.Prompt(id, "Go", session.Steer)
			w := New(t, Options{Dir: crashed(t, dead, id, session.ToolCalled{}.EventType(), 1), Config: configured(test.config)})
			contribute(w, func(context.Context, session.ToolCall) (session.ToolOutput, error) {
				t.Error("the call was run again")
				return Output("again"), nil
			})
			if again, err := w.Runner.Recover(t.Context(), id); err != nil || again {
				t.Fatalf("goes on by itself: %v, %v", again, err)
			}
			if got := ended(w, id); got.Outcome != session.Interrupted || code(got.Error) != test.code {
				t.Errorf("ended %+v", got)
			}
			only(t, payloads[session.ToolFailed](w, id))
			only(t, payloads[session.StepFailed](w, id))
			left(t, w, id)
			w.Provider.Script(Say("On we go"))
			w.Run(id)
		})
	}
}

// An interrupt of an activity that waits for a person closes its answer.
func TestAnInterruptOfAnActivityThatWaits(t *testing.T) {
	options := Options{Rules: []session.Rule{{Action: "echo", Resource: "*", Effect: session.Ask}}}
	dead := New(t, options)
	dead.Contribute("core/tools", echo(dead))
	dead.Provider.Script(Calls("echo", `{}`))
	id := dead.Create()
	dead.Prompt(id, "Go", session.Steer)
	options.Dir = crashed(t, dead, id, session.PermissionAsked{}.EventType(), 1)
	w := New(t, options)
	w.Contribute("core/tools", echo(w))
	if again, err := w.Runner.Recover(t.Context(), id); err != nil || again {
		t.Fatalf("goes on by itself: %v, %v", again, err)
	}
	w.Coordinator.Wake(id, put(w, id, session.InterruptRequested{})[0].Seq)
	idle(w, id)
	if got := ended(w, id); got.Outcome != session.Interrupted {
		t.Errorf("ended %+v", got)
	}
	left(t, w, id)
}

// What the provider runs is not run here, whatever is registered under its name.
func TestHostedCallsAreNotRunAgain(t *testing.T) {
	dead := New(t, Options{})
	dead.Provider.Script(Then(Events(hosted("h", "look", `{}`)...), silent(0, Delta("x"))))
	id := dead.Create()
	dead.Prompt(id, "Go", session.Steer)
	w := New(t, Options{Dir: crashed(t, dead, id, session.ToolCalled{}.EventType(), 1), Config: withRecovery(session.RecoverResume)})
	tool := w.Kinds.Tools.Contribute("look", 0, session.Tool(Tool{Define: session.ToolDefinition{Name: "look", Idempotent: true},
		Run: func(context.Context, session.ToolCall) (session.ToolOutput, error) {
			t.Error("the provider's call was run here")
			return Output("here"), nil
		}}))
	// A scope without a revision, as the call has none.
	if _, err := w.Registries.Replace(registry.Scope{ID: "core/look", Builtin: true, Contributions: []registry.Contribution{tool}}); err != nil {
		t.Fatal(err)
	}
	if again, err := w.Runner.Recover(t.Context(), id); err != nil || !again {
		t.Fatalf("goes on by itself: %v, %v", again, err)
	}
	w.Provider.Script(Say("Done"))
	w.Coordinator.Wake(id, 0)
	if got := outcome(t, w, id, 1); got.Outcome != session.Completed {
		t.Errorf("ended %+v", got)
	}
	if got := only(t, payloads[session.ToolFailed](w, id)); got.Call != "h" || got.Error.Message != "Tool execution interrupted" {
		t.Errorf("call %+v", got)
	}
}

// A resume asks for all that waits, also where a crash comes between: while what it
// opened is worked on, and right behind its end.
func TestWhatWaitsGoesOnBehindAResumeAfterACrash(t *testing.T) {
	for _, test := range []struct {
		event string
		n     int
		again bool
		left  []string // the last texts of the requests to come
	}{
		{session.TurnStarted{}.EventType(), 2, true, []string{"steered", "queued"}},
		{session.ActivityEnded{}.EventType(), 2, false, []string{"queued"}},
	} {
		t.Run(test.event, func(t *testing.T) {
			dead := New(t, Options{})
			reached := make(chan struct{}, 1)
			dead.Provider.Script(Then(Events(Delta("I")), Gate(reached, nil)), Say("Two"), Say("Three"))
			id := dead.Create()
			dead.Prompt(id, "first", session.Steer)
			<-reached
			dead.Prompt(id, "queued", session.Queue)
			dead.Prompt(id, "steered", session.Steer)
			interrupt(dead, id)
			idle(dead, id)
			resume(dead, id)
			dead.Settled(id, 3)
			w := New(t, Options{Dir: crashed(t, dead, id, test.event, test.n), Config: withRecovery(session.RecoverResume)})
			w.Provider.Script(Say("Two"), Say("Three"))
			if again, err := w.Runner.Recover(t.Context(), id); err != nil || again != test.again {
				t.Fatalf("goes on by itself: %v, %v", again, err)
			}
			w.Coordinator.Wake(id, 0)
			w.Settled(id, 3)
			if diff := cmp.Diff(test.left, lastTexts(w)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
