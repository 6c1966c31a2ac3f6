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

// apiVersion is what the header anthropic-version says.
const apiVersion = "2023-06-01"

// body is the request's JSON. Fields that are not set are not sent.
type body struct {
	model      string
	maxTokens  int64
	system     []abi.TextPart
	turns      []wire.Turn
	tools      []toolSpec
	toolChoice string
	generation abi.Generation
	options    options
	cache      wire.Cache
}

// toolSpec is a tool as the model is told of it.
type toolSpec struct {
	name        string
	description string
	schema      json.RawMessage
	server      json.RawMessage // in the place of all that: a tool that Anthropic runs
	mark        bool
}

// Encode makes the request of one streamed message.
func (codec) Encode(request abi.ModelRequest) (encoded abi.ProviderEncoded, err error) {
	b := body{model: request.Model, generation: request.Generation}
	if b.options, err = readOptions(request.Options); err != nil {
		return encoded, err
	}
	if b.cache, err = wire.ReadCache(request.Options, wire.Auto(request.Purpose)); err != nil {
		return encoded, err
	}
	if b.maxTokens, err = b.options.limit(request.Generation.MaxTokens); err != nil {
		return encoded, err
	}
	if b.turns, err = wire.Turns(protocol, request.Messages, b.options.native(request.Model), wire.Unsigned); err != nil {
		return encoded, err
	}
	for _, part := range request.System {
		if strings.TrimSpace(part.Text) != "" {
			b.system = append(b.system, part)
		}
	}
	if err := b.setTools(request); err != nil {
		return encoded, err
	}
	b.mark()
	headers := map[string]string{"accept": "text/event-stream", "anthropic-version": apiVersion, "content-type": "application/json"}
	if len(b.options.Betas) > 0 {
		headers["anthropic-beta"] = strings.Join(b.options.Betas, ",")
	}
	return abi.ProviderEncoded{Method: "POST", Path: "/v1/messages", Headers: headers, Body: b.encode()}, nil
}

// setTools leaves the tools out where none may be called.
func (b *body) setTools(request abi.ModelRequest) error {
	switch request.ToolChoice {
	case "none":
		return nil
	case "", "auto":
		b.toolChoice = "auto"
	case "required":
		b.toolChoice = "any"
	default:
		return plinth.Errorf(abi.KindInvalidInput, "the tool choice is %q; it is auto, none or required", request.ToolChoice)
	}
	for _, tool := range request.Tools {
		schema, err := wire.ObjectSchema(tool.Input)
		if err != nil {
			return fmt.Errorf("the input schema of tool %s: %w", tool.Name, err)
		}
		b.tools = append(b.tools, toolSpec{name: tool.Name, description: tool.Description, schema: schema})
	}
	for _, tool := range b.options.Tools {
		b.tools = append(b.tools, toolSpec{server: tool})
	}
	return nil
}

// mark spends the marks on the tools, the system text and the messages, in this order.
// The last tool of ours is marked: what the operator wrote is passed on as it is.
func (b *body) mark() {
	spent := 0
	if ours := len(b.tools) - len(b.options.Tools); b.cache.Tools && ours > 0 {
		b.tools[ours-1].mark = true
		spent++
	}
	b.cache.System = b.cache.System && len(b.system) > 0
	if b.cache.System {
		spent++
	}
	b.cache.MarkTurns(b.turns, spent)
}

// encode writes the body. A history has hundreds of thousands of bytes and every turn
// writes it again, so it is written by hand, once.
func (b *body) encode() []byte {
	w := writer{cache: b.cache, media: b.options.media}
	dst := append(make([]byte, 0, b.size()), '{')
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "model"), b.model)
	dst = jsonscan.AppendInt(jsonscan.AppendField(dst, "max_tokens"), b.maxTokens)
	if len(b.system) > 0 {
		dst = append(jsonscan.AppendField(dst, "system"), '[')
		for i, part := range b.system {
			dst = w.text(wire.Comma(dst), part.Text, b.cache.System && i == len(b.system)-1)
		}
		dst = append(dst, ']')
	}
	dst = wire.AppendList(jsonscan.AppendField(dst, "messages"), b.turns, w.turn)
	if len(b.tools) > 0 {
		dst = wire.AppendList(jsonscan.AppendField(dst, "tools"), b.tools, w.tool)
		dst = append(jsonscan.AppendString(append(dst, `,"tool_choice":{"type":`...), b.toolChoice), '}')
	}
	dst = wire.AppendOptional(dst, "temperature", b.generation.Temperature, jsonscan.AppendFloat)
	dst = wire.AppendOptional(dst, "top_p", b.generation.TopP, jsonscan.AppendFloat)
	if len(b.generation.Stop) > 0 {
		dst = wire.AppendList(jsonscan.AppendField(dst, "stop_sequences"), b.generation.Stop, jsonscan.AppendString)
	}
	dst = wire.AppendOptional(dst, "thinking", b.options.Thinking, appendThinking)
	if b.options.Effort != "" {
		dst = append(jsonscan.AppendString(append(dst, `,"output_config":{"effort":`...), b.options.Effort), '}')
	}
	return append(dst, `,"stream":true}`...)
}

func appendThinking(dst []byte, t thinking) []byte {
	dst = jsonscan.AppendString(append(dst, `{"type":`...), t.Type)
	dst = jsonscan.AppendIntField(dst, "budget_tokens", t.BudgetTokens)
	dst = jsonscan.AppendStringField(dst, "display", t.Display)
	return append(dst, '}')
}

// size guesses the length of the encoded body, a little too large for most.
func (b *body) size() int {
	size := 512 + len(b.model)
	for _, part := range b.system {
		size += 64 + len(part.Text)
	}
	for _, turn := range b.turns {
		size += 64
		for _, part := range turn.Parts {
			size += 160 + len(part.Text) + len(part.Input) + len(part.Metadata) + len(part.Result) + 256*len(part.Files)
		}
	}
	for _, tool := range b.tools {
		size += 96 + len(tool.name) + len(tool.description) + len(tool.schema) + len(tool.server)
	}
	return size + size/4 // for the escapes of texts
}
