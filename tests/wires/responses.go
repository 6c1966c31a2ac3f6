package wires

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Responses is OpenAI's Responses. It encrypts reasoning that it does not store.
func Responses() Protocol {
	return Protocol{Name: "responses", Plugin: "core/openai-responses", Model: "gpt-5", Base: "/v1", Signs: true, contentType: "text/event-stream",
		model: at("/responses"), key: bearer, parse: parseResponses, frames: responsesFrames, encode: sse, garbage: []byte("data: {\"type\":\n\n"),
		refusal: openAIRefusal, overflow: "Your input exceeds the context window of this model. Please adjust your input and try again."}
}

func parseResponses(_ string, body []byte) (r Request, err error) {
	var wire struct {
		Model   string
		Stream  bool
		Store   *bool
		Include []string
		Input   []struct {
			Type      string
			ID        string
			Role      string
			Content   json.RawMessage
			CallID    string `json:"call_id"`
			Name      string
			Arguments string
			Output    json.RawMessage
			Encrypted string `json:"encrypted_content"`
		}
		Tools []struct {
			Type   string
			Name   string
			Strict *bool
		}
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return r, fmt.Errorf("the body is not a request: %w", err)
	}
	if wire.Model == "" || len(wire.Input) == 0 || !wire.Stream {
		return r, fmt.Errorf("model, input and stream are required")
	}
	r.Model = wire.Model
	for _, tool := range wire.Tools {
		if tool.Type == "function" && tool.Name == "" {
			return r, fmt.Errorf("a function needs a name")
		}
		r.Tools = append(r.Tools, tool.Name)
	}
	for i, item := range wire.Input {
		switch item.Type {
		case "message", "":
			text, images, err := content(item.Content)
			if err != nil {
				return r, err
			}
			switch item.Role {
			case "system", "developer":
				r.System += text
			case "user", "assistant":
				r.add(item.Role, Message{Text: text, Images: images})
			default:
				return r, fmt.Errorf("input[%d]: unknown role %q", i, item.Role)
			}
		case "reasoning":
			if item.ID == "" || item.Encrypted == "" {
				return r, fmt.Errorf("input[%d]: reasoning that is not stored needs its id and its encrypted_content", i)
			}
			r.Signatures = append(r.Signatures, item.Encrypted)
			r.add("assistant", Message{})
		case "function_call":
			r.add("assistant", Message{Calls: []Call{{item.CallID, item.Name, item.Arguments}}})
		case "function_call_output":
			text, images, err := content(item.Output)
			if err != nil {
				return r, err
			}
			r.add("user", Message{Results: []Result{{item.CallID, text}}, Images: images})
		default:
			return r, fmt.Errorf("input[%d]: unknown type %q", i, item.Type)
		}
	}
	return r, nil
}

func responsesFrames(r Request, t Turn) (frames []frame) {
	number, place := 0, -1
	event := func(kind string, members object) {
		members["type"], members["sequence_number"] = kind, number
		number++
		frames = append(frames, frame{kind, members})
	}
	item := func(begun, done object, deltas func(id string)) {
		place++
		event("response.output_item.added", object{"output_index": place, "item": begun})
		deltas(begun["id"].(string))
		event("response.output_item.done", object{"output_index": place, "item": done})
	}
	delta := func(kind, id, text string, more object) {
		members := object{"item_id": id, "output_index": place, "delta": text}
		maps.Copy(members, more)
		event("response."+kind+".delta", members)
	}
	event("response.created", object{"response": object{"id": "resp_1", "status": "in_progress"}})
	if t.Reasoning != "" {
		id := fmt.Sprintf("rs_%d", r.Turn)
		item(object{"type": "reasoning", "id": id, "summary": []any{}},
			object{"type": "reasoning", "id": id, "summary": []any{object{"type": "summary_text", "text": t.Reasoning}}, "encrypted_content": signature(r.Turn)}, func(id string) {
				for _, piece := range pieces(t.Reasoning) {
					delta("reasoning_summary_text", id, piece, object{"summary_index": 0})
				}
			})
	}
	if t.Text != "" {
		id := fmt.Sprintf("msg_%d", r.Turn)
		item(object{"type": "message", "id": id, "role": "assistant", "content": []any{}},
			object{"type": "message", "id": id, "role": "assistant", "content": []any{object{"type": "output_text", "text": t.Text}}}, func(id string) {
				for _, piece := range pieces(t.Text) {
					delta("output_text", id, piece, object{"content_index": 0})
				}
			})
	}
	for i, call := range t.Calls {
		id := fmt.Sprintf("fc_%d_%d", r.Turn, i)
		made := func(arguments string) object {
			return object{"type": "function_call", "id": id, "call_id": call.id(r, i), "name": call.Name, "arguments": arguments}
		}
		item(made(""), made(call.Arguments), func(id string) {
			for _, piece := range pieces(call.Arguments) {
				delta("function_call_arguments", id, piece, nil)
			}
		})
	}
	event("response.completed", object{"response": object{"id": "resp_1", "status": "completed", "usage": object{
		"input_tokens": t.Usage.Input, "input_tokens_details": object{"cached_tokens": t.Usage.Cached},
		"output_tokens": t.Usage.Output, "output_tokens_details": object{"reasoning_tokens": t.Usage.Reasoning},
		"total_tokens": t.Usage.Input + t.Usage.Output}}})
	return frames
}
