package main

import (
	"encoding/json"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// message is one message of the request.
type message struct {
	role     string
	content  string
	thinking string
	images   []string // digests
	calls    []call
	tool     string // whose result it is
}

// call is a call of a tool; the protocol gives it no id.
type call struct {
	name      string
	arguments json.RawMessage // an object
}

func appendMessage(dst []byte, m message) []byte {
	dst = jsonscan.AppendString(append(dst, `{"role":`...), m.role)
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "content"), m.content)
	dst = jsonscan.AppendStringField(dst, "thinking", m.thinking)
	if len(m.images) > 0 {
		dst = wire.AppendList(jsonscan.AppendField(dst, "images"), m.images, appendImage)
	}
	if len(m.calls) > 0 {
		dst = wire.AppendList(jsonscan.AppendField(dst, "tool_calls"), m.calls, appendCall)
	}
	dst = jsonscan.AppendStringField(dst, "tool_name", m.tool)
	return append(dst, '}')
}

// appendImage leaves the bytes to the host, so that they never pass through the plugin.
func appendImage(dst []byte, digest string) []byte {
	return wire.AppendBlob(dst, abi.BlobText{Blob: abi.Blob{Digest: digest}, As: abi.BlobBase64})
}

func appendCall(dst []byte, c call) []byte {
	dst = jsonscan.AppendString(append(dst, `{"function":{"name":`...), c.name)
	dst = append(jsonscan.AppendField(dst, "arguments"), c.arguments...)
	return append(dst, '}', '}')
}

// lower puts the system text and the history into the protocol's messages.
func lower(system []abi.TextPart, history []abi.Message, images bool) ([]message, error) {
	var messages []message
	if len(system) > 0 {
		texts := make([]string, len(system))
		for i, part := range system {
			texts[i] = part.Text
		}
		messages = append(messages, message{role: abi.RoleSystem, content: strings.Join(texts, "\n")})
	}
	for _, m := range history {
		var err error
		switch m.Role {
		case abi.RoleUser:
			messages, err = appendUser(messages, m, images)
		case abi.RoleSystem:
			messages, err = appendUpdate(messages, m)
		case abi.RoleAssistant:
			messages, err = appendAssistant(messages, m)
		case abi.RoleTool:
			messages, err = appendResults(messages, m, images)
		default:
			err = plinth.Errorf(abi.KindInvalidInput, "message %s has the role %q; %s knows user, assistant, tool and system", m.ID, m.Role, protocol)
		}
		if err != nil {
			return nil, err
		}
	}
	return messages, nil
}

func appendUser(messages []message, m abi.Message, images bool) ([]message, error) {
	texts, files, err := wire.Separate(protocol, m, abi.PartText)
	if err != nil {
		return nil, err
	}
	out := message{role: abi.RoleUser, content: wire.Joined(texts, "")}
	for _, file := range files {
		if images && wire.Image(file.Mime) {
			out.images = append(out.images, file.Blob)
		} else {
			out.content += "\n" + wire.Unseen(file)
		}
	}
	return append(messages, out), nil
}

// appendUpdate tells a change of the system context. The protocol has no such message, so
// it is marked up and joins what the user said before it.
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
		messages[last].content += "\n" + text
		return messages, nil
	}
	return append(messages, message{role: abi.RoleUser, content: text}), nil
}

func appendAssistant(messages []message, m abi.Message) ([]message, error) {
	out := message{role: abi.RoleAssistant}
	var texts, thinking []string
	for _, part := range m.Parts {
		switch {
		case part.Hosted: // of another provider
			texts = append(texts, wire.Retold(part))
		case part.Type == abi.PartText:
			texts = append(texts, part.Text)
		case part.Type == abi.PartReasoning:
			thinking = append(thinking, part.Text)
		case part.Type == abi.PartToolCall:
			out.calls = append(out.calls, call{part.Name, wire.ObjectInput(part.Input)})
		default:
			return nil, wire.Unsupported(protocol, m, part, "text, reasoning and tool calls")
		}
	}
	out.content, out.thinking = strings.Join(texts, "\n"), strings.Join(thinking, "\n")
	return append(messages, out), nil
}

// appendResults puts the results in the order of the calls, which is how the model tells
// them apart, and then what they show in a message of the user.
func appendResults(messages []message, m abi.Message, images bool) ([]message, error) {
	results, files, err := wire.Separate(protocol, m, abi.PartToolResult)
	if err != nil {
		return nil, err
	}
	for _, part := range results {
		messages = append(messages, message{role: abi.RoleTool, content: part.Text, tool: part.Name})
	}
	shown := message{role: abi.RoleUser}
	for _, file := range files {
		if images && wire.Image(file.Mime) {
			shown.images = append(shown.images, file.Blob)
			shown.content += wire.Mention(file) + ", from a tool\n"
		}
	}
	if len(shown.images) > 0 {
		messages = append(messages, shown)
	}
	return messages, nil
}
