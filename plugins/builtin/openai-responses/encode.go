package main

import (
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// Encode makes the request of one streamed response. A history has hundreds of
// thousands of bytes and every turn writes it again, so it is written by hand, once.
func (codec) Encode(request abi.ModelRequest) (encoded abi.ProviderEncoded, err error) {
	options, err := readOptions(request.Options)
	if err != nil {
		return encoded, err
	}
	if request.Generation.Seed != nil || len(request.Generation.Stop) > 0 {
		return encoded, plinth.Errorf(abi.KindInvalidInput, "generation has seed or stop, which the Responses protocol does not know; leave them out, or use core/openai")
	}
	dst := append(make([]byte, 0, size(&request)), '{')
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "model"), request.Model)
	if dst, err = appendInput(jsonscan.AppendField(dst, "input"), request, options); err != nil {
		return encoded, err
	}
	if dst, err = appendTools(dst, request, options); err != nil {
		return encoded, err
	}
	dst = wire.AppendOptional(dst, "max_output_tokens", request.Generation.MaxTokens, jsonscan.AppendInt)
	dst = wire.AppendOptional(dst, "temperature", request.Generation.Temperature, jsonscan.AppendFloat)
	dst = wire.AppendOptional(dst, "top_p", request.Generation.TopP, jsonscan.AppendFloat)
	return abi.ProviderEncoded{
		Method:  "POST",
		Path:    "/responses",
		Headers: map[string]string{"accept": "text/event-stream", "content-type": "application/json"},
		Body:    appendSettings(dst, request, options),
	}, nil
}

// appendTools writes the tools of both sides, unless there are none.
func appendTools(dst []byte, request abi.ModelRequest, o options) ([]byte, error) {
	if len(request.Tools) == 0 && len(o.Tools) == 0 {
		return dst, nil
	}
	dst = append(jsonscan.AppendField(dst, "tools"), '[')
	for _, tool := range request.Tools {
		parameters, err := wire.ObjectSchema(tool.Input)
		if err != nil {
			return nil, fmt.Errorf("the input schema of tool %s: %w", tool.Name, err)
		}
		dst = jsonscan.AppendString(append(dst, `{"type":"function","name":`...), tool.Name)
		dst = jsonscan.AppendStringField(dst, "description", tool.Description)
		dst = append(jsonscan.AppendField(dst, "parameters"), parameters...)
		dst = append(dst, `,"strict":false},`...)
	}
	for _, tool := range o.Tools {
		dst = append(append(dst, tool...), ',')
	}
	dst[len(dst)-1] = ']'
	// "none" keeps the tools: what the history calls stays declared, and the prompt's
	// prefix stays cached.
	return jsonscan.AppendStringField(dst, "tool_choice", request.ToolChoice), nil
}

// appendSettings writes how to answer, and ends the body.
func appendSettings(dst []byte, request abi.ModelRequest, o options) []byte {
	if o.Reasoning.Effort != "" || o.Reasoning.Summary != "" {
		dst = append(jsonscan.AppendField(dst, "reasoning"), '{')
		dst = jsonscan.AppendStringField(dst, "effort", o.Reasoning.Effort)
		dst = jsonscan.AppendStringField(dst, "summary", o.Reasoning.Summary)
		dst = append(dst, '}')
	}
	if o.TextVerbosity != "" {
		dst = jsonscan.AppendString(append(jsonscan.AppendField(dst, "text"), `{"verbosity":`...), o.TextVerbosity)
		dst = append(dst, '}')
	}
	dst = jsonscan.AppendStringField(dst, "service_tier", o.ServiceTier)
	if include := o.include(request.Model); len(include) > 0 {
		dst = wire.AppendList(jsonscan.AppendField(dst, "include"), include, jsonscan.AppendString)
	}
	dst = jsonscan.AppendStringField(dst, "prompt_cache_key", request.CacheKey)
	dst = jsonscan.AppendBool(jsonscan.AppendField(dst, "store"), o.Store)
	return append(dst, `,"stream":true}`...)
}

// size guesses the length of the encoded body, a little too large for most.
func size(request *abi.ModelRequest) int {
	size := 1024
	for _, part := range request.System {
		size += len(part.Text)
	}
	for _, message := range request.Messages {
		for i := range message.Parts {
			part := &message.Parts[i]
			size += 192 + len(part.Text) + len(part.Input) + len(part.Metadata) + len(part.Result)
		}
	}
	for _, tool := range request.Tools {
		size += 96 + len(tool.Name) + len(tool.Description) + len(tool.Input)
	}
	return size + size/4 // for the escapes of texts
}

// metadata is what the codec keeps with a part: the item it came in, and of the last
// part of one that is reasoning, the encrypted whole.
type metadata struct {
	item      string
	encrypted string
}

func (m metadata) encode() []byte {
	dst := jsonscan.AppendStringField([]byte{'{'}, "item", m.item)
	return append(jsonscan.AppendStringField(dst, "encrypted_content", m.encrypted), '}')
}

func readMetadata(data json.RawMessage) (m metadata, err error) {
	if len(data) == 0 {
		return m, nil
	}
	r := jsonscan.NewReader(data)
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "item":
			m.item = r.String()
		case "encrypted_content":
			m.encrypted = r.String()
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return m, plinth.Errorf(abi.KindInvalidInput, "the metadata of a part: %v", r.Err())
	}
	return m, nil
}
