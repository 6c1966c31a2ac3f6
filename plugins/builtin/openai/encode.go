package main

import (
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// body is the request's JSON. Fields that are not set are not sent: servers differ
// in what they refuse.
type body struct {
	model               string
	messages            []message
	tools               []toolSpec
	toolChoice          string
	maxTokens           *int64
	maxCompletionTokens *int64
	temperature         *float64
	topP                *float64
	seed                *int64
	stop                []string
	store               *bool
	reasoningEffort     string
}

// toolSpec is a tool as the model is told of it.
type toolSpec struct {
	name        string
	description string
	parameters  json.RawMessage
}

// Encode makes the request of one streamed chat completion.
func (codec) Encode(request abi.ModelRequest) (encoded abi.ProviderEncoded, err error) {
	options, err := readOptions(request.Options)
	if err != nil {
		return encoded, err
	}
	b := body{
		model:           request.Model,
		temperature:     request.Generation.Temperature,
		topP:            request.Generation.TopP,
		seed:            request.Generation.Seed,
		stop:            request.Generation.Stop,
		store:           options.Store,
		reasoningEffort: options.ReasoningEffort,
	}
	if options.MaxTokensField == maxCompletionTokens {
		b.maxCompletionTokens = request.Generation.MaxTokens
	} else {
		b.maxTokens = request.Generation.MaxTokens
	}
	if b.messages, err = lower(request.System, request.Messages, options.mediaKinds()); err != nil {
		return encoded, err
	}
	for _, tool := range request.Tools {
		parameters, err := wire.ObjectSchema(tool.Input)
		if err != nil {
			return encoded, fmt.Errorf("the input schema of tool %s: %w", tool.Name, err)
		}
		b.tools = append(b.tools, toolSpec{tool.Name, tool.Description, parameters})
	}
	// Servers refuse a choice without tools. "none" keeps the tools: what the history
	// calls stays declared, and the prompt's prefix stays cached.
	if len(b.tools) > 0 {
		b.toolChoice = request.ToolChoice
	}
	return abi.ProviderEncoded{
		Method:  "POST",
		Path:    "/chat/completions",
		Headers: map[string]string{"accept": "text/event-stream", "content-type": "application/json"},
		Body:    b.encode(),
	}, nil
}

// encode writes the body. A history has hundreds of thousands of bytes and every turn
// writes it again, so it is written by hand, once.
func (b *body) encode() []byte {
	dst := append(make([]byte, 0, b.size()), '{')
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "model"), b.model)
	dst = wire.AppendList(jsonscan.AppendField(dst, "messages"), b.messages, appendMessage)
	if len(b.tools) > 0 {
		dst = wire.AppendList(jsonscan.AppendField(dst, "tools"), b.tools, appendTool)
	}
	dst = jsonscan.AppendStringField(dst, "tool_choice", b.toolChoice)
	dst = wire.AppendOptional(dst, "max_tokens", b.maxTokens, jsonscan.AppendInt)
	dst = wire.AppendOptional(dst, "max_completion_tokens", b.maxCompletionTokens, jsonscan.AppendInt)
	dst = wire.AppendOptional(dst, "temperature", b.temperature, jsonscan.AppendFloat)
	dst = wire.AppendOptional(dst, "top_p", b.topP, jsonscan.AppendFloat)
	dst = wire.AppendOptional(dst, "seed", b.seed, jsonscan.AppendInt)
	if len(b.stop) > 0 {
		dst = wire.AppendList(jsonscan.AppendField(dst, "stop"), b.stop, jsonscan.AppendString)
	}
	dst = wire.AppendOptional(dst, "store", b.store, jsonscan.AppendBool)
	dst = jsonscan.AppendStringField(dst, "reasoning_effort", b.reasoningEffort)
	return append(dst, `,"stream":true,"stream_options":{"include_usage":true}}`...)
}

// size guesses the length of the encoded body, a little too large for most.
func (b *body) size() int {
	size := 512 + len(b.model)
	for i := range b.messages {
		size += b.messages[i].size()
	}
	for _, tool := range b.tools {
		size += 96 + len(tool.name) + len(tool.description) + len(tool.parameters)
	}
	return size + size/4 // for the escapes of texts
}

func appendTool(dst []byte, tool toolSpec) []byte {
	dst = append(dst, `{"type":"function","function":{"name":`...)
	dst = jsonscan.AppendString(dst, tool.name)
	dst = jsonscan.AppendStringField(dst, "description", tool.description)
	dst = append(jsonscan.AppendField(dst, "parameters"), tool.parameters...)
	return append(dst, '}', '}')
}
