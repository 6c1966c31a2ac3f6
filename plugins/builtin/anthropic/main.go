// Command anthropic is the plugin core/anthropic: a codec for the Messages protocol of
// Anthropic.
package main

import (
	"encoding/json"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
)

func init() {
	provider.Register("anthropic", codec{})
	plinth.Prepare(encodeOnce)
}

// encodeOnce goes through all of Encode, whose first run takes much longer than the
// next.
func encodeOnce() error {
	_, err := codec{}.Encode(abi.ModelRequest{
		System: []abi.TextPart{{Text: "<>"}},
		Messages: []abi.Message{
			{Role: abi.RoleUser, Parts: []abi.Part{{Type: abi.PartMedia, Mime: "image/png"}, {Type: abi.PartMedia, Mime: "application/pdf"}}},
			{Role: abi.RoleAssistant, Parts: []abi.Part{{Type: abi.PartReasoning, Metadata: json.RawMessage(`{"signature":"s"}`)}, {Type: abi.PartToolCall}}},
			{Role: abi.RoleTool, Parts: []abi.Part{{Type: abi.PartToolResult}}},
			{Role: abi.RoleSystem, Parts: []abi.Part{{Type: abi.PartText, Text: "<>"}}},
		},
		Tools:   []abi.ToolDefinition{{Input: json.RawMessage(`{"type":"object"}`)}},
		Options: map[string]json.RawMessage{"anthropic": json.RawMessage("{}"), "cache": json.RawMessage(`"auto"`)},
	})
	return err
}

func main() {}

// codec is a provider.Codec. It keeps nothing: what a stream needs is in its state.
type codec struct{}

// protocol is the name that errors give it.
const protocol = "Messages"
