package wires

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Chat is Chat Completions, as OpenAI has it. It signs no reasoning.
func Chat() Protocol {
	return Protocol{Name: "chat", Plugin: "core/openai", Model: "gpt-4o", Base: "/v1", contentType: "text/event-stream",
		model: at("/chat/completions"), key: bearer, parse: parseChat, frames: chatFrames, encode: sse, garbage: []byte("data: {\"choices\":[{\n\n"),
		refusal: openAIRefusal, overflow: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."}
}

// openAIRefusal is the body of an error of OpenAI's.
func openAIRefusal(_ int, kind Kind, text string) any {
	codes := map[Kind]string{Overflow: "context_length_exceeded", RateLimit: "rate_limit_exceeded", Quota: "insufficient_quota", Key: "invalid_api_key", Unavailable: "server_error"}
	return object{"error": object{"message": text, "type": "invalid_request_error", "param": nil, "code": codes[kind]}}
}

func parseChat(_ string, body []byte) (r Request, err error) {
	var wire struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role       string
			Content    json.RawMessage
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return r, fmt.Errorf("the body is not a request: %w", err)
	}
	if wire.Model == "" || len(wire.Messages) == 0 || !wire.Stream {
		return r, fmt.Errorf("model, messages and stream are required")
	}
	r.Model = wire.Model
	for _, tool := range wire.Tools {
		r.Tools = append(r.Tools, tool.Function.Name)
	}
	for _, m := range wire.Messages {
		var message Message
		if message.Text, message.Images, err = content(m.Content); err != nil {
			return r, err
		}
		for _, call := range m.ToolCalls {
			message.Calls = append(message.Calls, Call{call.ID, call.Function.Name, call.Function.Arguments})
		}
		switch m.Role {
		case "system":
			r.System += message.Text
		case "tool":
			r.add("user", Message{Results: []Result{{m.ToolCallID, message.Text}}})
		case "user", "assistant":
			r.add(m.Role, message)
		default:
			return r, fmt.Errorf("unknown role %q", m.Role)
		}
	}
	return r, nil
}

// content reads the content of a message of OpenAI's: a text, null, or parts.
func content(raw json.RawMessage) (text string, images []Image, err error) {
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, nil, nil
	}
	var parts []struct {
		Type     string
		Text     string
		ImageURL json.RawMessage `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", nil, fmt.Errorf("content must be a string or a list of parts")
	}
	for _, part := range parts {
		text += part.Text
		if part.ImageURL == nil {
			continue
		}
		var url string
		if json.Unmarshal(part.ImageURL, &url) != nil {
			var named struct{ URL string }
			if err := json.Unmarshal(part.ImageURL, &named); err != nil {
				return "", nil, fmt.Errorf("image_url: %w", err)
			}
			url = named.URL
		}
		image, err := dataURL(url)
		if err != nil {
			return "", nil, err
		}
		images = append(images, image)
	}
	return text, images, nil
}

// dataURL reads data:MIME;base64,DATA.
func dataURL(url string) (Image, error) {
	head, data, found := strings.Cut(url, ";base64,")
	mime, ok := strings.CutPrefix(head, "data:")
	if !found || !ok || data == "" {
		return Image{}, fmt.Errorf("an image is a data URL")
	}
	return Image{mime, data}, nil
}

func chatFrames(r Request, t Turn) (frames []frame) {
	chunk := func(delta any, finish any) {
		frames = append(frames, frame{data: object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": r.Model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}}})
	}
	for _, piece := range pieces(t.Reasoning) {
		chunk(object{"reasoning_content": piece}, nil)
	}
	for _, piece := range pieces(t.Text) {
		chunk(object{"content": piece}, nil)
	}
	for i, call := range t.Calls {
		chunk(object{"tool_calls": []any{object{"index": i, "id": call.id(r, i), "type": "function", "function": object{"name": call.Name, "arguments": ""}}}}, nil)
		for _, piece := range pieces(call.Arguments) {
			chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": piece}}}}, nil)
		}
	}
	finish := "stop"
	if len(t.Calls) > 0 {
		finish = "tool_calls"
	}
	chunk(object{}, finish)
	frames = append(frames, frame{data: object{"choices": []any{}, "usage": object{"prompt_tokens": t.Usage.Input, "completion_tokens": t.Usage.Output,
		"total_tokens": t.Usage.Input + t.Usage.Output, "prompt_tokens_details": object{"cached_tokens": t.Usage.Cached},
		"completion_tokens_details": object{"reasoning_tokens": t.Usage.Reasoning}}}})
	return append(frames, frame{data: "[DONE]"})
}
