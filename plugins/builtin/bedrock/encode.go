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

// body is the request's JSON. Fields that are not set are not sent.
type body struct {
	turns      []wire.Turn
	system     []abi.TextPart
	tools      []toolSpec
	toolChoice string
	generation abi.Generation
	options    options
	cache      wire.Cache
	markTools  bool
	markSystem bool
}

// toolSpec is a tool as the model is told of it.
type toolSpec struct {
	name        string
	description string
	schema      json.RawMessage
}

// Encode makes the request of one streamed conversation turn.
func (codec) Encode(request abi.ModelRequest) (encoded abi.ProviderEncoded, err error) {
	b := body{generation: request.Generation}
	if b.options, err = readOptions(request.Options); err != nil {
		return encoded, err
	}
	if b.cache, err = wire.ReadCache(request.Options, autoCache(request)); err != nil {
		return encoded, err
	}
	if b.turns, err = wire.Turns(protocol, request.Messages, false, wire.Unsigned); err != nil {
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
	return abi.ProviderEncoded{
		Method:  "POST",
		Path:    "/model/" + escape(request.Model) + "/converse-stream",
		Headers: map[string]string{"accept": "application/vnd.amazon.eventstream", "content-type": "application/json"},
		Body:    b.encode(),
	}, nil
}

// setTools leaves the tools out where none may be called: the protocol has no other way
// to say so.
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
		b.tools = append(b.tools, toolSpec{tool.Name, tool.Description, schema})
	}
	return nil
}

// mark spends the marks on the tools, the system text and the messages, in this order.
func (b *body) mark() {
	spent := 0
	if b.markTools = b.cache.Tools && len(b.tools) > 0; b.markTools {
		spent++
	}
	if b.markSystem = b.cache.System && len(b.system) > 0; b.markSystem {
		spent++
	}
	b.cache.MarkTurns(b.turns, spent)
}

// encode writes the body. A history has hundreds of thousands of bytes and every turn
// writes it again, so it is written by hand, once.
func (b *body) encode() []byte {
	w := writer{hour: b.cache.Hour, media: b.options.media, retell: len(b.tools) == 0}
	dst := append(make([]byte, 0, b.size()), '{')
	dst = append(jsonscan.AppendField(dst, "messages"), '[')
	for _, turn := range b.turns {
		dst = w.turn(wire.Comma(dst), turn)
	}
	dst = append(dst, ']')
	if len(b.system) > 0 {
		dst = append(jsonscan.AppendField(dst, "system"), '[')
		for _, part := range b.system {
			dst = appendText(wire.Comma(dst), part.Text)
		}
		if b.markSystem {
			dst = w.mark(dst)
		}
		dst = append(dst, ']')
	}
	if len(b.tools) > 0 {
		dst = append(dst, `,"toolConfig":{"tools":[`...)
		for _, tool := range b.tools {
			dst = appendTool(wire.Comma(dst), tool)
		}
		if b.markTools {
			dst = w.mark(dst)
		}
		dst = append(append(append(dst, `],"toolChoice":{"`...), b.toolChoice...), `":{}}}`...)
	}
	dst = b.inference(dst)
	dst = b.fields(dst)
	dst = jsonscan.AppendRawField(dst, "guardrailConfig", b.options.Guardrail)
	return append(dst, '}')
}

func (b *body) inference(dst []byte) []byte {
	g := b.generation
	if g.MaxTokens == nil && g.Temperature == nil && g.TopP == nil && len(g.Stop) == 0 {
		return dst
	}
	dst = append(jsonscan.AppendField(dst, "inferenceConfig"), '{')
	dst = wire.AppendOptional(dst, "maxTokens", g.MaxTokens, jsonscan.AppendInt)
	dst = wire.AppendOptional(dst, "temperature", g.Temperature, jsonscan.AppendFloat)
	dst = wire.AppendOptional(dst, "topP", g.TopP, jsonscan.AppendFloat)
	if len(g.Stop) > 0 {
		dst = wire.AppendList(jsonscan.AppendField(dst, "stopSequences"), g.Stop, jsonscan.AppendString)
	}
	return append(dst, '}')
}

// fields writes the vendor's own. Where they have a top_k, that of the option is theirs.
func (b *body) fields(dst []byte) []byte {
	if b.options.TopK == nil && b.options.Fields == nil {
		return dst
	}
	dst = append(jsonscan.AppendField(dst, "additionalModelRequestFields"), '{')
	topK := b.options.TopK
	if b.options.Fields != nil {
		r := jsonscan.NewReader(b.options.Fields)
		for r.Object(); ; {
			key, ok := r.Next()
			if !ok {
				break
			}
			if key == "top_k" {
				topK = nil
			}
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(jsonscan.AppendString(dst, key), ':')
			dst = append(dst, r.Raw()...)
		}
	}
	dst = wire.AppendOptional(dst, "top_k", topK, jsonscan.AppendInt)
	return append(dst, '}')
}

// size guesses the length of the encoded body, a little too large for most.
func (b *body) size() int {
	size := 512 + len(b.options.Fields) + len(b.options.Guardrail)
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
		size += 128 + len(tool.name) + len(tool.description) + len(tool.schema)
	}
	return size + size/4 // for the escapes of texts
}

func appendTool(dst []byte, tool toolSpec) []byte {
	dst = jsonscan.AppendString(append(dst, `{"toolSpec":{"name":`...), tool.name)
	dst = jsonscan.AppendStringField(dst, "description", tool.description)
	dst = append(append(dst, `,"inputSchema":{"json":`...), tool.schema...)
	return append(dst, '}', '}', '}')
}

// escape writes a model's id as one step of a path: ids have colons, and those that are
// ARNs have slashes.
func escape(id string) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(id) {
		c := id[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			out.WriteByte(c)
			continue
		}
		out.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return out.String()
}
