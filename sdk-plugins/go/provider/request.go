package provider

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
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

func readRequest(r *jsonscan.Reader) (request abi.ModelRequest) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return request
		}
		switch key {
		case "purpose":
			request.Purpose = r.String()
		case "model":
			request.Model = r.String()
		case "system":
			request.System = readList(r, readTextPart)
		case "messages":
			request.Messages = readList(r, readMessage)
		case "tools":
			request.Tools = readList(r, readTool)
		case "tool_choice":
			request.ToolChoice = r.String()
		case "generation":
			request.Generation = readGeneration(r)
		case "options":
			request.Options = r.Members()
		case "cache_key":
			request.CacheKey = r.String()
		default:
			r.Skip()
		}
	}
}

// readList reads an array; null is nil.
func readList[T any](r *jsonscan.Reader, read func(*jsonscan.Reader) T) []T {
	if r.Null() {
		return nil
	}
	list := []T{}
	for r.Array(); r.More(); {
		list = append(list, read(r))
	}
	return list
}

func readTextPart(r *jsonscan.Reader) (part abi.TextPart) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return part
		}
		switch key {
		case "id":
			part.ID = r.String()
		case "text":
			part.Text = r.String()
		default:
			r.Skip()
		}
	}
}

func readMessage(r *jsonscan.Reader) (message abi.Message) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return message
		}
		switch key {
		case "id":
			message.ID = r.String()
		case "role":
			message.Role = r.String()
		case "parts":
			message.Parts = readList(r, readPart)
		default:
			r.Skip()
		}
	}
}

func readPart(r *jsonscan.Reader) (part abi.Part) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return part
		}
		switch key {
		case "id":
			part.ID = r.String()
		case "type":
			part.Type = r.String()
		case "text":
			part.Text = r.String()
		case "call":
			part.Call = r.String()
		case "name":
			part.Name = r.String()
		case "input":
			part.Input = r.Raw()
		case "error":
			part.Error = r.Bool()
		case "mime":
			part.Mime = r.String()
		case "blob":
			part.Blob = r.String()
		case "metadata":
			part.Metadata = r.Raw()
		case "hosted":
			part.Hosted = r.Bool()
		case "result":
			part.Result = r.Raw()
		default:
			r.Skip()
		}
	}
}

func readTool(r *jsonscan.Reader) (tool abi.ToolDefinition) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return tool
		}
		switch key {
		case "name":
			tool.Name = r.String()
		case "description":
			tool.Description = r.String()
		case "input":
			tool.Input = r.Raw()
		default:
			r.Skip()
		}
	}
}

func readGeneration(r *jsonscan.Reader) (generation abi.Generation) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return generation
		}
		switch key {
		case "max_tokens":
			generation.MaxTokens = readOptional(r, (*jsonscan.Reader).Int)
		case "temperature":
			generation.Temperature = readOptional(r, (*jsonscan.Reader).Float)
		case "top_p":
			generation.TopP = readOptional(r, (*jsonscan.Reader).Float)
		case "seed":
			generation.Seed = readOptional(r, (*jsonscan.Reader).Int)
		case "stop":
			generation.Stop = readList(r, (*jsonscan.Reader).String)
		default:
			r.Skip()
		}
	}
}

// readOptional reads a value; null is nil.
func readOptional[T any](r *jsonscan.Reader, read func(*jsonscan.Reader) T) *T {
	if r.Null() {
		return nil
	}
	value := read(r)
	return &value
}
