// Package provider speaks a model provider's protocol. Importing it makes the
// module export the three provider entries. A provider is a pure codec: the host
// owns the connection and the secret, and host operations may not be imported.
package provider

import (
	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

// Codec translates between the host's words and a provider's.
type Codec interface {
	// Encode makes the HTTP request.
	Encode(request abi.ModelRequest) (abi.ProviderEncoded, error)
	// Decode reads frames of the response. state is what the previous Decode of the
	// stream answered, nil at first: small JSON, and all that is kept. The same
	// frames cut differently must give the same events.
	Decode(state []byte, frames []abi.Frame, end bool, events *Events) (next []byte, err error)
	// Classify explains a response whose status is not 2xx.
	Classify(response abi.ProviderClassify) abi.ProviderError
}

var codecs = map[string]Codec{}

// Register offers codec under a provider id of the manifest. It panics when the
// id is taken.
func Register(id string, codec Codec) {
	if _, taken := codecs[id]; taken {
		panic("provider " + id + " is registered twice")
	}
	codecs[id] = codec
	guest.Warm(abi.Call[abi.ProviderClassify]{Body: abi.ProviderClassify{Headers: map[string]string{"": ""}}})
	guest.Warm(abi.ProviderError{})
	guest.Enter(abi.ExportProviderEncode, encode)
	guest.Enter(abi.ExportProviderDecode, decode)
	guest.Enter(abi.ExportProviderClassify, classify)
}

func find(id string) (Codec, error) {
	codec, ok := codecs[id]
	if !ok {
		return nil, plinth.Errorf(abi.KindNotFound, "this plugin has no provider %q", id)
	}
	return codec, nil
}

func classify(message []byte) []byte {
	call, _, err := guest.Decode[abi.ProviderClassify](message)
	if err != nil {
		return guest.Fail(err)
	}
	codec, err := find(call.Body.Provider)
	if err != nil {
		return guest.Fail(err)
	}
	return guest.Answer(codec.Classify(call.Body), nil, nil)
}
