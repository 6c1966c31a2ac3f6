package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/transform"
)

// edit makes one edit of every kind: the purpose appended to the system text, the
// first text of the messages in capitals, the tool "drop" dropped, settings set.
func edit(request abi.TransformApply) ([]abi.Edit, error) {
	if request.Purpose == "fail" {
		return nil, plinth.Errorf(abi.KindConflict, "the purpose cannot be served")
	}
	var edits []abi.Edit
	add := func(edit abi.Edit, err error) {
		if err != nil {
			panic(err) // of encoding constants
		}
		edits = append(edits, edit)
	}
	add(transform.AppendSystem("added", fmt.Sprintf("The purpose is %s.", request.Purpose)))
	if part, ok := firstText(request.Messages); ok {
		add(transform.Replace("messages", part.ID, capitals(part.Text)))
	}
	if slices.ContainsFunc(request.Tools, func(tool abi.ToolDefinition) bool { return tool.Name == "drop" }) {
		edits = append(edits, transform.Drop("tools", "drop"))
	}
	add(transform.Set("generation", "temperature", 0.5))
	add(transform.Set("options", "conformance", map[string]any{"deep": []any{1, nil}}))
	add(transform.Set("headers", "x-conformance", "yes"))
	return edits, nil
}

func firstText(messages []abi.Message) (abi.Part, bool) {
	for _, message := range messages {
		for _, part := range message.Parts {
			if part.Type == abi.PartText {
				return part, true
			}
		}
	}
	return abi.Part{}, false
}

// capitals changes the letters of ASCII alone, which every language agrees on.
func capitals(text string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, text)
}
