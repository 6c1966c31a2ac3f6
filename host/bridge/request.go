package bridge

import (
	"bytes"
	"encoding/json"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

// wireRequest is a model request as a codec sees it.
func wireRequest(request session.ModelRequest) abi.ModelRequest {
	wire := abi.ModelRequest{
		Purpose: request.Purpose, Model: request.Model.Model, System: wireTexts(request.System), Messages: wireMessages(request.Messages),
		Tools: wireTools(request.Tools), ToolChoice: request.ToolChoice, Generation: wireGeneration(request.Generation),
		CacheKey: request.CacheKey,
	}
	for i := range wire.Messages {
		for j := range wire.Messages[i].Parts {
			part := &wire.Messages[i].Parts[j]
			part.Input, part.Metadata, part.Result = nameless(part.Input), nameless(part.Metadata), nameless(part.Result)
		}
	}
	for i := range wire.Tools {
		wire.Tools[i].Input = nameless(wire.Tools[i].Input)
	}
	if request.Options != nil {
		wire.Options = make(map[string]json.RawMessage, len(request.Options))
		for name, value := range request.Options {
			wire.Options[name] = nameless(value)
		}
	}
	return wire
}

// nameless is the same JSON with the key $blob written in a way that splice does not
// take for its own: a model, say, wrote it and a codec may pass it on as it is. The
// bytes can only be a whole string, or the end of one behind an escaped quote; both
// stay what they were.
func nameless(value json.RawMessage) json.RawMessage {
	return bytes.ReplaceAll(value, []byte(`"$blob"`), []byte(`"\u0024blob"`))
}

// media is the blobs of the request's media parts.
func media(request abi.ModelRequest) map[string]bool {
	named := map[string]bool{}
	for _, message := range request.Messages {
		for _, part := range message.Parts {
			if part.Type == abi.PartMedia {
				named[part.Blob] = true
			}
		}
	}
	return named
}

func wireTexts(parts []session.TextPart) []abi.TextPart {
	texts := make([]abi.TextPart, len(parts))
	for i, part := range parts {
		texts[i] = abi.TextPart{ID: part.ID, Text: part.Text}
	}
	return texts
}

func wireMessages(messages []session.ModelMessage) []abi.Message {
	wire := make([]abi.Message, len(messages))
	for i, message := range messages {
		wire[i] = abi.Message{ID: message.ID, Role: string(message.Role), Parts: make([]abi.Part, len(message.Parts))}
		for j, part := range message.Parts {
			wire[i].Parts[j] = abi.Part{ID: part.ID, Type: string(part.Type), Text: part.Text, Call: part.Call, Name: part.Name,
				Input: part.Input, Error: part.Error, Mime: part.Mime, Blob: part.Blob, Metadata: part.Metadata,
				Hosted: part.Hosted, Result: part.Result}
		}
	}
	return wire
}

func wireTools(tools []session.ToolDefinition) []abi.ToolDefinition {
	wire := make([]abi.ToolDefinition, len(tools))
	for i, tool := range tools {
		wire[i] = abi.ToolDefinition{Name: tool.Name, Description: tool.Description, Input: tool.Input}
	}
	return wire
}

func wireGeneration(generation session.Generation) abi.Generation {
	return abi.Generation{MaxTokens: generation.MaxTokens, Temperature: generation.Temperature, TopP: generation.TopP,
		Seed: generation.Seed, Stop: generation.Stop}
}
