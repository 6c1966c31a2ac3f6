package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// tool is a session.Tool of a function.
type tool struct {
	definition session.ToolDefinition
	execute    func(ctx context.Context, call session.ToolCall) (session.ToolOutput, error)
}

// Definition describes the tool.
func (t tool) Definition() session.ToolDefinition { return t.definition }

// Execute runs one call.
func (t tool) Execute(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
	output, err := t.execute(ctx, call)
	if errors.Is(err, session.ErrInvalid) {
		return output, &session.ToolError{Kind: "invalid_input", Message: sentence(err)}
	}
	return output, err
}

// sentence is what is wrong with an input, without what the program says of its errors.
func sentence(err error) string {
	return strings.TrimPrefix(err.Error(), session.ErrInvalid.Error()+": ")
}

// Tools are the tools by name, in that order.
func Tools() []session.Tool {
	return []session.Tool{questionTool(), skillTool(), taskTool(), todoTool()}
}

// decode reads a call's input, which fits the tool's schema.
func decode[T any](call session.ToolCall) (input T, err error) {
	if err := json.Unmarshal(call.Input, &input); err != nil {
		return input, fmt.Errorf("%w: the input is not what the tool takes: %w", session.ErrInvalid, err)
	}
	return input, nil
}

// served is what the session serves of a port.
func served[P any](call session.ToolCall) (port P, err error) {
	port, ok := call.Host.(P)
	if !ok {
		return port, &session.ToolError{Kind: "unavailable", Message: "This host does not serve the tool " + call.Name}
	}
	return port, nil
}

// answer is an output of one text and its value.
func answer(title, text string, value any) (session.ToolOutput, error) {
	var structured bytes.Buffer
	encoder := json.NewEncoder(&structured)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return session.ToolOutput{}, fmt.Errorf("encode the result: %w", err)
	}
	return session.ToolOutput{Title: title, Content: []session.ToolContent{{Type: "text", Text: text}},
		Structured: bytes.TrimSpace(structured.Bytes())}, nil
}

// byOperation: what the tool does in the session asks by itself.
func byOperation(action string) session.ToolPermission {
	return session.ToolPermission{ByOperation: true, Action: action}
}
