package main

import (
	"encoding/json"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// message is one message of the request. A nil content is sent as null.
type message struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []toolCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

// functionCall holds the arguments as a text of JSON, which is what the protocol
// wants.
type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// lower puts the system text and the history into the protocol's messages.
func lower(system []abi.TextPart, history []abi.Message) ([]message, error) {
	messages := make([]message, 0, len(history)+1)
	if len(system) > 0 {
		texts := make([]string, len(system))
		for i, part := range system {
			texts[i] = part.Text
		}
		messages = append(messages, textMessage(abi.RoleSystem, strings.Join(texts, "\n")))
	}
	for _, m := range history {
		var err error
		switch m.Role {
		case abi.RoleUser:
			messages, err = appendUser(messages, m)
		case abi.RoleSystem:
			messages, err = appendUpdate(messages, m)
		case abi.RoleAssistant:
			messages, err = appendAssistant(messages, m)
		case abi.RoleTool:
			messages, err = appendResults(messages, m)
		default:
			err = plinth.Errorf(abi.KindInvalidInput, "message %s has the role %q; Chat Completions knows user, assistant, tool and system", m.ID, m.Role)
		}
		if err != nil {
			return nil, err
		}
	}
	return messages, nil
}

func textMessage(role, text string) message { return message{Role: role, Content: &text} }

func appendUser(messages []message, m abi.Message) ([]message, error) {
	text, err := onlyText(m, "")
	if err != nil {
		return nil, err
	}
	return append(messages, textMessage(abi.RoleUser, text)), nil
}

var escapeXML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// appendUpdate tells a change of the system context at its place in time. The
// protocol has no such message, so it is marked up and joins what the user said
// before it.
func appendUpdate(messages []message, m abi.Message) ([]message, error) {
	text, err := onlyText(m, "\n")
	if err != nil {
		return nil, err
	}
	text = "<system-update>\n" + escapeXML.Replace(text) + "\n</system-update>"
	if last := len(messages) - 1; last >= 0 && messages[last].Role == abi.RoleUser {
		text = *messages[last].Content + "\n" + text
		messages[last].Content = &text
		return messages, nil
	}
	return append(messages, textMessage(abi.RoleUser, text)), nil
}

func appendAssistant(messages []message, m abi.Message) ([]message, error) {
	out := message{Role: abi.RoleAssistant}
	var texts, reasoning []string
	for _, part := range m.Parts {
		switch part.Type {
		case abi.PartText:
			texts = append(texts, part.Text)
		case abi.PartReasoning:
			reasoning = append(reasoning, part.Text)
		case abi.PartToolCall:
			out.ToolCalls = append(out.ToolCalls, toolCall{ID: part.Call, Type: "function", Function: functionCall{Name: part.Name, Arguments: arguments(part.Input)}})
		default:
			return nil, unsupported(m, part, "text, reasoning and tool calls")
		}
	}
	// A message of neither text nor calls is refused by servers unless its text is
	// there and empty.
	if len(texts) > 0 || len(out.ToolCalls) == 0 {
		text := strings.Join(texts, "\n")
		out.Content = &text
	}
	out.ReasoningContent = strings.Join(reasoning, "\n")
	return append(messages, out), nil
}

func arguments(input json.RawMessage) string {
	if len(input) == 0 {
		return "{}"
	}
	return string(input)
}

func appendResults(messages []message, m abi.Message) ([]message, error) {
	for _, part := range m.Parts {
		if part.Type != abi.PartToolResult {
			return nil, unsupported(m, part, "tool results")
		}
		result := textMessage(abi.RoleTool, part.Text)
		result.ToolCallID = part.Call
		messages = append(messages, result)
	}
	return messages, nil
}

func onlyText(m abi.Message, separator string) (string, error) {
	texts := make([]string, len(m.Parts))
	for i, part := range m.Parts {
		if part.Type != abi.PartText {
			return "", unsupported(m, part, "text")
		}
		texts[i] = part.Text
	}
	return strings.Join(texts, separator), nil
}

func unsupported(m abi.Message, part abi.Part, supported string) error {
	return plinth.Errorf(abi.KindInvalidInput, "message %s: a Chat Completions message of role %s can hold %s; this one has a part of type %s", m.ID, m.Role, supported, part.Type)
}
