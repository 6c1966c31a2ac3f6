// Command gemini is the plugin core/gemini: a codec for the Gemini protocol of Google.
package main

import (
	"encoding/json"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
)

func init() {
	provider.Register("gemini", codec{})
	plinth.Prepare(encodeOnce)
}

// encodeOnce goes through all of Encode, whose first run takes much longer than the
// next.
func encodeOnce() error {
	_, err := codec{}.Encode(abi.ModelRequest{
		Model: "m",
		Messages: []abi.Message{
			{Role: abi.RoleUser, Parts: []abi.Part{{Type: abi.PartMedia, Mime: "image/png"}}},
			{Role: abi.RoleSystem, Parts: []abi.Part{{Type: abi.PartText, Text: "<>"}}},
			{Role: abi.RoleAssistant, Parts: []abi.Part{{Type: abi.PartToolCall, Metadata: json.RawMessage(`{"id":"c"}`)}}},
			{Role: abi.RoleTool, Parts: []abi.Part{{Type: abi.PartToolResult}}},
		},
		Tools:   []abi.ToolDefinition{{Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"array"}},"required":["a"]}`)}},
		Options: map[string]json.RawMessage{"gemini": json.RawMessage("{}")},
	})
	return err
}

func main() {}

// codec is a provider.Codec. It keeps nothing: what a stream needs is in its state.
type codec struct{}

// protocol is the name that errors give it.
const protocol = "Gemini"
