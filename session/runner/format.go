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

const formatSystem = "The answer to this prompt must be structured: when you have it, call the tool " + formatTool + " once, with the whole answer as its input. " +
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
	t.formatted, t.misformatted = t.formatted || err == nil, t.misformatted || err != nil
	t.mu.Unlock()
	if err != nil {
		return session.ToolOutput{}, &session.ToolError{Kind: "invalid_input", Message: fmt.Sprintf("Invalid structured answer: %v", err)}
	}
	return session.ToolOutput{Structured: run.input, Content: []session.ToolContent{{Type: "text", Text: "The answer was taken."}}}, nil
}

// remind answers the reminder to give when a turn ended without the structured answer,
// or the failure of a model that was reminded often enough. An answer that does not fit
// is reminded of by its settlement, and counts.
func (t *turn) remind(a *activity) (reminder session.Payload, failure *session.Failure) {
	switch {
	case t.format == nil || t.formatted || !t.answer.finished:
		return nil, nil
	case t.last:
		return nil, &session.Failure{Code: session.FailureFormat, Message: fmt.Sprintf(
			"The model did not give the structured answer that the prompt asks for before the last of its %d steps; "+
				"raise steps of the agent %s, or resume to go on", t.agent.Steps, t.agent.Name)}
	case t.answer.called && !t.misformatted:
		return nil, nil // it is still at work
	case a.reminders >= t.config.FormatRetries:
		return nil, &session.Failure{Code: session.FailureFormat, Message: fmt.Sprintf(
			"The model did not give the structured answer that the prompt asks for, although it was reminded %d times; "+
				"ask again, choose another model, or simplify prompt.format", a.reminders)}
	}
	a.reminders++
	if t.misformatted {
		return nil, nil
	}
	return session.Synthetic{Message: t.Encoder.IDs.New(session.PrefixMessage), Text: formatReminder}, nil
}
