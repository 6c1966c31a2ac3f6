package wires

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Gemini is Google's protocol. It signs the first call of an answer, or its text, and
// has no ids of calls: results are told by the tool's name.
func Gemini() Protocol {
	return Protocol{Name: "gemini", Plugin: "core/gemini", Model: "gemini-2.5-pro", Base: "/v1beta", Signs: true, contentType: "text/event-stream",
		model: func(path string) string {
			model, ok := strings.CutSuffix(path, ":streamGenerateContent")
			if !ok {
				return ""
			}
			return strings.TrimPrefix(model, "/models/")
		},
		key:   func(header http.Header) string { return header.Get("X-Goog-Api-Key") },
		parse: parseGemini, frames: geminiFrames, encode: sse, garbage: []byte("data: {\"candidates\":[\n\n"),
		refusal: func(status int, kind Kind, text string) any {
			words := map[Kind]string{RateLimit: "RESOURCE_EXHAUSTED", Quota: "RESOURCE_EXHAUSTED", Key: "UNAUTHENTICATED", Unavailable: "UNAVAILABLE"}
			word := words[kind]
			if word == "" {
				word = "INVALID_ARGUMENT"
			}
			return object{"error": object{"code": status, "message": text, "status": word}}
		},
		overflow: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}
}

func parseGemini(model string, body []byte) (r Request, err error) {
	type texts struct{ Parts []struct{ Text string } }
	var wire struct {
		SystemInstruction texts
		Contents          []struct {
			Role  string
			Parts []struct {
				Text             *string
				Thought          bool
				ThoughtSignature string
				FunctionCall     *struct {
					Name string
					Args json.RawMessage
				}
				FunctionResponse *struct {
					Name     string
					Response struct{ Output, Error string }
				}
				InlineData *struct{ MimeType, Data string }
			}
		}
		Tools []struct{ FunctionDeclarations []struct{ Name string } }
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return r, fmt.Errorf("the body is not a request: %w", err)
	}
	if len(wire.Contents) == 0 {
		return r, fmt.Errorf("contents is required")
	}
	r.Model = model
	for _, part := range wire.SystemInstruction.Parts {
		r.System += part.Text
	}
	for _, tool := range wire.Tools {
		for _, function := range tool.FunctionDeclarations {
			r.Tools = append(r.Tools, function.Name)
		}
	}
	for i, one := range wire.Contents {
		role := one.Role
		if role == "model" {
			role = "assistant"
		}
		if role != "user" && role != "assistant" || len(one.Parts) == 0 {
			return r, fmt.Errorf("contents[%d] has the role %q and %d parts", i, one.Role, len(one.Parts))
		}
		var m Message
		for j, part := range one.Parts {
			if part.ThoughtSignature != "" {
				r.Signatures = append(r.Signatures, part.ThoughtSignature)
			}
			switch {
			case part.FunctionCall != nil:
				m.Calls = append(m.Calls, Call{part.FunctionCall.Name, part.FunctionCall.Name, string(part.FunctionCall.Args)})
			case part.FunctionResponse != nil:
				m.Results = append(m.Results, Result{part.FunctionResponse.Name, part.FunctionResponse.Response.Output + part.FunctionResponse.Response.Error})
			case part.InlineData != nil:
				m.Images = append(m.Images, Image{part.InlineData.MimeType, part.InlineData.Data})
			case part.Text == nil:
				return r, fmt.Errorf("contents[%d].parts[%d] has no data", i, j)
			case !part.Thought:
				m.Text += *part.Text
			}
		}
		r.add(role, m)
	}
	return r, nil
}

func geminiFrames(r Request, t Turn) (frames []frame) {
	answer := fmt.Sprintf("answer%d", r.Turn)
	chunk := func(parts ...any) {
		frames = append(frames, frame{data: object{"candidates": []any{object{"index": 0, "content": object{"role": "model", "parts": parts}}}, "responseId": answer}})
	}
	for _, piece := range pieces(t.Reasoning) {
		chunk(object{"text": piece, "thought": true})
	}
	for _, piece := range pieces(t.Text) {
		chunk(object{"text": piece})
	}
	var calls []any
	for _, call := range t.Calls {
		calls = append(calls, object{"functionCall": object{"name": call.Name, "args": json.RawMessage(call.Arguments)}})
	}
	switch {
	case t.Reasoning == "":
	case len(calls) > 0:
		calls[0].(object)["thoughtSignature"] = signature(r.Turn)
	default:
		chunk(object{"text": "", "thoughtSignature": signature(r.Turn)})
	}
	if len(calls) > 0 {
		chunk(calls...)
	}
	return append(frames, frame{data: object{"candidates": []any{object{"index": 0, "finishReason": "STOP"}}, "responseId": answer,
		"usageMetadata": object{"promptTokenCount": t.Usage.Input, "cachedContentTokenCount": t.Usage.Cached,
			"candidatesTokenCount": t.Usage.Output - t.Usage.Reasoning, "thoughtsTokenCount": t.Usage.Reasoning}}})
}
