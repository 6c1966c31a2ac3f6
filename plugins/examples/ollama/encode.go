package main

import (
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// Encode makes the request of one streamed answer. The body is written by appending: a
// history has hundreds of thousands of bytes, and every turn writes it again.
func (codec) Encode(request abi.ModelRequest) (encoded abi.ProviderEncoded, err error) {
	options, err := readOptions(request.Options)
	if err != nil {
		return encoded, err
	}
	messages, err := lower(request.System, request.Messages, options.images())
	if err != nil {
		return encoded, err
	}
	body := jsonscan.AppendString([]byte(`{"model":`), request.Model)
	body = wire.AppendList(jsonscan.AppendField(body, "messages"), messages, appendMessage)
	// The protocol cannot say that a tool must be called, or none: without tools the model
	// calls none.
	if len(request.Tools) > 0 && request.ToolChoice != "none" {
		if body, err = appendTools(jsonscan.AppendField(body, "tools"), request.Tools); err != nil {
			return encoded, err
		}
	}
	body = jsonscan.AppendRawField(body, "think", options.Think)
	body = jsonscan.AppendRawField(body, "keep_alive", options.KeepAlive)
	body = appendControls(body, request.Generation, options)
	return abi.ProviderEncoded{
		Method: "POST", Path: "/api/chat",
		Headers: map[string]string{"accept": "application/x-ndjson", "content-type": "application/json"},
		Body:    append(body, `,"stream":true}`...),
	}, nil
}

func appendTools(dst []byte, tools []abi.ToolDefinition) ([]byte, error) {
	dst = append(dst, '[')
	for _, tool := range tools {
		parameters, err := wire.ObjectSchema(tool.Input)
		if err != nil {
			return nil, fmt.Errorf("the input schema of tool %s: %w", tool.Name, err)
		}
		dst = append(wire.Comma(dst), `{"type":"function","function":{"name":`...)
		dst = jsonscan.AppendString(dst, tool.Name)
		dst = jsonscan.AppendStringField(dst, "description", tool.Description)
		dst = append(jsonscan.AppendField(dst, "parameters"), parameters...)
		dst = append(dst, '}', '}')
	}
	return append(dst, ']'), nil
}

// appendControls writes the member "options", unless there is nothing to say.
func appendControls(dst []byte, g abi.Generation, o options) []byte {
	controls := wire.AppendOptional([]byte{'{'}, "num_ctx", o.NumCtx, jsonscan.AppendInt)
	controls = wire.AppendOptional(controls, "num_predict", g.MaxTokens, jsonscan.AppendInt)
	controls = wire.AppendOptional(controls, "temperature", g.Temperature, jsonscan.AppendFloat)
	controls = wire.AppendOptional(controls, "top_p", g.TopP, jsonscan.AppendFloat)
	controls = wire.AppendOptional(controls, "seed", g.Seed, jsonscan.AppendInt)
	if len(g.Stop) > 0 {
		controls = wire.AppendList(jsonscan.AppendField(controls, "stop"), g.Stop, jsonscan.AppendString)
	}
	if len(controls) == 1 {
		return dst
	}
	return jsonscan.AppendRawField(dst, "options", append(controls, '}'))
}
