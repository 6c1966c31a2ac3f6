package provider

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/request"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// readEncode reads the abi.Call of an abi.ProviderEncode. A session's whole history
// comes with every turn, so it is read by hand; texts and raw JSON share data.
func readEncode(data []byte) (call abi.ProviderEncode, err error) {
	err = guest.ReadBody(data, func(r *jsonscan.Reader) { readEncodeBody(r, &call) })
	return call, err
}

func readEncodeBody(r *jsonscan.Reader, call *abi.ProviderEncode) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		switch key {
		case "provider":
			call.Provider = r.String()
		case "request":
			call.Request = readRequest(r)
		default:
			r.Skip()
		}
	}
}

func readRequest(r *jsonscan.Reader) (asked abi.ModelRequest) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return asked
		}
		switch key {
		case "purpose":
			asked.Purpose = r.String()
		case "model":
			asked.Model = r.String()
		case "system":
			asked.System = request.List(r, request.TextPart)
		case "messages":
			asked.Messages = request.List(r, request.Message)
		case "tools":
			asked.Tools = request.List(r, request.Tool)
		case "tool_choice":
			asked.ToolChoice = r.String()
		case "generation":
			asked.Generation = request.Controls(r)
		case "options":
			asked.Options = r.Members()
		case "cache_key":
			asked.CacheKey = r.String()
		default:
			r.Skip()
		}
	}
}
