// Command openai-responses is the plugin core/openai-responses: a codec for OpenAI's
// Responses protocol.
package main

import (
	"encoding/json"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

func init() {
	provider.Register("openai-responses", codec{})
	plinth.Prepare(encodeOnce)
}

// encodeOnce goes through all of Encode, whose first run takes much longer than the
// next.
func encodeOnce() error {
	_, err := codec{}.Encode(abi.ModelRequest{
		Messages: []abi.Message{
			{Role: abi.RoleUser, Parts: []abi.Part{{Type: abi.PartMedia, Mime: "image/png"}, {Type: abi.PartMedia, Mime: wire.PDF}}},
			{Role: abi.RoleSystem, Parts: []abi.Part{{Type: abi.PartText, Text: "<>"}}},
			{Role: abi.RoleAssistant, Parts: []abi.Part{{Type: abi.PartReasoning, Metadata: json.RawMessage(`{"item":"r"}`)}, {Type: abi.PartToolCall}}},
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
const protocol = "Responses"

// Classify explains a response whose status is not 2xx.
func (codec) Classify(response abi.ProviderClassify) abi.ProviderError {
	return wire.Classify(response)
}
