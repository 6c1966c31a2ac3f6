package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/session"
)

const todoDescription = `Writes the list of what is to be done, which the user sees. It replaces the one before, so give it whole. Use it for work of three steps or more; keep one item in_progress, and mark it completed once it is done and checked.`

const todoInput = `{"type":"object","required":["todos"],"properties":{"todos":{"type":"array","items":` +
	`{"type":"object","required":["content","status"],"additionalProperties":false,"properties":{` +
	`"content":{"type":"string"},"status":{"enum":["pending","in_progress","completed","cancelled"]},` +
	`"priority":{"enum":["high","medium","low"]}}}}}}`

const todoOutput = `{"type":"object","required":["todos"],"additionalProperties":false,"properties":{"todos":{"type":"array"}}}`

// todoTool replaces the session's list.
func todoTool() session.Tool {
	return tool{session.ToolDefinition{Name: "todowrite", Description: todoDescription, Input: json.RawMessage(todoInput), Output: json.RawMessage(todoOutput),
		Permission: session.ToolPermission{Action: "todowrite"}, Effects: []string{"write"}, Idempotent: true}, writeTodos}
}

func writeTodos(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
	input, err := decode[struct {
		Todos []session.Todo `json:"todos"`
	}](call)
	if err != nil {
		return session.ToolOutput{}, err
	}
	keeper, err := served[session.TodoKeeper](call)
	if err != nil {
		return session.ToolOutput{}, err
	}
	todos := append([]session.Todo{}, input.Todos...)
	for i := range todos {
		todos[i].ID = strconv.Itoa(i + 1) // its place: the list is always written whole
	}
	if err := keeper.SetTodos(ctx, todos); err != nil {
		return session.ToolOutput{}, err
	}
	value := struct {
		Todos []session.Todo `json:"todos"`
	}{todos}
	return answer("", told(todos), value)
}

// told says how far a list is and what comes next.
func told(todos []session.Todo) string {
	if len(todos) == 0 {
		return "The list is empty."
	}
	done, open := 0, 0
	var now []string
	next := ""
	for _, todo := range todos {
		switch todo.Status {
		case "completed":
			done++
		case "in_progress":
			open++
			now = append(now, todo.Content)
		case "pending":
			open++
			if next == "" {
				next = todo.Content
			}
		}
	}
	text := fmt.Sprintf("The list is written: %d of %d completed, %d open.", done, len(todos), open)
	switch {
	case len(now) > 0:
		text += " In progress: " + strings.Join(now, "; ")
	case next != "":
		text += " Next: " + next
	}
	return text
}
