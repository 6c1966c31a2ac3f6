package session_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// TestPartsOfAMessage: parts follow one another, a settlement closes the newest call of
// its id once, and what names a message that the session does not have changes nothing.
func TestPartsOfAMessage(t *testing.T) {
	w := sessiontest.New(t, sessiontest.Options{})
	id, other := w.Create(), w.Create()
	message := w.Encoder.IDs.New(session.PrefixMessage)
	input := func(text string) session.ToolCalled {
		return session.ToolCalled{Message: message, Call: "call", Name: "echo", Input: []byte(text)}
	}
	steps := []struct {
		session string
		payload session.Payload
	}{
		{id, session.StepStarted{Message: message, Agent: "build"}},
		{id, session.ReasoningEnded{Message: message, Part: "r", Text: "hm"}},
		{id, input(`{"n":1}`)},
		{id, session.ToolFailed{Message: message, Call: "call", Error: session.ToolError{Kind: "failed", Message: "no"}}},
		{id, input(`{"n":2}`)},
		{id, session.TextEnded{Message: "msg_unknown", Part: "t", Text: "lost"}},
		{other, session.TextEnded{Message: message, Part: "t", Text: "foreign"}},
		{other, session.ToolSucceeded{Message: message, Call: "call"}},
		{other, session.StepEnded{Message: message, Finish: session.FinishStop}},
		{id, session.TextEnded{Message: message, Part: "t", Text: "well"}},
		{id, session.ToolSucceeded{Message: message, Call: "unknown"}},
		{id, session.ToolSucceeded{Message: message, Call: "call", Title: "done"}},
	}
	for _, step := range steps {
		if err := appendOne(t, w, step.session, step.payload); err != nil {
			t.Fatalf("%s: %v", step.payload.EventType(), err)
		}
	}
	messages := w.Messages(id)
	if len(messages) != 1 || messages[0].Completed != 0 {
		t.Fatalf("messages %+v, want the one that is not completed", messages)
	}
	got := []string{}
	for _, part := range messages[0].Parts {
		text := part.Type + " " + part.ID
		if part.Tool != nil {
			text += " " + string(part.Tool.Input) + " " + string(part.Tool.State)
		}
		got = append(got, text)
	}
	want := []string{"reasoning r", `tool call {"n":1} failed`, `tool call {"n":2} completed`, "text t"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	err := appendOne(t, w, id, session.ToolSucceeded{Message: message, Call: "call"})
	if !errors.Is(err, session.ErrInvalid) {
		t.Errorf("a second settlement: %v", err)
	}
}

// TestMessageIDsAreUnique over prompts and messages, of whatever session.
func TestMessageIDsAreUnique(t *testing.T) {
	w := sessiontest.New(t, sessiontest.Options{})
	id := w.Create()
	prompt, message := w.Admit(w.Create(), "hello", session.Steer).ID, w.Encoder.IDs.New(session.PrefixMessage)
	if err := appendOne(t, w, w.Create(), session.Synthetic{Message: message, Text: "first"}); err != nil {
		t.Fatal(err)
	}
	for _, taken := range []string{prompt, message} {
		for _, payload := range []session.Payload{session.StepStarted{Message: taken, Agent: "build"},
			session.PromptAdmitted{Message: taken, Prompt: session.Prompt{Text: "again"}, Delivery: session.Steer}} {
			var conflict *session.ConflictError
			if err := appendOne(t, w, id, payload); !errors.As(err, &conflict) || conflict.ID != taken {
				t.Errorf("%s with the id %s: %v", payload.EventType(), taken, err)
			}
		}
	}
}

func appendOne(t *testing.T, w *sessiontest.World, id string, payload session.Payload) error {
	t.Helper()
	events, err := w.Encoder.Encode(session.System(), payload)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Log.Append(t.Context(), store.Batch{Aggregate: id, Events: events})
	return err
}
