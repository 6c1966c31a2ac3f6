package builtin_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

func TestSessionToolCases(t *testing.T) {
	sessiontest.Cases(t, "I", []sessiontest.Case{
		{Number: 254, Text: "todowrite: denied, the list stays as it is; approved, it is replaced whole and one event tells so.",
			Ours: "Items have no ids of the model's: the place is the id. The model reads counts and what is next, not the list again.", Run: todos},
		{Number: 256, Text: "skill: an unknown name fails without a permission request; permitted, the answer is its text, its directory and at most 10 of the files beside it, sorted.",
			Ours: "Files one folder below are among them, hidden ones are not; the failure names the skills there are.", Run: skills},
	})
}

// I 254
func todos(t *testing.T) {
	r := newRig(t, session.Rule{Action: "todowrite", Resource: "*", Effect: session.Ask})
	todo := func(reply session.Reply, input string) string {
		t.Helper()
		r.Provider.Script(sessiontest.Calls("todowrite", input), sessiontest.Say("Done"))
		asked := r.events(session.PermissionAsked{}.EventType())
		ended := r.events(session.ActivityEnded{}.EventType())
		r.Prompt(r.id, "Go", session.Steer)
		events := r.Await(r.id, session.PermissionAsked{}.EventType(), asked+1)
		payload, err := session.Decode(events[len(events)-1])
		if err != nil {
			t.Fatal(err)
		}
		request := payload.(session.PermissionAsked)
		if request.Ask.Action != "todowrite" || !cmp.Equal(request.Ask.Resources, []string{"*"}) {
			t.Errorf("asked for %+v", request.Ask)
		}
		feedback := ""
		if reply == session.ReplyReject {
			feedback = "not now"
		}
		if _, err := r.Permissions.Reply(t.Context(), session.System(), request.Request, reply, feedback); err != nil {
			t.Fatal(err)
		}
		r.Settled(r.id, ended+1)
		return r.lastTold()
	}
	list := func() []session.Todo {
		t.Helper()
		all, err := session.NewTodoLists(r.Log, r.Encoder).Todos(t.Context(), r.id)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	got := todo(session.ReplyOnce, `{"todos":[{"content":"look","status":"completed"},{"content":"write","status":"in_progress","priority":"high"},{"content":"test","status":"pending"}]}`)
	if got != "The list is written: 1 of 3 completed, 2 open. In progress: write" {
		t.Errorf("told %q", got)
	}
	want := []session.Todo{{ID: "1", Content: "look", Status: "completed"}, {ID: "2", Content: "write", Status: "in_progress", Priority: "high"},
		{ID: "3", Content: "test", Status: "pending"}}
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Error(diff)
	}
	if got := todo(session.ReplyReject, `{"todos":[]}`); got != "error denied: todowrite on * was refused: not now" {
		t.Errorf("told %q", got)
	}
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("after a denial: %s", diff)
	}
	if n := r.events(session.TodosChanged{}.EventType()); n != 1 {
		t.Errorf("%d events tell of one change", n)
	}
	if got := todo(session.ReplyOnce, `{"todos":[{"content":"rest","status":"pending"}]}`); got != "The list is written: 0 of 1 completed, 1 open. Next: rest" {
		t.Errorf("told %q", got)
	}
	if got := list(); len(got) != 1 || got[0].Content != "rest" {
		t.Errorf("the list was not replaced: %+v", got)
	}
	if got := r.call("nothing", `{}`); got == nil {
		t.Error("the session does not go on")
	}
}

// I 256
func skills(t *testing.T) {
	r := newRig(t, deny("skill", "secret"), session.Rule{Action: "skill", Resource: "asked", Effect: session.Ask})
	for _, name := range []string{"notes", "secret", "asked"} {
		r.write(".plinth/skills/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: Writes "+name+"\n---\n\nDo it *well*.\n")
	}
	for i := range 12 {
		r.write(fmt.Sprintf(".plinth/skills/notes/part-%02d.md", i), "x")
	}
	r.write(".plinth/skills/notes/assets/a.txt", "x")
	r.write(".plinth/skills/notes/.hidden", "x")

	if got := told(r.call("skill", `{"name":"missing"}`)); got != `error not_found: There is no skill "missing"; choose one of asked, notes` {
		t.Errorf("unknown: %q", got)
	}
	if n := r.events(session.PermissionAsked{}.EventType()); n != 0 {
		t.Errorf("%d permission requests for a skill that is not there", n)
	}
	part := r.call("skill", `{"name":"notes"}`)
	directory := filepath.Join(r.project, ".plinth/skills/notes")
	want := "<skill name=\"notes\">\nDo it *well*.\n</skill>\n\nRelative paths in it begin at " + directory + ". Files there:\nassets/a.txt"
	for i := range 9 {
		want += fmt.Sprintf("\npart-%02d.md", i)
	}
	if diff := cmp.Diff(want, told(part)); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(string(part.Structured), `{"name":"notes","directory":"`+directory) || part.Title != "notes" {
		t.Errorf("%s, %q", part.Structured, part.Title)
	}
	if got := told(r.call("skill", `{"name":"secret"}`)); got != "error denied: skill on secret is denied by the permission rules" {
		t.Errorf("denied: %q", got)
	}
	r.Provider.Script(sessiontest.Calls("skill", `{"name":"asked"}`), sessiontest.Say("Done"))
	r.Prompt(r.id, "Go", session.Steer)
	events := r.Await(r.id, session.PermissionAsked{}.EventType(), 1)
	payload, err := session.Decode(events[len(events)-1])
	if err != nil {
		t.Fatal(err)
	}
	asked := payload.(session.PermissionAsked)
	if diff := cmp.Diff(session.PermissionRequest{Action: "skill", Resources: []string{"asked"}, Save: []string{"asked"}}, asked.Ask); diff != "" {
		t.Error(diff)
	}
	if _, err := r.Permissions.Reply(t.Context(), session.System(), asked.Request, session.ReplyOnce, ""); err != nil {
		t.Fatal(err)
	}
	r.Settled(r.id, 4)
	if got := r.lastTold(); !strings.HasPrefix(got, "<skill name=\"asked\">") {
		t.Errorf("asked: %q", got)
	}
}

// lastTold is what the model reads of the last call.
func (r *rig) lastTold() string {
	r.t.Helper()
	text := ""
	for _, message := range r.Messages(r.id) {
		for _, part := range message.Parts {
			if part.Tool != nil {
				text = told(part.Tool)
			}
		}
	}
	return text
}
