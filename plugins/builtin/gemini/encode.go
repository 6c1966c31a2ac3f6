package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// Encode makes the request of one streamed answer. A history has hundreds of thousands
// of bytes and every turn writes it again, so it is written by hand, once.
func (codec) Encode(request abi.ModelRequest) (encoded abi.ProviderEncoded, err error) {
	options, err := readOptions(request.Options)
	if err != nil {
		return encoded, err
	}
	path, err := modelPath(request.Model)
	if err != nil {
		return encoded, err
	}
	dst := append(make([]byte, 0, size(&request)), '{')
	if len(request.System) > 0 {
		texts := make([]string, len(request.System))
		for i, part := range request.System {
			texts[i] = part.Text
		}
		dst = append(jsonscan.AppendField(dst, "systemInstruction"), `{"parts":[{"text":`...)
		dst = append(jsonscan.AppendString(dst, strings.Join(texts, "\n")), `}]}`...)
	}
	if dst, err = appendContents(jsonscan.AppendField(dst, "contents"), request, options); err != nil {
		return encoded, err
	}
	if dst, err = appendTools(dst, request, options); err != nil {
		return encoded, err
	}
	dst = appendGeneration(dst, request.Generation, options)
	if len(options.SafetySettings) > 0 {
		dst = wire.AppendList(jsonscan.AppendField(dst, "safetySettings"), options.SafetySettings, appendRaw)
	}
	dst = jsonscan.AppendStringField(dst, "cachedContent", options.CachedContent)
	return abi.ProviderEncoded{
		Method:  "POST",
		Path:    path + ":streamGenerateContent",
		Query:   map[string]string{"alt": "sse"},
		Headers: map[string]string{"accept": "text/event-stream", "content-type": "application/json"},
		Body:    append(dst, '}'),
	}, nil
}

// modelPath is a model's place below the base URL. A name with a collection of its own,
// like tunedModels/x, is one already.
func modelPath(model string) (string, error) {
	for i := range len(model) {
		c := model[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.@/", c) >= 0 {
			continue
		}
		return "", plinth.Errorf(abi.KindInvalidInput, "the model's name %q has a character that has no place in a path; a Gemini model is named like gemini-2.5-pro", wire.Clip(model))
	}
	switch {
	case model == "" || strings.Contains(model, ".."):
		return "", plinth.Errorf(abi.KindInvalidInput, "the model's name is %q; a Gemini model is named like gemini-2.5-pro", wire.Clip(model))
	case strings.Contains(model, "/"):
		return "/" + model, nil
	}
	return "/models/" + model, nil
}

func appendRaw(dst []byte, raw json.RawMessage) []byte { return append(dst, raw...) }

// modes are the protocol's words for how tools are chosen. NONE keeps the tools: what
// the history calls stays declared, and the prompt's prefix stays cached.
func mode(choice string) string {
	switch choice {
	case "none":
		return "NONE"
	case "required":
		return "ANY"
	}
	return "AUTO"
}

// appendTools writes the tools of both sides, unless there are none.
func appendTools(dst []byte, request abi.ModelRequest, o options) ([]byte, error) {
	if len(request.Tools) == 0 && len(o.Tools) == 0 {
		return dst, nil
	}
	dst = append(jsonscan.AppendField(dst, "tools"), '[')
	if len(request.Tools) > 0 {
		dst = append(dst, `{"functionDeclarations":[`...)
		for i, tool := range request.Tools {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsonscan.AppendString(append(dst, `{"name":`...), tool.Name)
			dst = jsonscan.AppendStringField(dst, "description", tool.Description)
			parameters, err := project(tool.Input)
			if err != nil {
				return nil, fmt.Errorf("the input schema of tool %s: %w", tool.Name, err)
			}
			dst = append(jsonscan.AppendRawField(dst, "parameters", parameters), '}')
		}
		dst = append(dst, ']', '}', ',')
	}
	for _, tool := range o.Tools {
		dst = append(append(dst, tool...), ',')
	}
	dst[len(dst)-1] = ']'
	if len(request.Tools) > 0 && request.ToolChoice != "" {
		dst = append(jsonscan.AppendField(dst, "toolConfig"), `{"functionCallingConfig":{"mode":"`...)
		dst = append(append(dst, mode(request.ToolChoice)...), `"}}`...)
	}
	return dst, nil
}

// appendGeneration writes how to answer, unless nothing is set.
func appendGeneration(dst []byte, g abi.Generation, o options) []byte {
	config := []byte{'{'}
	config = wire.AppendOptional(config, "maxOutputTokens", g.MaxTokens, jsonscan.AppendInt)
	config = wire.AppendOptional(config, "temperature", g.Temperature, jsonscan.AppendFloat)
	config = wire.AppendOptional(config, "topP", g.TopP, jsonscan.AppendFloat)
	config = wire.AppendOptional(config, "seed", g.Seed, jsonscan.AppendInt)
	if len(g.Stop) > 0 {
		config = wire.AppendList(jsonscan.AppendField(config, "stopSequences"), g.Stop, jsonscan.AppendString)
	}
	thinking := wire.AppendOptional([]byte{'{'}, "thinkingBudget", o.ThinkingBudget, jsonscan.AppendInt)
	thinking = jsonscan.AppendStringField(thinking, "thinkingLevel", o.ThinkingLevel)
	thinking = wire.AppendOptional(thinking, "includeThoughts", o.IncludeThoughts, jsonscan.AppendBool)
	if len(thinking) > 1 {
		config = jsonscan.AppendRawField(config, "thinkingConfig", append(thinking, '}'))
	}
	if len(config) > 1 {
		dst = jsonscan.AppendRawField(dst, "generationConfig", append(config, '}'))
	}
	return dst
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
