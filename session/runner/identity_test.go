package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// A transform is told the agent, when an epoch begins and for every request, and may
// edit by it.
func TestTransformsKnowTheAgent(t *testing.T) {
	w := newWorld(t, Options{Agents: builder(func(a *session.Agent) { a.System = "You build." })})
	w.Contribute("core/tools", echo(w.World))
	var seen []string
	parts := []session.RequestPart{session.RequestSystem, session.RequestTools}
	spec := session.TransformSpec{Name: "subset", Reads: parts, Writes: parts}
	w.Contribute("core/edit", w.Kinds.Transforms.Contribute("core/edit/subset", 0, session.Transform(transformer{spec, func(input session.TransformInput) []session.Edit {
		seen = append(seen, input.Purpose+" "+input.Agent)
		var edits []session.Edit
		for _, tool := range input.Tools {
			if input.Agent == "build" {
				edits = append(edits, session.Edit{Part: session.RequestTools, Op: session.EditDrop, ID: tool.Name})
			}
		}
		return edits
	}})))
	if got := w.turn("Hi"); len(got.Tools) != 0 {
		t.Errorf("tools %v", got.Tools)
	}
	if diff := cmp.Diff([]string{"turn build", "turn build"}, seen); diff != "" {
		t.Error(diff)
	}
	put(w.World, w.id, session.AgentSwitched{Message: "msg_1", Agent: "plan"})
	if got := w.turn("And now?"); len(got.Tools) != 1 || seen[len(seen)-1] != "turn plan" {
		t.Errorf("tools %v, told %v", got.Tools, seen)
	}
}

// A source is told the model of the next request, none where there would be none.
func TestSourcesKnowTheModel(t *testing.T) {
	w := newWorld(t, Options{Models: Models{"scripted/gone": {Err: &session.ModelError{Reason: session.ModelUnavailable, Message: "there is no such model"}}}})
	var asked []session.ModelRef
	w.Contribute("core/model", w.Kinds.Contexts.Contribute("core/model", 0, Source{Names: []string{"core/model"},
		Run: func(_ context.Context, o session.Observation) ([]session.SourceState, error) {
			asked = append(asked, o.Model)
			return []session.SourceState{{Key: "core/model", State: session.SourceAbsent}}, nil
		}}))
	first := w.turn("Hi").Model
	switched := func(model string) session.ModelRef {
		ref := session.ModelRef{Provider: "scripted", Model: model}
		put(w.World, w.id, session.ModelSwitched{Message: "msg_" + model, Model: ref})
		return ref
	}
	second := switched("m2")
	w.turn("And now?")
	switched("gone")
	if got := w.report(); !strings.Contains(got.Problem, "there is no such model") {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]session.ModelRef{first, second, {}}, asked); diff != "" {
		t.Error(diff)
	}
}

// The report names the largest part, whatever it is of.
func TestTheLargestPartIsNamed(t *testing.T) {
	long := strings.Repeat("long ", 200)
	for _, c := range []struct {
		want string
		make func(w *world)
	}{
		{"source core/a", func(w *world) { w.set("core/a", long) }},
		{"tool wordy", func(w *world) {
			w.Contribute("core/tools", w.Kinds.Tools.Contribute("wordy", 0, session.Tool(Tool{Define: session.ToolDefinition{Name: "wordy", Description: long, Input: raw(`{"type":"object"}`)}})))
		}},
		{"message ", func(w *world) { w.Admit(w.id, long, session.Steer) }},
		{"text of transforms and separators", func(w *world) {
			w.Contribute("core/edit", w.Kinds.Transforms.Contribute("core/edit/more", 0, systemEditor("more", func(session.TransformInput) []session.Edit {
				return []session.Edit{{Part: session.RequestSystem, Op: session.EditAppend, ID: "more", Value: raw(`"` + long + `"`)}}
			})))
		}},
	} {
		w := newWorld(t, Options{})
		w.contribute("core/env", "", "core/a")
		w.set("core/a", "1")
		w.Admit(w.id, "Hi", session.Steer)
		c.make(w)
		got := w.report()
		if c.want == "message " && len(got.Messages) == 2 {
			c.want += got.Messages[1].ID
		}
		if got.Largest != c.want {
			t.Errorf("the largest is %q, want %q", got.Largest, c.want)
		}
		w.Close()
	}
}
