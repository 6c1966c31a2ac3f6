package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// quiet is a tool's run that answers little.
func quiet(context.Context, session.ToolCall) (session.ToolOutput, error) { return Output("ok"), nil }

func TestTheLastStepKeepsItsToolsAndRunsNone(t *testing.T) {
	w := New(t, Options{Agents: builder(func(a *session.Agent) { a.Steps = 2 })})
	var runs atomic.Int32
	w.Contribute("core/tools", tool(w, "count", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
		runs.Add(1)
		return Output("ok"), nil
	}))
	w.Provider.Script(Calls("count", `{"n":1}`), Then(Events(Delta("One more:")), Calls("count", `{"n":2}`)), Say("too many"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	requests := w.Provider.Requests()
	if len(requests) != 2 || runs.Load() != 1 {
		t.Fatalf("%d requests and %d runs, want 2 and 1", len(requests), runs.Load())
	}
	if diff := cmp.Diff(requests[0].Tools, requests[1].Tools); diff != "" {
		t.Errorf("the tools changed: %s", diff)
	}
	if requests[0].ToolChoice != "auto" || requests[1].ToolChoice != "none" {
		t.Errorf("tool choices %q, %q", requests[0].ToolChoice, requests[1].ToolChoice)
	}
	last := requests[1].Messages[len(requests[1].Messages)-1]
	if last.Role != session.RoleSystem || !strings.HasPrefix(last.Parts[0].Text, "This was the last step") {
		t.Errorf("the last message is %+v", last)
	}
	if got := only(t, payloads[session.ToolFailed](w, id)); got.Error.Kind != "limit" || got.Error.Message != "Tools are disabled after the agent's last step" {
		t.Errorf("call %+v", got)
	}
	if got := ended(w, id); got.Outcome != session.Completed {
		t.Errorf("ended %+v", got)
	}
}

// A prompt after the last step has steps of its own.
func TestTheNextPromptHasStepsAgain(t *testing.T) {
	w := New(t, Options{Agents: builder(func(a *session.Agent) { a.Steps = 1 })})
	w.Provider.Script(Say("One"), Say("Two"))
	id := w.Create()
	for n := range 2 {
		w.Prompt(id, "Go", session.Steer)
		w.Settled(id, n+1)
		if turn := payloads[session.TurnStarted](w, id)[n]; turn.Step != 1 || w.Provider.Requests()[n].ToolChoice != "none" {
			t.Errorf("turn %+v with tool choice %s", turn, w.Provider.Requests()[n].ToolChoice)
		}
	}
}

func TestAnAnswerMayCallSoManyTools(t *testing.T) {
	w := New(t, Options{Config: configured(func(c *runner.Config) { c.MaxCalls = 2 })})
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `{"n":0}`, `{"n":1}`, `{"n":2}`, `{"n":3}`), Calls("echo", `{"n":4}`), Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	var got []string
	for _, step := range assistants(w, id)[:2] {
		for _, part := range step.Parts {
			text := string(part.Tool.State)
			if part.Tool.Error != nil {
				text += " " + part.Tool.Error.Kind
			}
			got = append(got, fmt.Sprintf("%s %s", part.Tool.Input, text))
		}
	}
	want := []string{`{"n":0} completed`, `{"n":1} completed`, `{"n":2} failed limit`, `{"n":3} failed limit`, `{"n":4} completed`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
