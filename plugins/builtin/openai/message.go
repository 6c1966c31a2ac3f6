package main

import (
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// message is one message of the request. Its content is a string, null (nil), or a
// []contentPart.
type message struct {
	role             string
	content          any
	reasoningContent string
	toolCalls        []toolCall
	toolCallID       string
}

// toolCall holds the arguments as a text of JSON, which is what the protocol wants.
type toolCall struct {
	id        string
	name      string
	arguments string
}

// size guesses the length of the message's JSON, without the escapes of its texts.
func (m *message) size() int {
	size := 64 + len(m.reasoningContent) + len(m.toolCallID)
	switch content := m.content.(type) {
	case string:
		size += len(content)
	case []contentPart:
		for _, part := range content {
			size += 256 + len(part.text)
		}
	}
	for _, call := range m.toolCalls {
		size += 96 + len(call.id) + len(call.name) + len(call.arguments)
	}
	return size
}

func appendMessage(dst []byte, m message) []byte {
	dst = jsonscan.AppendString(append(dst, `{"role":`...), m.role)
	dst = jsonscan.AppendField(dst, "content")
	switch content := m.content.(type) {
	case string:
		dst = jsonscan.AppendString(dst, content)
	case []contentPart:
		dst = wire.AppendList(dst, content, appendPart)
	default:
		dst = append(dst, "null"...)
	}
	dst = jsonscan.AppendStringField(dst, "reasoning_content", m.reasoningContent)
	if len(m.toolCalls) > 0 {
		dst = wire.AppendList(jsonscan.AppendField(dst, "tool_calls"), m.toolCalls, appendCall)
	}
	dst = jsonscan.AppendStringField(dst, "tool_call_id", m.toolCallID)
	return append(dst, '}')
}

func appendCall(dst []byte, call toolCall) []byte {
	dst = jsonscan.AppendString(append(dst, `{"id":`...), call.id)
	dst = jsonscan.AppendString(append(dst, `,"type":"function","function":{"name":`...), call.name)
	dst = jsonscan.AppendString(append(dst, `,"arguments":`...), call.arguments)
	return append(dst, '}', '}')
}
