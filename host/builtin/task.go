package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/session"
)

const taskDescription = `Gives a task to another agent, which works in a session of its own and knows only the prompt: say what to find out or do, where, and what to report. Its last answer is the result; the user does not see it. Good for broad searches and work that stands alone; look up a single file or name yourself. Independent tasks in one answer run side by side. With background the call returns at once and the result comes later as a message: go on with other work, do not poll.`

const taskInput = `{"type":"object","required":["description","prompt","agent"],"additionalProperties":false,"properties":{` +
	`"description":{"type":"string","description":"three to five words"},` +
	`"prompt":{"type":"string"},"agent":{"type":"string"},` +
	`"session":{"type":"string","description":"of an earlier task, to go on with it"},"background":{"type":"boolean"}}}`

const taskOutput = `{"type":"object","required":["session"],"additionalProperties":false,"properties":{` +
	`"session":{"type":"string"},"text":{"type":"string"},"background":{"type":"boolean"}}}`

// taskTool gives a task to another agent.
func taskTool() session.Tool {
	return tool{session.ToolDefinition{Name: "task", Description: taskDescription, Input: json.RawMessage(taskInput), Output: json.RawMessage(taskOutput),
		Permission: byOperation("task"), Effects: []string{"exec"}}, runTask}
}

func runTask(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
	input, err := decode[struct {
		Description string `json:"description"`
		Prompt      string `json:"prompt"`
		Agent       string `json:"agent"`
		Session     string `json:"session"`
		Background  bool   `json:"background"`
	}](call)
	if err != nil {
		return session.ToolOutput{}, err
	}
	runner, err := served[session.TaskRunner](call)
	if err != nil {
		return session.ToolOutput{}, err
	}
	result, err := runner.RunTask(ctx, session.Task(input))
	if err != nil {
		return session.ToolOutput{}, err
	}
	value := struct {
		Session    string `json:"session"`
		Text       string `json:"text,omitempty"`
		Background bool   `json:"background,omitempty"`
	}{result.Session, result.Text, input.Background}
	text := fmt.Sprintf("The task works in the background, in session %s. Its result will come as a message; do not wait for it.", result.Session)
	switch {
	case input.Background:
	case strings.TrimSpace(result.Text) == "":
		text = fmt.Sprintf("Task session %s ended without an answer. Give this session with a prompt that asks for what you need.", result.Session)
	default:
		text = fmt.Sprintf("Task session %s answered:\n\n%s", result.Session, result.Text)
	}
	return answer(input.Description, text, value)
}
