package runner_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// What a prompt says beside its text is for its own turns.
func TestWhatAPromptSaysBesideItsText(t *testing.T) {
	temperature := 0.5
	known := Models{
		"scripted/m1:high": {ModelInfo: session.ModelInfo{Options: map[string]json.RawMessage{"effort": raw(`"high"`)},
			Generation: session.Generation{Temperature: &temperature}}},
		"scripted/gone": {Err: &session.ModelError{Reason: session.ModelUnavailable, Message: "there is no gone"}},
	}
	w := New(t, Options{Models: known, Agents: builder(func(a *session.Agent) { a.System = "You build." })})
	w.Contribute("core/tools", echo(w), tool(w, "other", quiet))
	w.Provider.Script(Say("One"), Calls("echo", `{}`), Say("Two"), Say("Three"))
	id := w.Create()
	ask(w, id, session.Prompt{Text: "Plain"})
	w.Settled(id, 1)
	ask(w, id, session.Prompt{Text: "Special", System: "Be brief.", Tools: map[string]bool{"echo": false, "other": true}, Variant: "high"})
	w.Settled(id, 2)
	requests := w.Provider.Requests()
	if got := requests[0]; len(got.System) != 1 || len(got.Tools) != 2 || got.Model.Variant != "" || got.Options != nil {
		t.Errorf("the plain request is %+v", got)
	}
	special := requests[1]
	if diff := cmp.Diff([]session.TextPart{{ID: "baseline", Text: "You build."}}, special.System); diff != "" {
		t.Error(diff)
	}
	if n := len(special.Messages); special.Messages[n-2].Parts[0].Text != "Special" || special.Messages[n-1].Role != session.RoleSystem ||
		special.Messages[n-1].Parts[0].Text != "Be brief." {
		t.Errorf("behind the prompt stands %+v", special.Messages[n-1])
	}
	if diff := cmp.Diff([]string{"other"}, names(special)); diff != "" {
		t.Error(diff)
	}
	if special.Model.Variant != "high" || string(special.Options["effort"]) != `"high"` || *special.Generation.Temperature != temperature {
		t.Errorf("model %+v, options %v", special.Model, special.Options)
	}
	if got := only(t, payloads[session.ToolFailed](w, id)); got.Error.Kind != "not_found" {
		t.Errorf("a call of what was turned off: %+v", got)
	}
	ask(w, id, session.Prompt{Text: "Plain again"})
	w.Settled(id, 3)
	if got := w.Provider.Requests()[3]; len(got.System) != 1 || len(got.Tools) != 2 || got.Model.Variant != "high" {
		t.Errorf("the variant alone stays: %+v", got)
	}
	ask(w, id, session.Prompt{Text: "Nobody", Model: &session.ModelRef{Provider: "scripted", Model: "gone"}})
	w.Settled(id, 4)
	if got := ended(w, id); code(got.Error) != session.FailureModelUnavailable || got.Error.Message != "there is no gone" {
		t.Errorf("ended %+v", got)
	}
}

// What is in the transcript beside prompts and answers, as the model reads it.
func TestMessagesOfOthers(t *testing.T) {
	w := New(t, Options{})
	w.Provider.Script(Say("One"), Say("Two"))
	id := w.Create()
	w.Prompt(id, "first", session.Steer)
	w.Settled(id, 1)
	exit := 1
	put(w, id,
		session.Synthetic{Message: message(w), Text: "The host restarted."},
		session.Synthetic{Message: message(w), Text: "People see this.", Ignored: true},
		session.ShellStarted{Message: message(w), Call: "s1", Command: "make"},
		session.ShellEnded{Call: "s1", Output: "no rule", Exit: &exit},
		session.AgentSwitched{Message: message(w), Agent: "build"},
		session.PromptAdmitted{Message: message(w), Prompt: session.Prompt{Text: "Written by the host."}, Delivery: session.Steer, Synthetic: true})
	w.Run(id)
	request := w.Provider.Requests()[1]
	want := []string{"first", "The host restarted.", "Shell command: make\n\nno rule\n\nIt ended with exit code 1.", "Written by the host."}
	if diff := cmp.Diff(want, texts(request, session.RoleUser)); diff != "" {
		t.Error(diff)
	}
	if n := len(request.Messages); n != len(want)+1 {
		t.Errorf("%d messages: %+v", n, request.Messages)
	}
	synthetic := w.Messages(id)[6]
	if synthetic.Type != session.MessageSynthetic || synthetic.Prompt == nil {
		t.Errorf("the host's prompt is %+v", synthetic)
	}
}

// After a compaction the model is sent its summary, what it kept, and what came since.
func TestWhatACompactionLeaves(t *testing.T) {
	w := New(t, Options{})
	w.Contribute("core/tools", echo(w))
	w.Provider.Script(Calls("echo", `{}`), Say("One"), Say("Two"), Say("Three"))
	id := w.Create()
	first := w.Prompt(id, "first", session.Steer)
	w.Settled(id, 1)
	w.Prompt(id, "second", session.Steer)
	w.Settled(id, 2)
	messages := w.Messages(id) // first, call, One, second, Two
	put(w, id, session.CompactionStarted{Message: message(w), Reason: session.CompactionManual},
		session.CompactionEnded{Message: message(w), Reason: session.CompactionManual, Summary: "Much was said.",
			Boundary: messages[2].Seq, Kept: []string{first.ID}})
	w.Prompt(id, "third", session.Steer)
	w.Settled(id, 3)
	var got []string
	for _, message := range w.Provider.Requests()[3].Messages {
		got = append(got, string(message.Role)+": "+message.Parts[0].Text)
	}
	want := []string{"user: <summary>\nThe conversation so far was condensed into this summary. " +
		"What follows it was not: messages of the user, which may be older than what the summary tells of the work on them, and the newest steps. " +
		"Go on from there.\n\nMuch was said.\n</summary>",
		"user: first", "user: second", "assistant: Two", "user: third"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
