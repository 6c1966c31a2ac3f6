package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// What stops an activity, and what is left.
func TestHaltCases(t *testing.T) {
	Cases(t, "E", []Case{
		{Number: 125, Text: "An interrupt while a local tool runs records the call and the step as interrupted.", Run: e125},
		{Number: 127, Text: "A question that a person dismisses fails its call as interrupted, and the activity halts without another request.", Run: e127},
		{Number: 128, Text: "A permission that a person declines halts the activity like a dismissed question; one that a rule denies, or " +
			"that a person corrects with a message, fails its call, and the model goes on.", Run: e128},
		{Number: 130, Text: "A call whose arguments never became whole fails as interrupted when the session is recovered, and so does one of the " +
			"provider's own, which stays what it is: with its metadata, and with its result inside the assistant's message.", Run: e130},
		{Number: 140, Text: "Prompts that wait when a turn is interrupted go on waiting, and a later resume sends them.", Run: e140},
		{Number: 142, Text: "Two resumes at the same time of a session whose provider fails share one request and its failure; a later resume tries again.",
			Ours: "A resume does not wait: both find the failure in the log, as everybody who follows the session does.", Run: e142},
	})
}

func e125(t *testing.T) {
	w := New(t, Options{})
	running := make(chan struct{}, 1)
	blocking(w, "slow", running, nil)
	w.Provider.Script(Calls("slow", `{}`), Say("too many"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	<-running
	interrupt(w, id)
	want := []string{"session.tool.called", "session.interrupt.requested", "session.tool.failed", "session.step.failed", "session.activity.ended"}
	if diff := cmp.Diff(want, types(w, id, "session.step.started", 1)); diff != "" {
		t.Error(diff)
	}
	if got := only(t, payloads[session.ToolFailed](w, id)); got.Error != (session.ToolError{Kind: "cancelled", Message: "Tool execution interrupted"}) {
		t.Errorf("call %+v", got)
	}
	if got := only(t, payloads[session.StepFailed](w, id)); got.Error.Message != "Provider turn interrupted" {
		t.Errorf("step %+v", got)
	}
	if got := ended(w, id); got.Outcome != session.Interrupted {
		t.Errorf("ended %+v", got)
	}
	only(t, w.Provider.Requests())
}

// halted holds the session to one request and one call that failed as interrupted.
func halted(t *testing.T, w *World, id string) {
	t.Helper()
	w.Settled(id, 1)
	if got := ended(w, id); got.Outcome != session.Halted || code(got.Error) != session.FailureDeclined {
		t.Errorf("ended %+v", got)
	}
	if got := only(t, payloads[session.ToolFailed](w, id)); got.Error.Message != "Tool execution interrupted" {
		t.Errorf("call %+v", got)
	}
	if got := only(t, assistants(w, id)); code(got.Error) != session.FailureDeclined {
		t.Errorf("answer %+v", got)
	}
	only(t, w.Provider.Requests())
}

func e127(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", tool(w, "ask", func(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
		asker, ok := call.Host.(session.Questioner)
		if !ok {
			return session.ToolOutput{}, errors.New("nobody can be asked")
		}
		_, err := asker.Question(ctx, []session.Question{{Text: "Which?", Custom: true}}, true)
		return Output("answered"), err
	}))
	w.Provider.Script(Calls("ask", `{}`), Say("too many"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Await(id, session.QuestionAsked{}.EventType(), 1)
	put(w, id, session.QuestionDismissed{Request: only(t, payloads[session.QuestionAsked](w, id)).Request})
	halted(t, w, id)
}

func e128(t *testing.T) {
	rules := []session.Rule{{Action: "echo", Resource: "ask", Effect: session.Ask}, {Action: "echo", Resource: "never", Effect: session.Deny}}
	start := func(t *testing.T, path string) (*World, string) {
		w := New(t, Options{Rules: rules})
		w.Contribute("core/tools", echo(w))
		w.Provider.Script(Calls("echo", `{"path":"`+path+`"}`), Say("Then not"))
		id := w.Create()
		w.Prompt(id, "Go", session.Steer)
		return w, id
	}
	answer := func(w *World, id, feedback string) {
		w.Await(id, session.PermissionAsked{}.EventType(), 1)
		request := only(w.T.(*testing.T), payloads[session.PermissionAsked](w, id)).Request
		if _, err := w.Permissions.Reply(w.T.Context(), session.System(), request, session.ReplyReject, feedback); err != nil {
			w.T.Fatal(err)
		}
	}
	told := func(t *testing.T, w *World, id, message string) {
		t.Helper()
		w.Settled(id, 1)
		if got := ended(w, id); got.Outcome != session.Completed {
			t.Errorf("ended %+v", got)
		}
		if got := only(t, payloads[session.ToolFailed](w, id)); got.Error != (session.ToolError{Kind: "denied", Message: message}) {
			t.Errorf("call %+v", got)
		}
		if got := w.Provider.Requests()[1].Messages[2].Parts[0]; !got.Error || got.Text != message {
			t.Errorf("the model is told %+v", got)
		}
	}
	t.Run("declined", func(t *testing.T) {
		w, id := start(t, "ask")
		answer(w, id, "")
		halted(t, w, id)
	})
	t.Run("corrected", func(t *testing.T) {
		w, id := start(t, "ask")
		answer(w, id, "look into the other one")
		told(t, w, id, "echo on ask was refused: look into the other one")
	})
	t.Run("denied by a rule", func(t *testing.T) {
		w, id := start(t, "never")
		told(t, w, id, "echo on never is denied by the permission rules")
	})
}

// A prompt from before the question waits for a new wish when it is declined, and so
// after a restart; one that came while the question was open is such a wish.
func TestADeclineStopsWhatWasWaiting(t *testing.T) {
	declined := func(t *testing.T, meanwhile string) (*World, string) {
		w := New(t, Options{Rules: []session.Rule{{Action: "echo", Resource: "*", Effect: session.Ask}}})
		w.Contribute("core/tools", echo(w))
		reached, open := make(chan struct{}, 1), make(chan struct{})
		w.Provider.Script(Then(Gate(reached, open), Calls("echo", `{"path":"x"}`)), Say("Two"), Say("Three"))
		id := w.Create()
		w.Prompt(id, "first", session.Steer)
		<-reached
		w.Prompt(id, "before", session.Queue)
		close(open)
		w.Await(id, session.PermissionAsked{}.EventType(), 1)
		if meanwhile != "" {
			w.Prompt(id, meanwhile, session.Queue)
		}
		reply(w, only(t, payloads[session.PermissionAsked](w, id)).Request, session.ReplyReject)
		return w, id
	}
	t.Run("nothing new", func(t *testing.T) {
		w, id := declined(t, "")
		if got := outcome(t, w, id, 1); got.Outcome != session.Halted || len(inbox(w, id)) != 1 {
			t.Fatalf("ended %+v with %d waiting", got, len(inbox(w, id)))
		}
		if again, err := w.Runner.Recover(t.Context(), id); err != nil || again {
			t.Errorf("a new host goes on: %v, %v", again, err)
		}
		w.Run(id)
		if diff := cmp.Diff([]string{"first", "before"}, lastTexts(w)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("asked for meanwhile", func(t *testing.T) {
		w, id := declined(t, "during")
		outcome(t, w, id, 3)
		if diff := cmp.Diff([]string{"first", "before", "during"}, lastTexts(w)); diff != "" {
			t.Error(diff)
		}
	})
}

func e130(t *testing.T) {
	w := New(t, Options{Config: withRecovery(session.RecoverOff)})
	id := w.Create()
	prompt := w.Admit(id, "Go", session.Steer)
	activity, answer := w.Encoder.IDs.New(session.PrefixActivity), message(w)
	model := session.ModelRef{Provider: "scripted", Model: "m1"}
	put(w, id,
		session.ActivityStarted{Activity: activity, Opener: session.OpenedByPrompt},
		session.ContextInitialized{Snapshot: session.Snapshot{}},
		session.PromptPromoted{Message: prompt.ID, Prompt: prompt.Prompt, Created: prompt.Created},
		session.TurnStarted{Activity: activity, Turn: 1, Step: 1, Attempt: 1, Location: "/work", Agent: "build", Model: model},
		session.StepStarted{Message: answer, Agent: "build", Model: model},
		session.ToolCalled{Message: answer, Call: "h", Name: "search", Input: raw(`{"q":"x"}`), Hosted: true, Metadata: raw(`{"call":"signed"}`)},
		session.ToolInputEnded{Message: answer, Call: "c", Name: "echo", Text: `{"pa`})
	if again, err := w.Runner.Recover(t.Context(), id); err != nil || again {
		t.Fatalf("recovered: %v, %v", again, err)
	}
	interrupted := &session.ToolError{Kind: "cancelled", Message: "Tool execution interrupted"}
	settled := w.Encoder.Clock.Now().UnixMilli()
	want := []session.MessagePart{
		{Type: session.MessagePartTool, ID: "h", Metadata: raw(`{"call":"signed"}`), Tool: &session.ToolPart{Name: "search", Hosted: true,
			State: session.ToolStateFailed, Input: raw(`{"q":"x"}`), Error: interrupted, Started: settled, Settled: settled}},
		{Type: session.MessagePartTool, ID: "c", Tool: &session.ToolPart{Name: "echo",
			State: session.ToolStateFailed, Input: raw(`{}`), Raw: `{"pa`, Error: interrupted, Started: settled, Settled: settled}},
	}
	if diff := cmp.Diff(want, only(t, assistants(w, id)).Parts); diff != "" {
		t.Error(diff)
	}
	w.Provider.Script(Say("On we go"))
	w.Run(id)
	parts := []session.ModelPart{
		{ID: answer + "/0", Type: session.PartToolCall, Call: "h", Name: "search", Input: raw(`{"q":"x"}`), Hosted: true},
		{ID: answer + "/0/result", Type: session.PartToolResult, Call: "h", Name: "search", Text: interrupted.Message, Error: true, Hosted: true},
	}
	if diff := cmp.Diff([]session.ModelMessage{{ID: answer, Role: session.RoleAssistant, Parts: parts}}, only(t, w.Provider.Requests()).Messages[1:]); diff != "" {
		t.Error(diff)
	}
}

func e140(t *testing.T) {
	w := New(t, Options{})
	reached := make(chan struct{}, 1)
	w.Provider.Script(Then(Events(Delta("I")), Gate(reached, nil)), Say("Two"), Say("Three"))
	id := w.Create()
	w.Prompt(id, "first", session.Steer)
	<-reached
	w.Prompt(id, "queued", session.Queue)
	w.Prompt(id, "steered", session.Steer)
	interrupt(w, id)
	idle(w, id)
	only(t, w.Provider.Requests())
	var waiting []string
	for _, input := range inbox(w, id) {
		waiting = append(waiting, input.Prompt.Text)
	}
	if diff := cmp.Diff([]string{"queued", "steered"}, waiting); diff != "" {
		t.Error(diff)
	}
	w.Run(id)
	if diff := cmp.Diff([]string{"first", "steered", "queued"}, lastTexts(w)); diff != "" {
		t.Error(diff)
	}
}

func e142(t *testing.T) {
	w := New(t, Options{})
	reached, open := make(chan struct{}, 1), make(chan struct{})
	broken := &session.ProviderError{Class: session.ProviderQuota, Message: "no credit"}
	w.Provider.Script(Then(Gate(reached, open), Fail(broken)), Say("Better"))
	id := w.Create()
	w.Admit(id, "Hi", session.Steer)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, err := w.Sessions.Resume(t.Context(), session.System(), id); err != nil {
				t.Error(err)
			}
		})
	}
	<-reached
	both.Wait()
	close(open)
	idle(w, id)
	only(t, w.Provider.Requests())
	want, _ := json.Marshal(session.Failure{Code: session.ProviderQuota, Message: "no credit"})
	if got, _ := json.Marshal(only(t, payloads[session.ActivityEnded](w, id)).Error); string(got) != string(want) {
		t.Errorf("ended with %s, want %s", got, want)
	}
	w.Run(id)
	if n := len(w.Provider.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}
