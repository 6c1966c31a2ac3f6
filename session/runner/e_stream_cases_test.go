package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// How a model's answer becomes the session's.
func TestStreamCases(t *testing.T) {
	Cases(t, "E", []Case{
		{Number: 104, Text: "Text that arrives in fragments and is never ended is recorded once, whole, when the answer ends.", Run: e104},
		{Number: 106, Text: "An answer with nothing in it leaves no message, and the activity completes.",
			Ours: "The provider has to say that the answer is finished: a stream that just ends is incomplete, which is tried again and then " +
				"fails. An answer that only tells what it used leaves a message, so that the use is counted.", Run: e106},
		{Number: 107, Text: "Two blocks of text whose fragments alternate become two parts, each with the whole of its own text.", Run: e107},
		{Number: 109, Text: "Arguments that come after the end of their call, or under another tool's name, break the grammar of the stream.",
			Ours: "The step fails with the code protocol and keeps what came before; the session can go on.", Run: e109},
		{Number: 110, Text: "A call is pending while its arguments arrive, and running, with them parsed, once they are whole.",
			Ours: "A pending call is live and not recorded: it becomes an event, with the raw text that arrived, only when the answer breaks off.", Run: e110},
		{Number: 112, Text: `Arguments that are JSON but no object are stored and handed to the tool as {"value": …}.`, Run: e112},
		{Number: 145, Text: "What the provider signed in an answer that ended in an error is not sent to it again.", Run: e145},
		{Number: 146, Text: "A count of tokens below zero is stored as zero.",
			Ours: "Counts are whole numbers from the provider's codec on, so there is no other number to mend.", Run: e146},
	})
}

func e104(t *testing.T) {
	w := New(t, Options{})
	w.Provider.Script(answering(Delta("He"), Delta("llo")))
	id := w.Create()
	w.Prompt(id, "Hi", session.Steer)
	w.Settled(id, 1)
	if got := only(t, payloads[session.TextEnded](w, id)); got.Text != "Hello" {
		t.Errorf("recorded %+v", got)
	}
	if part := only(t, only(t, assistants(w, id)).Parts); part.Text != "Hello" || part.Type != session.MessagePartText {
		t.Errorf("part %+v", part)
	}
}

func e106(t *testing.T) {
	for name, test := range map[string]struct {
		turn     Turn
		outcome  session.Outcome
		code     string
		messages int
	}{
		"finished":       {answering(), session.Completed, "", 0},
		"used something": {answering(Usage(7, 0)), session.Completed, "", 1},
		"not finished":   {Events(), session.Failed, session.ProviderIncomplete, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Provider.Script(test.turn)
			id := w.Create()
			w.Prompt(id, "Hi", session.Steer)
			w.Settled(id, 1)
			if got := ended(w, id); got.Outcome != test.outcome || code(got.Error) != test.code {
				t.Errorf("ended %+v", got)
			}
			if got := assistants(w, id); len(got) != test.messages {
				t.Errorf("messages %+v", got)
			}
		})
	}
}

func e107(t *testing.T) {
	w := New(t, Options{})
	block := func(id, text string) session.ModelEvent {
		return session.ModelEvent{Type: session.EventTextDelta, ID: id, Text: text}
	}
	w.Provider.Script(answering(block("a", "one "), block("b", "three "), block("a", "two"), block("b", "four"),
		session.ModelEvent{Type: session.EventTextEnd, ID: "a"}))
	id := w.Create()
	w.Prompt(id, "Hi", session.Steer)
	w.Settled(id, 1)
	var got []string
	for _, part := range only(t, assistants(w, id)).Parts {
		got = append(got, part.ID+": "+part.Text)
	}
	if diff := cmp.Diff([]string{"a: one two", "b: three four"}, got); diff != "" {
		t.Error(diff)
	}
}

func e109(t *testing.T) {
	late := session.ModelEvent{Type: session.EventToolDelta, ID: "c", Text: "{}"}
	other := session.ModelEvent{Type: session.EventToolDelta, ID: "c", Name: "another", Text: "{}"}
	for name, test := range map[string]struct {
		events []session.ModelEvent
		state  session.ToolState
	}{
		"after the end":      {append(callOf("c", "echo", `{}`), late), session.ToolStateCompleted},
		"under another name": {append(callOf("c", "echo", "")[:1], other), session.ToolStateFailed},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Contribute("core/tools", echo(w))
			w.Provider.Script(Then(Events(Delta("Let me see.")), answering(test.events...)), Say("Better"))
			id := w.Create()
			w.Prompt(id, "Go", session.Steer)
			w.Settled(id, 1)
			if got := ended(w, id); got.Outcome != session.Failed || code(got.Error) != session.ProviderProtocol {
				t.Errorf("ended %+v", got)
			}
			step := only(t, assistants(w, id))
			if len(step.Parts) != 2 || step.Parts[0].Text != "Let me see." || step.Parts[1].Tool.State != test.state || code(step.Error) != session.ProviderProtocol {
				t.Errorf("step %+v", step)
			}
			w.Run(id)
		})
	}
}

func e110(t *testing.T) {
	t.Run("whole", func(t *testing.T) {
		w := New(t, Options{})
		id := w.Create()
		running, release := make(chan struct{}, 1), make(chan struct{})
		blocking(w, "slow", running, release)
		call := callOf("c", "slow", `{"a":1}`)
		w.Provider.Script(func(_ context.Context, _ session.ModelRequest, yield func(session.ModelEvent, error) bool) {
			yield(call[0], nil)
			yield(call[1], nil)
			want := []session.OpenPart{{Message: w.Live.Open(id)[0].Message, Part: "c", Kind: session.LiveToolInput, Text: `{"a":1}`}}
			if diff := cmp.Diff(want, w.Live.Open(id)); diff != "" || len(only(t, assistants(w, id)).Parts) != 0 {
				t.Errorf("pending: %s, recorded %+v", diff, assistants(w, id))
			}
			yield(call[2], nil)
			<-running
			if got := only(t, assistants(w, id)).Parts[0].Tool; got.State != session.ToolStateRunning || string(got.Input) != `{"a":1}` {
				t.Errorf("running: %+v", got)
			}
			close(release)
			yield(Finish(session.FinishToolCalls), nil)
		}, Say("Done"))
		w.Prompt(id, "Go", session.Steer)
		w.Settled(id, 1)
		if got := assistants(w, id)[0].Parts[0].Tool; got.State != session.ToolStateCompleted || got.Raw != "" {
			t.Errorf("settled: %+v", got)
		}
	})
	t.Run("broken off", func(t *testing.T) {
		w := New(t, Options{})
		w.Contribute("core/tools", echo(w))
		broken := &session.ProviderError{Class: session.ProviderTransport, Message: "reset"}
		w.Provider.Script(failing(broken, callOf("c", "echo", `{"pa`)[:2]...), Say("Again"))
		id := w.Create()
		w.Prompt(id, "Go", session.Steer)
		w.Settled(id, 1)
		if got := only(t, payloads[session.ToolInputEnded](w, id)); got.Text != `{"pa` || got.Name != "echo" || got.Call != "c" {
			t.Errorf("recorded %+v", got)
		}
		got := only(t, assistants(w, id)).Parts[0].Tool
		if got.State != session.ToolStateFailed || got.Raw != `{"pa` || string(got.Input) != "{}" || got.Error.Message != "Tool execution interrupted" {
			t.Errorf("call %+v", got)
		}
		w.Run(id)
		if got := w.Provider.Requests()[1].Messages; len(got) != 1 {
			t.Errorf("the next request repeats what was never a call: %+v", got)
		}
	})
}

func e112(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `[1, 2]`, `"text"`, `7`), Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	var got []string
	for _, part := range assistants(w, id)[0].Parts {
		got = append(got, string(part.Tool.Input)+" → "+part.Tool.Content[0].Text)
	}
	var want []string
	for _, input := range []string{`{"value":[1,2]}`, `{"value":"text"}`, `{"value":7}`} {
		want = append(want, input+" → echo "+input)
	}
	if diff := cmp.Diff(want, got, cmp.Transformer("compact", func(s string) string { return strings.ReplaceAll(s, ", ", ",") })); diff != "" {
		t.Error(diff)
	}
}

func e145(t *testing.T) {
	think := []session.ModelEvent{
		{Type: session.EventReasoningDelta, ID: "r", Text: "Let me think"},
		{Type: session.EventReasoningEnd, ID: "r", Metadata: raw(`{"signature":"s"}`)},
		Delta("So"),
	}
	for name, test := range map[string]struct {
		first    Turn
		metadata string
		kind     session.PartType
	}{
		"ended":  {answering(think...), `{"signature":"s"}`, session.PartReasoning},
		"failed": {failing(&session.ProviderError{Class: session.ProviderInternal, Message: "gone"}, think...), "", session.PartText},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			w.Provider.Script(test.first, Say("Done"))
			id := w.Create()
			w.Prompt(id, "Go", session.Steer)
			w.Settled(id, 1)
			w.Run(id)
			got := w.Provider.Requests()[1].Messages[1].Parts[0]
			if string(got.Metadata) != test.metadata || got.Text != "Let me think" || got.Type != test.kind {
				t.Errorf("sent again as %+v", got)
			}
		})
	}
}

func e146(t *testing.T) {
	w := New(t, Options{})
	w.Provider.Script(answering(Delta("Hi"), session.ModelEvent{Type: session.EventUsage,
		Usage: session.Usage{Input: -5, Output: 3, Reasoning: -1, CacheRead: -2, CacheWrite: 4}}))
	id := w.Create()
	w.Prompt(id, "Hi", session.Steer)
	w.Settled(id, 1)
	want := &session.Usage{Output: 3, CacheWrite: 4}
	if diff := cmp.Diff(want, only(t, payloads[session.StepEnded](w, id)).Usage); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, only(t, assistants(w, id)).Usage); diff != "" {
		t.Error(diff)
	}
}
