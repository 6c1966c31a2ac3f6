package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// The limits of one settlement's text, as the catalog of cases gives them.
const (
	mostLines = 2000
	mostBytes = 51200
)

// lines are so many lines, each telling which it is.
func lines(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("line %d", i+1)
	}
	return strings.Join(all, "\n")
}

// bounded runs a tool with this output and answers the settled call, and what the
// model read of it.
func bounded(t *testing.T, w *World, output session.ToolOutput) (call *session.ToolPart, model string) {
	t.Helper()
	w.Contribute("core/large", tool(w, "large", func(context.Context, session.ToolCall) (session.ToolOutput, error) { return output, nil }))
	w.Provider.Script(Calls("large", `{}`), Say("Done"))
	calls := settled(t, w, w.Create())
	if len(calls) != 1 || calls[0].State != session.ToolStateCompleted {
		t.Fatalf("the calls are %+v", calls)
	}
	return calls[0], result(t, w).Text
}

// holds reports a text that is larger than a settlement's may be.
func holds(t *testing.T, text string) {
	t.Helper()
	if n := strings.Count(text, "\n") + 1; n > mostLines || len(text) > mostBytes {
		t.Errorf("it has %d lines and %d bytes", n, len(text))
	}
}

// TestOutputCases are the cases of outputs that are too large.
func TestOutputCases(t *testing.T) {
	Cases(t, "H", []Case{
		{Number: 211, Text: "An output of exactly 2,000 lines or 51,200 bytes stays as it is; with one more it is cut and one file has it whole.",
			Run: outputAtTheLimits},
		{Number: 212, Text: "Of an output that was cut the file has the whole text, and the model a preview with its beginning, its end and " +
			"the file's path between them, within both limits.", Run: outputPreview},
		{Number: 214, Text: "A structured value without content is cut as indented JSON, and the value itself stays whole.",
			Run: structuredOutput},
		{Number: 215, Text: "Of an output that has its structured value in its text once more only the text counts.",
			Run: func(t *testing.T) {
				w := New(t, Options{})
				text := strings.Repeat("x", mostBytes)
				call, model := bounded(t, w, session.ToolOutput{Content: Output(text).Content, Structured: json.RawMessage(`"` + text + `"`)})
				if model != text || len(call.Outputs) > 0 || len(w.Outputs.Texts) > 0 {
					t.Errorf("the model reads %d bytes, files %v", len(model), call.Outputs)
				}
			}},
		{Number: 217, Text: "A text that is too large and cannot be kept is cut all the same, and the call has succeeded: without a path, and " +
			"with a diagnostic that says what was lost.",
			Ours: "The documents of the reference want this and its program failed the drain; the documents are right, since the tool has done its work.",
			Run:  outputIsLost},
	})
}

func outputAtTheLimits(t *testing.T) {
	for name, c := range map[string]struct{ fits, tooMuch string }{
		"lines": {lines(mostLines), lines(mostLines + 1)},
		"bytes": {strings.Repeat("x", mostBytes), strings.Repeat("x", mostBytes+1)},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(t, Options{})
			call, model := bounded(t, w, Output(c.fits))
			if told(call) != c.fits || model != c.fits || len(call.Outputs) > 0 || len(w.Outputs.Texts) > 0 {
				t.Errorf("what fits was changed: %d bytes, files %v", len(model), call.Outputs)
			}
			call, model = bounded(t, w, Output(c.tooMuch))
			if len(call.Outputs) != 1 || len(w.Outputs.Texts) != 1 || told(call) != model {
				t.Fatalf("files %v, %d kept", call.Outputs, len(w.Outputs.Texts))
			}
			holds(t, model)
		})
	}
}

func outputPreview(t *testing.T) {
	w := New(t, Options{})
	text := "the beginning\n" + lines(9000) + "\nthe end"
	call, model := bounded(t, w, Output(text))
	if len(call.Outputs) != 1 || w.Outputs.Text(call.Outputs[0]) != text {
		t.Fatalf("the files are %v and do not have the text", call.Outputs)
	}
	if !strings.HasPrefix(model, "the beginning\nline 1\n") || !strings.HasSuffix(model, "\nline 9000\nthe end") || strings.Count(model, call.Outputs[0]) != 1 {
		t.Errorf("the model reads\n%.300s\n…\n%s", model, model[max(0, len(model)-100):])
	}
	holds(t, model)
	if strings.Count(model, "\n") < mostLines-10 {
		t.Errorf("the preview has only %d lines", strings.Count(model, "\n")+1)
	}
}

func structuredOutput(t *testing.T) {
	w := New(t, Options{})
	value, err := json.Marshal(map[string]any{"list": make([]int, mostLines)})
	if err != nil {
		t.Fatal(err)
	}
	call, model := bounded(t, w, session.ToolOutput{Structured: value})
	if diff := cmp.Diff(string(value), string(call.Structured)); diff != "" {
		t.Errorf("the value (-want +got):\n%.300s", diff)
	}
	indented, err := json.MarshalIndent(json.RawMessage(value), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if len(call.Outputs) != 1 || w.Outputs.Text(call.Outputs[0]) != string(indented) {
		t.Errorf("the files are %v and do not have the indented value", call.Outputs)
	}
	if !strings.HasPrefix(model, "{\n  \"list\": [\n    0,\n") || !strings.HasSuffix(model, "    0\n  ]\n}") {
		t.Errorf("the model reads\n%.300s", model)
	}
	holds(t, model)
}

func outputIsLost(t *testing.T) {
	w := New(t, Options{})
	w.Outputs.Err = errors.New("permission denied")
	call, model := bounded(t, w, Output(lines(mostLines+1)))
	if len(call.Outputs) > 0 || !strings.Contains(call.Diagnostic, "permission denied") {
		t.Errorf("files %v, diagnostic %q", call.Outputs, call.Diagnostic)
	}
	if !strings.HasPrefix(model, "line 1\n") || !strings.HasSuffix(model, fmt.Sprintf("\nline %d", mostLines+1)) || strings.Contains(model, "permission denied") {
		t.Errorf("the model reads\n%.300s", model)
	}
	holds(t, model)
}
