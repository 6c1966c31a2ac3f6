package chat

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Request is a request as the server saw it.
type Request struct {
	Header http.Header
	Body   []byte // as it came
	Model  string
	// Messages are the decoded messages.
	Messages []Message
	Tools    []string // names
	Stream   bool
	// Turn is the number of assistant messages in the request.
	Turn int
	// Received is when the request had been read; Took is the server's own time
	// from there to the last byte written, waits of the script included. Took is 0
	// while the answer is under way.
	Received time.Time
	Took     time.Duration

	includeUsage bool
}

// Message is one message of a request.
type Message struct {
	Role       string
	Content    string // the text parts joined
	ToolCallID string
	Calls      []ToolCall
}

// LastUser is the text of the last user message.
func (r Request) LastUser() string {
	for _, v := range slices.Backward(r.Messages) {
		if v.Role == "user" {
			return v.Content
		}
	}
	return ""
}

// wireRequest is the part of the wire format that is looked at.
type wireRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// parse decodes a request's body and refuses what a real server refuses.
func parse(body []byte) (Request, error) {
	var wire wireRequest
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, fmt.Errorf("the body is not a request: %w", err)
	}
	request := Request{Body: body, Model: wire.Model, Stream: wire.Stream, includeUsage: wire.StreamOptions.IncludeUsage}
	if wire.Model == "" || len(wire.Messages) == 0 {
		return Request{}, fmt.Errorf("model and messages are required")
	}
	for _, tool := range wire.Tools {
		if tool.Type != "function" || tool.Function.Name == "" {
			return Request{}, fmt.Errorf("a tool must be a function with a name")
		}
		request.Tools = append(request.Tools, tool.Function.Name)
	}
	for i, m := range wire.Messages {
		content, err := text(m.Content)
		if err != nil {
			return Request{}, fmt.Errorf("messages[%d]: %w", i, err)
		}
		message := Message{Role: m.Role, Content: content, ToolCallID: m.ToolCallID}
		for _, call := range m.ToolCalls {
			message.Calls = append(message.Calls, ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
		if m.Role == "assistant" {
			request.Turn++
		}
		request.Messages = append(request.Messages, message)
	}
	return request, checkOrder(request.Messages)
}

// text answers the text of a content: a string, null, or parts.
func text(content json.RawMessage) (string, error) {
	if len(content) == 0 || string(content) == "null" {
		return "", nil
	}
	var whole string
	if json.Unmarshal(content, &whole) == nil {
		return whole, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return "", fmt.Errorf("content must be a string or a list of parts")
	}
	for _, part := range parts {
		whole += part.Text
	}
	return whole, nil
}

// checkOrder refuses unknown roles, tool results without their call and calls
// without their results.
func checkOrder(messages []Message) error {
	open := map[string]bool{}
	for i, message := range messages {
		switch message.Role {
		case "tool":
			if !open[message.ToolCallID] {
				return fmt.Errorf("messages[%d]: the tool message answers no call %q before it", i, message.ToolCallID)
			}
			delete(open, message.ToolCallID)
			continue
		case "system", "developer", "user", "assistant":
		default:
			return fmt.Errorf("messages[%d]: unknown role %q", i, message.Role)
		}
		if len(open) > 0 {
			return fmt.Errorf("messages[%d]: %d tool calls before it have no result", i, len(open))
		}
		for _, call := range message.Calls {
			if call.ID == "" || call.Name == "" {
				return fmt.Errorf("messages[%d]: a tool call needs id and name", i)
			}
			open[call.ID] = true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool calls at the end have no result", len(open))
	}
	return nil
}
