package wires

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Anthropic is the Messages protocol. It signs thinking.
func Anthropic() Protocol {
	return Protocol{Name: "anthropic", Plugin: "core/anthropic", Model: "claude-sonnet-4-5", Signs: true, contentType: "text/event-stream",
		model: at("/v1/messages"), key: func(header http.Header) string { return header.Get("X-Api-Key") },
		parse: parseAnthropic, frames: anthropicFrames, encode: sse, garbage: []byte("event: content_block_delta\ndata: {\"type\":\n\n"),
		refusal: func(_ int, kind Kind, text string) any {
			words := map[Kind]string{RateLimit: "rate_limit_error", Quota: "rate_limit_error", Key: "authentication_error", Unavailable: "overloaded_error"}
			word := words[kind]
			if word == "" {
				word = "invalid_request_error"
			}
			return object{"type": "error", "error": object{"type": word, "message": text}}
		},
		overflow: "prompt is too long: 210000 tokens > 200000 maximum"}
}

// block is a block of a message's content.
type block struct {
	Type      string
	Text      string
	Thinking  string
	Signature string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage // of a result
	Source    *struct {
		Type      string
		MediaType string `json:"media_type"`
		Data      string
	}
}

func parseAnthropic(_ string, body []byte) (r Request, err error) {
	var wire struct {
		Model     string
		Stream    bool
		MaxTokens int64 `json:"max_tokens"`
		System    json.RawMessage
		Messages  []struct {
			Role    string
			Content json.RawMessage
		}
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return r, fmt.Errorf("the body is not a request: %w", err)
	}
	if wire.Model == "" || len(wire.Messages) == 0 || !wire.Stream || wire.MaxTokens < 1 {
		return r, fmt.Errorf("model, messages, max_tokens and stream are required")
	}
	r.Model = wire.Model
	for _, tool := range wire.Tools {
		r.Tools = append(r.Tools, tool.Name)
	}
	system, err := blocks(wire.System)
	if err != nil {
		return r, err
	}
	for _, one := range system {
		r.System += one.Text
	}
	for i, m := range wire.Messages {
		if m.Role != "user" && m.Role != "assistant" && m.Role != "system" {
			return r, fmt.Errorf("messages[%d]: unknown role %q", i, m.Role)
		}
		list, err := blocks(m.Content)
		if err != nil {
			return r, fmt.Errorf("messages[%d]: %w", i, err)
		}
		message, err := r.blocks(list)
		if err != nil {
			return r, fmt.Errorf("messages[%d]: %w", i, err)
		}
		if m.Role == "system" {
			r.System += message.Text
			continue
		}
		r.add(m.Role, message)
	}
	return r, nil
}

// blocks reads a content: a text, or blocks.
func blocks(raw json.RawMessage) (list []block, err error) {
	var text string
	if len(raw) == 0 {
		return nil, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		return []block{{Type: "text", Text: text}}, nil
	}
	return list, json.Unmarshal(raw, &list)
}

// blocks takes the blocks of one message.
func (r *Request) blocks(list []block) (m Message, err error) {
	for _, one := range list {
		switch one.Type {
		case "text":
			if one.Text == "" {
				return m, fmt.Errorf("a text block is empty")
			}
			m.Text += one.Text
		case "thinking":
			if one.Signature == "" {
				return m, fmt.Errorf("a thinking block has no signature")
			}
			r.Signatures = append(r.Signatures, one.Signature)
		case "image":
			if one.Source == nil || one.Source.Type != "base64" {
				return m, fmt.Errorf("an image needs a source of type base64")
			}
			m.Images = append(m.Images, Image{one.Source.MediaType, one.Source.Data})
		case "tool_use":
			m.Calls = append(m.Calls, Call{one.ID, one.Name, string(one.Input)})
		case "tool_result":
			inner, err := blocks(one.Content)
			if err != nil {
				return m, err
			}
			shown, err := r.blocks(inner)
			if err != nil {
				return m, err
			}
			m.Results = append(m.Results, Result{one.ToolUseID, shown.Text})
			m.Images = append(m.Images, shown.Images...)
		default:
			return m, fmt.Errorf("unknown block %q", one.Type)
		}
	}
	return m, nil
}

func anthropicFrames(r Request, t Turn) (frames []frame) {
	event := func(kind string, members object) {
		members["type"] = kind
		frames = append(frames, frame{kind, members})
	}
	place := -1
	begin := func(block object) {
		place++
		event("content_block_start", object{"index": place, "content_block": block})
	}
	delta := func(members object) { event("content_block_delta", object{"index": place, "delta": members}) }
	stop := func() { event("content_block_stop", object{"index": place}) }
	event("message_start", object{"message": object{"id": "msg_1", "role": "assistant", "model": r.Model, "content": []any{}, "usage": object{
		"input_tokens": t.Usage.Input - t.Usage.Cached, "cache_read_input_tokens": t.Usage.Cached, "cache_creation_input_tokens": 0, "output_tokens": 1}}})
	event("ping", object{})
	if t.Reasoning != "" {
		begin(object{"type": "thinking", "thinking": "", "signature": ""})
		for _, piece := range pieces(t.Reasoning) {
			delta(object{"type": "thinking_delta", "thinking": piece})
		}
		delta(object{"type": "signature_delta", "signature": signature(r.Turn)})
		stop()
	}
	if t.Text != "" {
		begin(object{"type": "text", "text": ""})
		for _, piece := range pieces(t.Text) {
			delta(object{"type": "text_delta", "text": piece})
		}
		stop()
	}
	for i, call := range t.Calls {
		begin(object{"type": "tool_use", "id": call.id(r, i), "name": call.Name, "input": object{}})
		for _, piece := range pieces(call.Arguments) {
			delta(object{"type": "input_json_delta", "partial_json": piece})
		}
		stop()
	}
	reason := "end_turn"
	if len(t.Calls) > 0 {
		reason = "tool_use"
	}
	event("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": t.Usage.Output}})
	event("message_stop", object{})
	return frames
}
