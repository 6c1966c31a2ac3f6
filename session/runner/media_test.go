package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// A result's files follow it in the next request, and its text names them.
func TestFilesOfAResultReachTheNextRequest(t *testing.T) {
	w := New(t, Options{})
	first, second := strings.Repeat("1a", 32), strings.Repeat("2b", 32)
	w.Contribute("core/tools", tool(w, "shoot", func(context.Context, session.ToolCall) (session.ToolOutput, error) {
		return session.ToolOutput{Content: []session.ToolContent{
			{Type: "file", Mime: "image/png", Name: "a.png", Blob: first},
			{Type: "text", Text: "and"},
			{Type: "file", Mime: "application/pdf", Name: "b.pdf", Blob: second},
		}}, nil
	}))
	w.Provider.Script(Calls("shoot", `{}`), Say("Done"))
	id := w.Create()
	w.Prompt(id, "Go", session.Steer)
	w.Settled(id, 1)
	requests := w.Provider.Requests()
	if len(requests) != 2 || len(requests[1].Messages) != 3 {
		t.Fatalf("requests %+v", requests)
	}
	results := requests[1].Messages[2]
	message := requests[1].Messages[1].ID
	want := session.ModelMessage{ID: message + "/results", Role: session.RoleTool, Parts: []session.ModelPart{
		{ID: message + "/0/result", Type: session.PartToolResult, Call: "call-0", Name: "shoot", Text: "[image/png file a.png]\nand\n[application/pdf file b.pdf]"},
		{ID: message + "/0/result/0", Type: session.PartMedia, Call: "call-0", Mime: "image/png", Name: "a.png", Blob: first},
		{ID: message + "/0/result/2", Type: session.PartMedia, Call: "call-0", Mime: "application/pdf", Name: "b.pdf", Blob: second},
	}}
	if diff := cmp.Diff(want, results); diff != "" {
		t.Error(diff)
	}
}
