package bridge

import (
	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

// wireRequest is a model request as a codec sees it.
func wireRequest(request session.ModelRequest) abi.ModelRequest {
	return abi.ModelRequest{
		Purpose: request.Purpose, Model: request.Model.Model, System: wireTexts(request.System), Messages: wireMessages(request.Messages),
		Tools: wireTools(request.Tools), ToolChoice: request.ToolChoice, Generation: wireGeneration(request.Generation),
		Options: request.Options, CacheKey: request.CacheKey,
	}
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
				Input: part.Input, Error: part.Error, Mime: part.Mime, Blob: part.Blob, Metadata: part.Metadata}
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
