// Command openai is the plugin core/openai: a codec for the Chat Completions
// protocol, which OpenAI and many other servers speak.
package main

import (
	"encoding/json"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

func init() {
	provider.Register("openai", codec{})
	plinth.Prepare(encodeOnce)
}

// encodeOnce goes through all of Encode, whose first run takes much longer than the
// next.
func encodeOnce() error {
	_, err := codec{}.Encode(abi.ModelRequest{
		Messages: []abi.Message{
			{Role: abi.RoleSystem, Parts: []abi.Part{{Type: abi.PartText, Text: "<>"}}},
			{Role: abi.RoleAssistant, Parts: []abi.Part{{Type: abi.PartToolCall}}},
			{Role: abi.RoleUser, Parts: []abi.Part{{Type: abi.PartMedia, Mime: "image/png"}, {Type: abi.PartMedia, Mime: "application/pdf"}}},
		},
		Tools:   []abi.ToolDefinition{{Input: json.RawMessage(`{"type":"object"}`)}},
		Options: map[string]json.RawMessage{"openai": json.RawMessage("{}")},
	})
	return err
}

func main() {}

// codec is a provider.Codec. It keeps nothing: what a stream needs is in its state.
type codec struct{}

// protocol is the name that errors give it.
const protocol = "Chat Completions"

// Classify explains a response whose status is not 2xx.
func (codec) Classify(response abi.ProviderClassify) abi.ProviderError {
	return wire.Classify(response)
}
