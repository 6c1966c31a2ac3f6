package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
)

// What a prompt brings as a blob follows its text; a path is not expanded here.
func TestFilesOfAPrompt(t *testing.T) {
	got := lowerPrompt("msg", &session.Prompt{Text: "Look", Files: []session.PromptFile{
		{Path: "notes.txt"}, {Blob: "ab", Mime: "image/png", Name: "a.png"},
	}})
	want := session.ModelMessage{ID: "msg", Role: session.RoleUser, Parts: []session.ModelPart{
		{ID: "msg/0", Type: session.PartText, Text: "Look"},
		{ID: "msg/2", Type: session.PartMedia, Mime: "image/png", Name: "a.png", Blob: "ab"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
