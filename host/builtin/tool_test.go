package builtin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/builtin"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/schema"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// TestDefinitionsAreSmall: they go to the model with every request.
func TestDefinitionsAreSmall(t *testing.T) {
	most := map[string]int{"task": 900, "question": 600, "todowrite": 600, "skill": 300}
	var names []string
	for _, tool := range builtin.Tools() {
		d := tool.Definition()
		names = append(names, d.Name)
		if size := len(d.Description) + len(d.Input); size > most[d.Name] {
			t.Errorf("%s has %d bytes, the limit is %d", d.Name, size, most[d.Name])
		}
		for _, text := range []json.RawMessage{d.Input, d.Output} {
			if err := (&schema.Cache{}).Check(text, json.RawMessage(`[]`)); err == nil || !strings.Contains(err.Error(), "object") {
				t.Errorf("%s: the schema %s takes a list: %v", d.Name, text, err)
			}
		}
	}
	if diff := cmp.Diff([]string{"question", "skill", "task", "todowrite"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestTask(t *testing.T) {
	r := newRig(t)
	r.Provider.Script(sessiontest.Calls("task", `{"description":"Look","prompt":"Find it","agent":"helper"}`), sessiontest.Say("It is in a.go:3"), sessiontest.Say("Thanks"))
	part := r.prompted()
	child, answer, _ := strings.Cut(strings.TrimPrefix(told(part), "Task session "), " answered:\n\n")
	if !strings.HasPrefix(child, "ses_") || answer != "It is in a.go:3" || part.Title != "Look" {
		t.Errorf("%q %q", told(part), part.Title)
	}
	if got := string(part.Structured); got != `{"session":"`+child+`","text":"It is in a.go:3"}` {
		t.Errorf("structured: %s", got)
	}
	if request := r.Provider.Requests()[1]; request.Agent != "helper" || request.Messages[0].Parts[0].Text != "Find it" || len(request.Tools) != 3 {
		t.Errorf("the child was asked %+v", request)
	}
	for input, want := range map[string]string{
		`{"description":"Look","prompt":"Find it","agent":"nobody"}`:                `error not_found: agent is "nobody", which takes no tasks; those that do: explore, general, helper`,
		`{"description":"Look","prompt":" ","agent":"helper"}`:                      `error invalid_input: prompt is empty; the child knows only what it says`,
		`{"description":"Look","prompt":"x","agent":"helper","session":"ses_none"}`: `error not_found: ses_none is no task of this session; leave session out to begin another`,
		`{"description":"Look","prompt":"x"}`:                                       `error invalid_input: Invalid tool input: missing property 'agent'`,
	} {
		r := newRig(t)
		if got := told(r.call("task", input)); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
	denied := newRig(t, deny("task", "helper"))
	if got := told(denied.call("task", `{"description":"Look","prompt":"x","agent":"helper"}`)); got != "error denied: task on helper is denied by the permission rules" {
		t.Errorf("denied: %q", got)
	}
}

func TestTaskInTheBackground(t *testing.T) {
	r := newRig(t)
	r.Provider.Script(sessiontest.Calls("task", `{"description":"Look","prompt":"Find it","agent":"helper","background":true}`))
	for range 4 { // the child's answer, and those of the parent to the call and to what comes back
		r.Provider.Script(sessiontest.Say("All right"))
	}
	part := r.prompted()
	if got := told(part); !strings.HasPrefix(got, "The task works in the background, in session ses_") {
		t.Errorf("%q", got)
	}
	if !strings.Contains(string(part.Structured), `"background":true`) {
		t.Errorf("%s", part.Structured)
	}
	r.Await(r.id, session.TaskEnded{}.EventType(), 1)
}

func TestQuestion(t *testing.T) {
	r := newRig(t)
	ask := func(input string, answer func(id string) error) string {
		t.Helper()
		asked, ended := r.events(session.QuestionAsked{}.EventType()), r.events(session.ActivityEnded{}.EventType())
		r.Provider.Script(sessiontest.Calls("question", input), sessiontest.Say("Done"))
		r.Prompt(r.id, "Go", session.Steer)
		events := r.Await(r.id, session.QuestionAsked{}.EventType(), asked+1)
		payload, err := session.Decode(events[len(events)-1])
		if err != nil {
			t.Fatal(err)
		}
		question := payload.(session.QuestionAsked)
		if !question.Before {
			t.Error("the question does not outlive a restart")
		}
		if err := answer(question.Request); err != nil {
			t.Fatal(err)
		}
		r.Settled(r.id, ended+1)
		return r.lastTold()
	}
	got := ask(`{"questions":[{"header":"Color","question":"Which color?","options":[{"label":"red"},{"label":"blue","description":"calm"}],"multiple":true},{"question":"Why?"}]}`,
		func(id string) error {
			_, err := r.Permissions.Answer(t.Context(), session.System(), id, [][]string{{"red", "blue"}, {"Because <it> fits"}})
			return err
		})
	if want := "The user answered:\n- Which color?: red, blue\n- Why?: Because <it> fits"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := told(r.call("question", `{"questions":[{"question":"Which?","custom":false}]}`)); got != "error invalid_input: questions[0] has no options and takes no text; give options, or set custom" {
		t.Errorf("%q", got)
	}
	got = ask(`{"questions":[{"question":"Which?"}]}`, func(id string) error {
		_, err := r.Permissions.Dismiss(t.Context(), session.System(), id)
		return err
	})
	if !strings.HasPrefix(got, "error cancelled") {
		t.Errorf("dismissed: %q", got)
	}
	denied := newRig(t, deny("question", "*"))
	denied.Provider.Script(sessiontest.Say("Done"))
	denied.prompted()
	for _, tool := range denied.Provider.Requests()[0].Tools {
		if tool.Name == "question" {
			t.Error("a tool that is denied is offered")
		}
	}
}
