package runner_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// What becomes of calls, ours and the provider's.
func TestToolCases(t *testing.T) {
	Cases(t, "E", []Case{
		{Number: 113, Text: "Two calls of one answer both start while it still streams, and the next request waits until both have settled.", Run: e113},
		{Number: 115, Text: "After a call has settled, the next request holds the call and its result as the store has them.", Run: e115},
		{Number: 116, Text: "A provider that uses the same call id in two answers gets each result with the answer that asked for it.", Run: e116},
		{Number: 118, Text: "A tool that breaks fails its call, and the model is told and goes on.",
			Ours: "The model learns that the tool broke; why is in the host's log alone.", Run: e118},
		{Number: 119, Text: "A call that the provider ran itself runs nothing here and asks for no further turn; the next request has the " +
			"call and its result inside the assistant's message.", Run: e119},
		{Number: 121, Text: "When the stream fails while a call of the provider's own is without a result, that call fails first, then the step, " +
			"then the activity.", Run: e121},
		{Number: 122, Text: "A provider that reports an error after it called a local tool ends the step as failed and gets no further request.",
			Ours: "The tool is waited for and its result is kept, because what it did is done; and the activity fails, whichever way the " +
				"provider tells its error.", Run: e122},
		{Number: 124, Text: "A stream that breaks while local tools run waits for them and records their results before the activity fails.", Run: e124},
	})
}

func e113(t *testing.T) {
	w := New(t, Options{})
	running, release := make(chan struct{}, 2), make(chan struct{})
	blocking(w, "slow", running, release)
	calls := append(callOf("x", "slow", `{"n":1}`), callOf("y", "slow", `{"n":2}`)...)
	w.Provider.Script(Then(Events(calls...), func(_ context.Context, _ session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		<-running
		<-running // both run, and the answer has not ended
		yield(Finish(session.FinishToolCalls), nil)
		close(release)
	}), Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	want := []string{"session.tool.called", "session.tool.called", "session.tool.success", "session.tool.success", "session.step.ended",
		"session.turn.started", "session.step.started", "session.text.ended", "session.step.ended", "session.activity.ended"}
	if diff := cmp.Diff(want, types(w, id, "session.step.started", 1)); diff != "" {
		t.Error(diff)
	}
	if results := w.Provider.Requests()[1].Messages[2]; len(results.Parts) != 2 || results.Parts[0].Text != "released" || results.Parts[1].Text != "released" {
		t.Errorf("results %+v", results)
	}
}

func e115(t *testing.T) {
	w := New(t, Options{})
	long := strings.Repeat("a line\n", 5000) // more than a model is shown of one result
	w.Contribute("core/tools", tool(w, "talk", func(context.Context, session.ToolCall) (session.ToolOutput, error) { return Output(long), nil }))
	w.Provider.Script(Calls("talk", `{"a":1}`), Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	step := assistants(w, id)[0]
	stored := step.Parts[0].Tool.Content[0].Text
	if len(stored) >= len(long) {
		t.Errorf("the result was stored with %d bytes", len(stored))
	}
	want := []session.ModelMessage{
		{ID: step.ID, Role: session.RoleAssistant, Parts: []session.ModelPart{
			{ID: step.ID + "/0", Type: session.PartToolCall, Call: "call-0", Name: "talk", Input: raw(`{"a":1}`)}}},
		{ID: step.ID + "/results", Role: session.RoleTool, Parts: []session.ModelPart{
			{ID: step.ID + "/0/result", Type: session.PartToolResult, Call: "call-0", Name: "talk", Text: stored}}},
	}
	if diff := cmp.Diff(want, w.Provider.Requests()[1].Messages[1:]); diff != "" {
		t.Error(diff)
	}
}

func e116(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `{"n":1}`), Calls("echo", `{"n":2}`), Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	steps := assistants(w, id)
	for i, want := range []string{`echo {"n":1}`, `echo {"n":2}`} {
		part := only(t, steps[i].Parts)
		if part.ID != "call-0" || part.Tool.Content[0].Text != want {
			t.Errorf("answer %d has %+v", i+1, part)
		}
		if settled := payloads[session.ToolSucceeded](w, id)[i]; settled.Message != steps[i].ID || settled.Content[0].Text != want {
			t.Errorf("settlement %d: %+v", i+1, settled)
		}
	}
}

func e118(t *testing.T) {
	for name, broken := range map[string]func() error{
		"answers an error": func() error { return errors.New("the password is 1234") },
		"panics":           func() error { panic("the password is 1234") },
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Contribute("core/tools", echo(w), tool(w, "broken", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
				return session.ToolOutput{}, broken()
			}))
			calls := append(callOf("x", "broken", `{}`), callOf("y", "echo", `{}`)...)
			w.Provider.Script(answering(calls...), Say("Well"))
			id := w.Create()
			w.Prompt(id, "Go", session.Steer)
			w.Settled(id, 1)
			failed := only(t, payloads[session.ToolFailed](w, id))
			if failed.Call != "x" || failed.Error.Kind != "failed" || !strings.HasPrefix(failed.Error.Message, "Tool execution failed: ") ||
				strings.Contains(failed.Error.Message, "password") {
				t.Errorf("failed %+v", failed)
			}
			results := w.Provider.Requests()[1].Messages[2].Parts
			if len(results) != 2 || !results[0].Error || results[0].Text != failed.Error.Message || results[1].Error || results[1].Text != "echo {}" {
				t.Errorf("results %+v", results)
			}
			if ended := ended(w, id); ended.Outcome != session.Completed {
				t.Errorf("ended %+v", ended)
			}
		})
	}
}

// hosted is a call of the provider's own, up to the end of its arguments.
func hosted(id, name, input string) []session.ModelEvent {
	events := callOf(id, name, input)
	events[0].Hosted, events[0].Metadata = true, raw(`{"call":"signed"}`)
	return events
}

func e119(t *testing.T) {
	w := New(t, Options{})
	var runs atomic.Int32
	w.Contribute("core/tools", tool(w, "search", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
		runs.Add(1)
		return Output("never"), nil
	}))
	events := append(hosted("h", "search", `{"q":"x"}`),
		session.ModelEvent{Type: session.EventToolResult, ID: "h", Text: "three pages", Result: raw(`{"pages":3}`), Metadata: raw(`{"result":"signed"}`)},
		Delta("Found."))
	w.Provider.Script(answering(events...), Say("Again"))
	id := w.Create()
	w.Prompt(id, "Search", session.Steer)
	w.Settled(id, 1)
	only(t, w.Provider.Requests())
	if runs.Load() != 0 {
		t.Error("the local tool of the same name ran")
	}
	w.Run(id)
	messages := w.Provider.Requests()[1].Messages
	if len(messages) != 2 {
		t.Fatalf("messages %+v", messages)
	}
	answer := messages[1].ID
	want := []session.ModelPart{
		{ID: answer + "/0", Type: session.PartToolCall, Call: "h", Name: "search", Input: raw(`{"q":"x"}`), Hosted: true, Metadata: raw(`{"call":"signed"}`)},
		{ID: answer + "/0/result", Type: session.PartToolResult, Call: "h", Name: "search", Text: "three pages", Hosted: true,
			Result: raw(`{"pages":3}`), Metadata: raw(`{"result":"signed"}`)},
		{ID: answer + "/1", Type: session.PartText, Text: "Found."},
	}
	if diff := cmp.Diff(want, messages[1].Parts); diff != "" {
		t.Error(diff)
	}
}

func e121(t *testing.T) {
	w := New(t, Options{})
	broken := &session.ProviderError{Class: session.ProviderOverloaded, Message: "busy", Status: 529, Retryable: true}
	w.Provider.Script(failing(broken, hosted("h", "search", `{}`)...))
	id := w.Create()
	w.Prompt(id, "Search", session.Steer)
	w.Settled(id, 1)
	want := []string{"session.tool.called", "session.tool.failed", "session.step.failed", "session.activity.ended"}
	if diff := cmp.Diff(want, types(w, id, "session.step.started", 1)); diff != "" {
		t.Error(diff)
	}
	if failed := only(t, payloads[session.ToolFailed](w, id)); failed.Error.Message != "Provider did not return a tool result" {
		t.Errorf("call %+v", failed)
	}
	failure := &session.Failure{Code: session.ProviderOverloaded, Message: "busy", Status: 529, Retryable: true}
	if diff := cmp.Diff(session.ActivityEnded{Activity: ended(w, id).Activity, Outcome: session.Failed, Error: failure}, ended(w, id)); diff != "" {
		t.Error(diff)
	}
}

// brokenWhileRunning has a stream fail while a local tool runs, and answers how the
// activity ended.
func brokenWhileRunning(t *testing.T, err error) session.ActivityEnded {
	t.Helper()
	w := New(t, Options{})
	running, release := make(chan struct{}, 1), make(chan struct{})
	blocking(w, "slow", running, release)
	w.Provider.Script(Then(Events(callOf("c", "slow", `{}`)...), func(_ context.Context, _ session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		<-running
		yield(session.ModelEvent{}, err)
		close(release) // the runner has left the stream
	}), Say("too many"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	want := []string{"session.tool.called", "session.tool.success", "session.step.failed", "session.activity.ended"}
	if diff := cmp.Diff(want, types(w, id, "session.step.started", 1)); diff != "" {
		t.Error(diff)
	}
	only(t, w.Provider.Requests())
	if got := only(t, assistants(w, id)); got.Parts[0].Tool.Content[0].Text != "released" || got.Error == nil {
		t.Errorf("answer %+v", got)
	}
	return ended(w, id)
}

func e122(t *testing.T) {
	reported := &session.ProviderError{Class: session.ProviderContentPolicy, Message: "not allowed"}
	if ended := brokenWhileRunning(t, reported); ended.Outcome != session.Failed || code(ended.Error) != session.ProviderContentPolicy {
		t.Errorf("ended %+v", ended)
	}
}

func e124(t *testing.T) {
	if ended := brokenWhileRunning(t, errors.New("connection reset")); ended.Outcome != session.Failed || code(ended.Error) != session.FailureInternal {
		t.Errorf("ended %+v", ended)
	}
}
