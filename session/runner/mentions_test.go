package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// TestMentionsAreLowered: agents, references and notes are one text behind the prompt's,
// the same in every request.
func TestMentionsAreLowered(t *testing.T) {
	w := New(t, Options{})
	w.Provider.Script(Say("One"), Say("Two"))
	id := w.Create()
	admit := func(prompt session.Prompt) {
		t.Helper()
		if _, err := w.Sessions.Admit(t.Context(), session.System(), session.PromptRequest{Session: id, Prompt: prompt}); err != nil {
			t.Fatal(err)
		}
	}
	admit(session.Prompt{Text: "@explore @docs @api @gone", Agents: []session.PromptAgent{{Name: "explore"}},
		References: []session.PromptRef{{Name: "docs", Path: "/docs", Description: "the guides"}, {Name: "api", Path: "/api"}, {Name: "old"}},
		Notes:      []session.PromptNote{{Kind: "file", Text: "@gone could not be used: no such file", Failed: true}}})
	w.Settled(id, 1)
	admit(session.Prompt{Text: "plain"})
	w.Settled(id, 2)
	requests := w.Provider.Requests()
	want := []string{"@explore @docs @api @gone", strings.Join([]string{
		"The user asks you to use the agent explore: call the tool task with it, and give it what this message has for it together with all that it needs to know.",
		"The user refers to docs (the guides): it is at /docs; read there what you need of it.",
		"The user refers to api: it is at /api; read there what you need of it.",
		"The user refers to old.",
		"@gone could not be used: no such file",
	}, "\n")}
	for i, request := range requests {
		var got []string
		for _, part := range request.Messages[0].Parts {
			got = append(got, part.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request %d: %s", i+1, diff)
		}
	}
	if last := requests[1].Messages[2]; len(last.Parts) != 1 {
		t.Errorf("a prompt that mentions nothing has %+v", last.Parts)
	}
}

// TestALongTextIsCutBetweenCharacters, whatever they are.
func TestALongTextIsCutBetweenCharacters(t *testing.T) {
	for _, character := range []string{"x", "é", "日", "😀"} {
		head := strings.Repeat(".", 1+len(character)%2) // so that the cut is inside of one
		w := New(t, Options{Sessions: session.SessionOptions{Files: func(context.Context, []session.PromptFile) error { return nil }}})
		w.Provider.Script(Say("One"))
		blob, err := w.Log.Blobs().Put(t.Context(), []byte(head+strings.Repeat(character, 100<<10)))
		if err != nil {
			t.Fatal(err)
		}
		id := w.Create()
		ask(w, id, session.Prompt{Text: "look", Files: []session.PromptFile{{Blob: blob, Mime: "text/plain", Name: "long"}}})
		w.Settled(id, 1)
		_, text, _ := strings.Cut(w.Provider.Requests()[0].Messages[0].Parts[1].Text, "\n\n"+head)
		if want := (100<<10 - len(head)) / len(character); text != strings.Repeat(character, want) {
			t.Errorf("%s: %d bytes, want %d characters", character, len(text), want)
		}
	}
}
