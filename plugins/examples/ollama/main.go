// Command ollama is an example of a provider: a codec for Ollama's own chat protocol, with
// tools, thinking and images. An answer is a stream of JSON objects, a line each.
package main

import (
	"encoding/json"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

func init() {
	provider.Register("ollama", codec{})
	plinth.Prepare(encodeOnce)
}

func main() {}

// encodeOnce goes through Encode before the snapshot is taken that calls begin from: the
// first time takes much longer than the next.
func encodeOnce() error {
	_, err := codec{}.Encode(abi.ModelRequest{
		Messages: []abi.Message{{Role: abi.RoleAssistant, Parts: []abi.Part{{Type: abi.PartToolCall}}}},
		Tools:    []abi.ToolDefinition{{Input: json.RawMessage(`{"type":"object"}`)}},
		Options:  map[string]json.RawMessage{"ollama": json.RawMessage(`{"think":true,"num_ctx":4096}`)},
	})
	return err
}

// codec is a provider.Codec. It keeps nothing: what a stream needs is in its state.
type codec struct{}

// protocol is the name that errors give it.
const protocol = "Ollama"

// Classify explains a response whose status is not 2xx.
func (codec) Classify(response abi.ProviderClassify) abi.ProviderError {
	return wire.Classify(response)
}
