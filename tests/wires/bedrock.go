package wires

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"strings"
)

// Bedrock is AWS's Converse, whose answers are messages of an AWS event stream. It
// signs reasoning.
func Bedrock() Protocol {
	return Protocol{Name: "bedrock", Plugin: "core/bedrock", Model: "anthropic.claude-sonnet-4-v1", Signs: true, contentType: "application/vnd.amazon.eventstream",
		model: func(path string) string {
			model, ok := strings.CutSuffix(strings.TrimPrefix(path, "/model/"), "/converse-stream")
			if name, err := url.PathUnescape(model); ok && err == nil {
				return name
			}
			return ""
		},
		key: func(header http.Header) string { // its id: the rest is a signature
			_, after, _ := strings.Cut(header.Get("Authorization"), "Credential=")
			id, _, _ := strings.Cut(after, "/")
			return id
		},
		parse: parseBedrock, frames: bedrockFrames, encode: eventStream, garbage: eventMessage("contentBlockDelta", []byte(`{"delta":`)),
		refusal:  func(_ int, _ Kind, text string) any { return object{"message": text} },
		overflow: "Input is too long for requested model."}
}

// converseBlock is a block of a message's content; one of its members is there.
type converseBlock struct {
	Text  *string
	Image *struct {
		Format string
		Source struct{ Bytes string }
	}
	ToolUse *struct {
		ToolUseID string `json:"toolUseId"`
		Name      string
		Input     json.RawMessage
	}
	ToolResult *struct {
		ToolUseID string `json:"toolUseId"`
		Content   []converseBlock
	}
	ReasoningContent *struct {
		ReasoningText struct{ Text, Signature string }
	}
	CachePoint json.RawMessage
}

func parseBedrock(model string, body []byte) (r Request, err error) {
	var wire struct {
		System   []converseBlock
		Messages []struct {
			Role    string
			Content []converseBlock
		}
		ToolConfig struct {
			Tools []struct {
				ToolSpec *struct {
					Name        string
					InputSchema struct{ JSON json.RawMessage }
				}
				CachePoint json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return r, fmt.Errorf("the body is not a request: %w", err)
	}
	if len(wire.Messages) == 0 || wire.Messages[0].Role != "user" {
		return r, fmt.Errorf("a conversation must start with a user message")
	}
	r.Model = model
	for _, tool := range wire.ToolConfig.Tools {
		if tool.ToolSpec != nil {
			r.Tools = append(r.Tools, tool.ToolSpec.Name)
		}
	}
	for _, one := range wire.System {
		if one.Text != nil {
			r.System += *one.Text
		}
	}
	previous := ""
	for i, m := range wire.Messages {
		if m.Role != "user" && m.Role != "assistant" || m.Role == previous {
			return r, fmt.Errorf("messages[%d] has the role %q behind %q; roles must alternate", i, m.Role, previous)
		}
		previous = m.Role
		message, err := r.converse(m.Content)
		if err != nil {
			return r, fmt.Errorf("messages[%d]: %w", i, err)
		}
		r.add(m.Role, message)
	}
	return r, nil
}

// converse takes the blocks of one message.
func (r *Request) converse(list []converseBlock) (m Message, err error) {
	for _, one := range list {
		switch {
		case one.Text != nil:
			if *one.Text == "" {
				return m, fmt.Errorf("a text block is empty")
			}
			m.Text += *one.Text
		case one.Image != nil:
			m.Images = append(m.Images, Image{"image/" + one.Image.Format, one.Image.Source.Bytes})
		case one.ToolUse != nil:
			m.Calls = append(m.Calls, Call{one.ToolUse.ToolUseID, one.ToolUse.Name, string(one.ToolUse.Input)})
		case one.ToolResult != nil:
			shown, err := r.converse(one.ToolResult.Content)
			if err != nil {
				return m, err
			}
			m.Results = append(m.Results, Result{one.ToolResult.ToolUseID, shown.Text})
			m.Images = append(m.Images, shown.Images...)
		case one.ReasoningContent != nil:
			if one.ReasoningContent.ReasoningText.Signature == "" {
				return m, fmt.Errorf("reasoning has no signature")
			}
			r.Signatures = append(r.Signatures, one.ReasoningContent.ReasoningText.Signature)
		case one.CachePoint != nil:
		default:
			return m, fmt.Errorf("a block of a kind that is not known")
		}
	}
	return m, nil
}

func bedrockFrames(r Request, t Turn) (frames []frame) {
	event := func(kind string, members object) { frames = append(frames, frame{kind, members}) }
	place := 0
	delta := func(members object) { event("contentBlockDelta", object{"contentBlockIndex": place, "delta": members}) }
	stop := func() { event("contentBlockStop", object{"contentBlockIndex": place}); place++ }
	event("messageStart", object{"role": "assistant"})
	if t.Reasoning != "" {
		for _, piece := range pieces(t.Reasoning) {
			delta(object{"reasoningContent": object{"text": piece}})
		}
		delta(object{"reasoningContent": object{"signature": signature(r.Turn)}})
		stop()
	}
	if t.Text != "" {
		for _, piece := range pieces(t.Text) {
			delta(object{"text": piece})
		}
		stop()
	}
	for i, call := range t.Calls {
		event("contentBlockStart", object{"contentBlockIndex": place, "start": object{"toolUse": object{"toolUseId": call.id(r, i), "name": call.Name}}})
		for _, piece := range pieces(call.Arguments) {
			delta(object{"toolUse": object{"input": piece}})
		}
		stop()
	}
	reason := "end_turn"
	if len(t.Calls) > 0 {
		reason = "tool_use"
	}
	event("messageStop", object{"stopReason": reason})
	event("metadata", object{"usage": object{"inputTokens": t.Usage.Input - t.Usage.Cached, "outputTokens": t.Usage.Output, "cacheReadInputTokens": t.Usage.Cached,
		"totalTokens": t.Usage.Input + t.Usage.Output}, "metrics": object{"latencyMs": 1}})
	return frames
}

// eventStream writes a frame as a message of an AWS event stream.
func eventStream(f frame) []byte {
	payload, err := json.Marshal(f.data)
	if err != nil {
		panic(err) // frames are made here
	}
	return eventMessage(f.event, payload)
}

// eventMessage is a message of an AWS event stream: lengths with their checksum,
// headers of type 7 (text), the payload, a checksum of all.
func eventMessage(kind string, payload []byte) []byte {
	var headers []byte
	for _, one := range [][2]string{{":event-type", kind}, {":content-type", "application/json"}, {":message-type", "event"}} {
		headers = append(append(headers, byte(len(one[0]))), one[0]...)
		headers = append(binary.BigEndian.AppendUint16(append(headers, 7), uint16(len(one[1]))), one[1]...)
	}
	message := binary.BigEndian.AppendUint32(nil, uint32(12+len(headers)+len(payload)+4))
	message = binary.BigEndian.AppendUint32(message, uint32(len(headers)))
	message = binary.BigEndian.AppendUint32(message, crc32.ChecksumIEEE(message))
	message = append(append(message, headers...), payload...)
	return binary.BigEndian.AppendUint32(message, crc32.ChecksumIEEE(message))
}
