package runner

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/schema"
)

// formatTool is the tool by which a model gives a structured answer.
const formatTool = session.FormatTool

const formatSystem = "The answer must be structured: when you have it, call the tool " + formatTool + " once, with the whole answer as its input. " +
	"Text beside it is not read."

const formatReminder = "The structured answer is missing. Call the tool " + formatTool + " now, with the whole answer as its input."

// chooseFormat compiles what the prompt says of its answer.
func (t *turn) chooseFormat() error {
	if len(t.prompt.Format) == 0 {
		return nil
	}
	compiled, err := schema.Compile(t.prompt.Format)
	if err != nil {
		return &session.Failure{Code: session.FailureFormat, Message: "prompt.format is no JSON Schema that can be used: " + err.Error()}
	}
	t.format = compiled
	return nil
}

func formatDefinition(format json.RawMessage) session.ToolDefinition {
	return session.ToolDefinition{Name: formatTool, Input: format, Description: "Gives the structured answer. Call it once, at the end, with the whole answer."}
}

// takeFormat settles a call of the structured answer: what fits is the answer, and
// the activity has what it was for.
func (t *turn) takeFormat(run toolRun) (session.ToolOutput, error) {
	err := errors.New("it is not JSON")
	if run.valid {
		err = t.format.Check(run.input)
	}
	t.mu.Lock()
	t.formatted, t.misformatted = err == nil, err != nil
	t.mu.Unlock()
	if err != nil {
		return session.ToolOutput{}, &session.ToolError{Kind: "invalid_input", Message: fmt.Sprintf("Invalid structured answer: %v", err)}
	}
	return session.ToolOutput{Structured: run.input, Content: []session.ToolContent{{Type: "text", Text: "The answer was taken."}}}, nil
}

// missingFormat answers the reminder to give when a turn ended without the structured
// answer. An answer that does not fit was told so by its settlement, and counts too.
func (t *turn) missingFormat(a *activity) (reminder session.Payload, missing bool) {
	if t.format == nil || t.formatted || t.last {
		return nil, t.format != nil && !t.formatted
	}
	if t.answer.called && !t.misformatted {
		return nil, false // it is still at work
	}
	a.reminders++
	return session.Synthetic{Message: t.Encoder.IDs.New(session.PrefixMessage), Text: formatReminder}, true
}
