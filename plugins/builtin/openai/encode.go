package main

import (
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
)

// body is the request's JSON. Fields that are not set are not sent: servers differ
// in what they refuse.
type body struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	Tools               []toolSpec     `json:"tools,omitempty"`
	ToolChoice          string         `json:"tool_choice,omitempty"`
	MaxTokens           *int64         `json:"max_tokens,omitempty"`
	MaxCompletionTokens *int64         `json:"max_completion_tokens,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	TopP                *float64       `json:"top_p,omitempty"`
	Seed                *int64         `json:"seed,omitempty"`
	Stop                []string       `json:"stop,omitempty"`
	Store               *bool          `json:"store,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// toolSpec is a tool as the model is told of it.
type toolSpec struct {
	Type     string       `json:"type"`
	Function functionSpec `json:"function"`
}

type functionSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Encode makes the request of one streamed chat completion.
func (codec) Encode(request abi.ModelRequest) (encoded abi.ProviderEncoded, err error) {
	options, err := readOptions(request.Options)
	if err != nil {
		return encoded, err
	}
	b := body{
		Model:           request.Model,
		Temperature:     request.Generation.Temperature,
		TopP:            request.Generation.TopP,
		Seed:            request.Generation.Seed,
		Stop:            request.Generation.Stop,
		Store:           options.Store,
		ReasoningEffort: options.ReasoningEffort,
		Stream:          true,
		StreamOptions:   &streamOptions{IncludeUsage: true},
	}
	if options.MaxTokensField == maxCompletionTokens {
		b.MaxCompletionTokens = request.Generation.MaxTokens
	} else {
		b.MaxTokens = request.Generation.MaxTokens
	}
	if b.Messages, err = lower(request.System, request.Messages, options.mediaKinds()); err != nil {
		return encoded, err
	}
	for _, tool := range request.Tools {
		parameters, err := objectSchema(tool.Input)
		if err != nil {
			return encoded, fmt.Errorf("the input schema of tool %s: %w", tool.Name, err)
		}
		b.Tools = append(b.Tools, toolSpec{Type: "function", Function: functionSpec{Name: tool.Name, Description: tool.Description, Parameters: parameters}})
	}
	// Servers refuse a choice without tools. "none" keeps the tools: what the history
	// calls stays declared, and the prompt's prefix stays cached.
	if len(b.Tools) > 0 {
		b.ToolChoice = request.ToolChoice
	}
	content, err := json.Marshal(b)
	if err != nil {
		return encoded, fmt.Errorf("encode the request: %w", err)
	}
	return abi.ProviderEncoded{
		Method:  "POST",
		Path:    "/chat/completions",
		Headers: map[string]string{"accept": "text/event-stream", "content-type": "application/json"},
		Body:    content,
	}, nil
}
