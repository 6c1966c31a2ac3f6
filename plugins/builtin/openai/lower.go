package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// lower puts the system text and the history into the protocol's messages. Takes says
// which files the model can look at.
func lower(system []abi.TextPart, history []abi.Message, takes mediaKinds) ([]message, error) {
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
			messages, err = appendUser(messages, m, takes)
		case abi.RoleSystem:
			messages, err = appendUpdate(messages, m)
		case abi.RoleAssistant:
			messages, err = appendAssistant(messages, m)
		case abi.RoleTool:
			messages, err = appendResults(messages, m, takes)
		default:
			err = plinth.Errorf(abi.KindInvalidInput, "message %s has the role %q; Chat Completions knows user, assistant, tool and system", m.ID, m.Role)
		}
		if err != nil {
			return nil, err
		}
	}
	return messages, nil
}

func textMessage(role, text string) message { return message{role: role, content: text} }

func appendUser(messages []message, m abi.Message, takes mediaKinds) ([]message, error) {
	texts, files, err := wire.Separate(protocol, m, abi.PartText)
	if err != nil {
		return nil, err
	}
	text := wire.Joined(texts, "")
	if len(files) == 0 {
		return append(messages, textMessage(abi.RoleUser, text)), nil
	}
	content := []contentPart{{kind: "text", text: text}}
	for _, file := range files {
		part, ok := takes.part(file)
		if !ok {
			part = contentPart{kind: "text", text: wire.Mention(file) + ", which this model cannot look at"}
		}
		content = append(content, part)
	}
	return append(messages, message{role: abi.RoleUser, content: content}), nil
}

// appendUpdate tells a change of the system context at its place in time. The
// protocol has no such message, so it is marked up and joins what the user said
// before it.
func appendUpdate(messages []message, m abi.Message) ([]message, error) {
	texts, files, err := wire.Separate(protocol, m, abi.PartText)
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		return nil, wire.Unsupported(protocol, m, files[0], "text")
	}
	text := wire.SystemUpdate(wire.Joined(texts, "\n"))
	if last := len(messages) - 1; last >= 0 && messages[last].role == abi.RoleUser {
		switch content := messages[last].content.(type) {
		case string:
			messages[last].content = content + "\n" + text
		case []contentPart:
			messages[last].content = append(content, contentPart{kind: "text", text: text})
		}
		return messages, nil
	}
	return append(messages, textMessage(abi.RoleUser, text)), nil
}

func appendAssistant(messages []message, m abi.Message) ([]message, error) {
	out := message{role: abi.RoleAssistant}
	var texts, reasoning []string
	for _, part := range m.Parts {
		switch {
		case part.Hosted:
			texts = append(texts, wire.Retold(part))
		case part.Type == abi.PartText:
			texts = append(texts, part.Text)
		case part.Type == abi.PartReasoning:
			reasoning = append(reasoning, part.Text)
		case part.Type == abi.PartToolCall:
			out.toolCalls = append(out.toolCalls, toolCall{id: part.Call, name: part.Name, arguments: wire.Arguments(part.Input)})
		default:
			return nil, wire.Unsupported(protocol, m, part, "text, reasoning and tool calls")
		}
	}
	// A message of neither text nor calls is refused by servers unless its text is
	// there and empty.
	if len(texts) > 0 || len(out.toolCalls) == 0 {
		out.content = strings.Join(texts, "\n")
	}
	out.reasoningContent = strings.Join(reasoning, "\n")
	return append(messages, out), nil
}

// appendResults puts the results, which can only be text, and then what they show in
// a message of the user.
func appendResults(messages []message, m abi.Message, takes mediaKinds) ([]message, error) {
	results, files, err := wire.Separate(protocol, m, abi.PartToolResult)
	if err != nil {
		return nil, err
	}
	for _, part := range results {
		result := textMessage(abi.RoleTool, part.Text)
		result.toolCallID = part.Call
		messages = append(messages, result)
	}
	var shown []contentPart
	for _, file := range files {
		if part, ok := takes.part(file); ok {
			shown = append(shown, contentPart{kind: "text", text: wire.Mention(file) + ", from the tool call " + file.Call}, part)
		}
	}
	if len(shown) > 0 {
		messages = append(messages, message{role: abi.RoleUser, content: shown})
	}
	return messages, nil
}
