package runner_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// saying is a tool that answers one text and is described by it.
func saying(text string) Tool {
	return Tool{Define: session.ToolDefinition{Description: text, Input: json.RawMessage(`{"type":"object"}`)},
		Run: func(context.Context, session.ToolCall) (session.ToolOutput, error) { return Output(text), nil }}
}

// plug opens a scope that is no builtin with one tool, or replaces it. An empty
// location is the global level.
func plug(t *testing.T, w *World, id, location, name string, tool session.Tool) {
	t.Helper()
	scope := registry.Scope{ID: id, Location: location, Revision: "r1",
		Contributions: []registry.Contribution{w.Kinds.Tools.Contribute(name, 0, tool)}}
	if _, err := w.Registries.Replace(scope); err != nil {
		t.Fatal(err)
	}
}

// allowed are the options of a world whose plugins may do everything.
func allowed() Options {
	return Options{Rules: []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}}
}

// after does something when the request was made, and then plays the turn.
func after(do func(), turn Turn) Turn {
	return func(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) {
		do()
		turn(ctx, request, yield)
	}
}

// settled prompts the session and answers the calls of the activity's first step.
func settled(t *testing.T, w *World, id string) (calls []*session.ToolPart) {
	t.Helper()
	before := len(w.Messages(id))
	w.Prompt(id, "Go", session.Steer)
	ends := 0
	for _, message := range w.Messages(id)[:before] {
		if message.Type == session.MessageUser {
			ends++
		}
	}
	w.Settled(id, ends+1)
	for _, part := range w.Messages(id)[before+1].Parts {
		if part.Tool != nil {
			calls = append(calls, part.Tool)
		}
	}
	return calls
}

// told is what a call came to, in a line: its text, or its error.
func told(call *session.ToolPart) string {
	if call.Error != nil {
		return "error: " + call.Error.Message
	}
	var texts []string
	for _, content := range call.Content {
		texts = append(texts, content.Text)
	}
	return strings.Join(texts, "|")
}

func tells(t *testing.T, calls []*session.ToolPart, want ...string) {
	t.Helper()
	var got []string
	for _, call := range calls {
		got = append(got, told(call))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the calls came to (-want +got):\n%s", diff)
	}
}

// offered are the names and descriptions of a request's tools.
func offered(w *World, request int) (all []string) {
	for _, definition := range w.Provider.Requests()[request].Tools {
		all = append(all, definition.Name+": "+definition.Description)
	}
	return all
}

// result is what the model reads of the last settlement in the last request.
func result(t *testing.T, w *World) session.ModelPart {
	t.Helper()
	requests := w.Provider.Requests()
	messages := requests[len(requests)-1].Messages
	parts := messages[len(messages)-1].Parts
	last := parts[len(parts)-1]
	if last.Type != session.PartToolResult {
		t.Fatalf("the last part of the last request is %+v", last)
	}
	return last
}

// TestToolCases are the cases of which tools there are and of what becomes of a call.
func TestRegistryCases(t *testing.T) {
	Cases(t, "H", []Case{
		{Number: 196, Text: "A scope with a tool of a bad name (it begins with a digit, has a space or 65 characters) is refused whole; a and A_b-9 are good names.",
			Ours: "The registry refuses it, for plugins and for Go values alike, with a *registry.NameError.", Run: badNames},
		{Number: 197, Text: "A Location's tool is offered and run in the place of a global one of the same name, until its scope closes.",
			Ours: "The global tool must not be a builtin one: the name of a builtin is reserved everywhere.", Run: shadowed},
		{Number: 199, Text: "A tool whose scope closes between the request and the call is stale, although another of the name is revealed or the same one is registered again.",
			Run: staleCalls},
		{Number: 200, Text: "Of two tools that a request offered one is replaced: the call of the other runs.",
			Ours: "A replacement is a hot reload: the call runs with the revision that was offered. Stale is only the call of a tool whose scope was closed.",
			Run:  replacedTool},
		{Number: 202, Text: "A call of a tool that was not offered is an error for the model, and nothing runs.",
			Run: func(t *testing.T) {
				w := New(t, Options{})
				w.Provider.Script(Calls("t", `{}`), Say("Well"))
				tells(t, settled(t, w, w.Create()), "error: Unknown tool: t")
			}},
		{Number: 203, Text: "A tool is not offered when the last rule on its action denies every resource; a later rule on one resource keeps it.",
			Run: hiddenTools},
		{Number: 205, Text: "An input that is no JSON or does not fit the tool's schema is an error for the model, and the tool does not run.",
			Run: undecodableInput},
		{Number: 206, Text: "A structured output that does not fit the tool's own schema is an error for the model that names the output schema.",
			Run: invalidOutput},
		{Number: 208, Text: "What a tool means as a failure is told to the model; a defect and an interruption are not its business.",
			Ours: "A defect, a panic too, is a failed call without its detail, which the host's log has, and the activity goes on; " +
				"an interruption settles the call and ends the activity.", Run: failures},
		{Number: 209, Text: "A plain text is one text part of the result; a structured value alone is sent to the model as JSON.",
			Ours: "A tool says itself what is content and what is structured; nothing is guessed from its value.", Run: resultForms},
		{Number: 220, Text: "A tool that reports progress twice and then succeeds has only the output of its success.",
			Ours: "Progress is live only and no event.", Run: progressIsLive},
	})
}
