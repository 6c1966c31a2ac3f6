package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
)

// shape is the protocol's body as encoding/json writes it, in the order of body.encode.
type shape struct {
	Model    string `json:"model"`
	Messages []struct {
		Role             string          `json:"role"`
		Content          json.RawMessage `json:"content"`
		ReasoningContent string          `json:"reasoning_content,omitempty"`
		ToolCalls        []struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls,omitempty"`
		ToolCallID string `json:"tool_call_id,omitempty"`
	} `json:"messages"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools,omitempty"`
	ToolChoice          string          `json:"tool_choice,omitempty"`
	MaxTokens           *int64          `json:"max_tokens,omitempty"`
	MaxCompletionTokens *int64          `json:"max_completion_tokens,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	TopP                *float64        `json:"top_p,omitempty"`
	Seed                *int64          `json:"seed,omitempty"`
	Stop                []string        `json:"stop,omitempty"`
	Store               *bool           `json:"store,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
	Stream              bool            `json:"stream"`
	StreamOptions       json.RawMessage `json:"stream_options"`
}

// A body that is read into its shape and written by encoding/json is the same bytes.
func FuzzBodyIsWhatEncodingJSONWrites(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		encoded, err := codec{}.Encode(randomRequest(rand.New(rand.NewPCG(seed, 5))))
		if err != nil {
			t.Fatal(err)
		}
		var body shape
		decoder := json.NewDecoder(bytes.NewReader(encoded.Body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&body); err != nil {
			t.Fatalf("%v in %s", err, encoded.Body)
		}
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(body); err != nil {
			t.Fatal(err)
		}
		if string(encoded.Body)+"\n" != want.String() {
			t.Errorf(" got %s\nwant %s", encoded.Body, want.Bytes())
		}
	})
}

func randomRequest(r *rand.Rand) abi.ModelRequest {
	// No bytes that are not UTF-8: read and written again they lose their escape.
	pieces := []string{"", "word ", "\"\\\n\x00<&>", "é😀\u2028"}
	text := func() string { return pieces[r.IntN(len(pieces))] + pieces[r.IntN(len(pieces))] }
	request := abi.ModelRequest{Model: text(), ToolChoice: "auto"}
	parts := map[string][]abi.Part{
		abi.RoleUser:      {{Type: abi.PartText, Text: text()}, {Type: abi.PartMedia, Mime: "image/png", Blob: text(), Name: text()}, {Type: abi.PartMedia, Mime: "application/pdf"}},
		abi.RoleAssistant: {{Type: abi.PartText, Text: text()}, {Type: abi.PartReasoning, Text: text()}, {Type: abi.PartToolCall, Call: text(), Name: text(), Input: json.RawMessage(`{"a":"<\n>"}`)}, {Type: abi.PartToolCall}},
		abi.RoleTool:      {{Type: abi.PartToolResult, Call: text(), Text: text()}, {Type: abi.PartMedia, Mime: "image/gif", Call: text()}},
		abi.RoleSystem:    {{Type: abi.PartText, Text: text()}},
	}
	roles := []string{abi.RoleUser, abi.RoleAssistant, abi.RoleTool, abi.RoleSystem}
	for range r.IntN(6) {
		role := roles[r.IntN(len(roles))]
		request.Messages = append(request.Messages, abi.Message{Role: role, Parts: parts[role][:r.IntN(len(parts[role])+1)]})
	}
	for range r.IntN(3) {
		request.System = append(request.System, abi.TextPart{Text: text()})
		request.Tools = append(request.Tools, abi.ToolDefinition{Name: text(), Description: text(), Input: json.RawMessage(`{"type":"object","$id":"\u0024blob"}`)})
		request.Generation.Stop = append(request.Generation.Stop, text())
	}
	if r.IntN(2) == 0 {
		number, share := r.Int64(), r.Float64()*1e-8
		request.Generation.MaxTokens, request.Generation.Seed = &number, &number
		request.Generation.Temperature, request.Generation.TopP = &share, &share
		request.Options = map[string]json.RawMessage{"openai": json.RawMessage(`{"store":false,"reasoning_effort":"low","max_tokens_field":"max_completion_tokens"}`)}
	}
	return request
}
