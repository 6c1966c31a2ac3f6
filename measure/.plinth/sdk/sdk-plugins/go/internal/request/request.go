// Package request reads the parts of a model request by hand: a session's whole history
// comes with every turn. Texts and raw JSON share the reader's data.
package request

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// List reads an array; null is nil.
func List[T any](r *jsonscan.Reader, read func(*jsonscan.Reader) T) []T {
	if r.Null() {
		return nil
	}
	list := []T{}
	for r.Array(); r.More(); {
		list = append(list, read(r))
	}
	return list
}

// TextPart reads an abi.TextPart.
func TextPart(r *jsonscan.Reader) (part abi.TextPart) {
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

// Message reads an abi.Message.
func Message(r *jsonscan.Reader) (message abi.Message) {
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
			message.Parts = List(r, part)
		default:
			r.Skip()
		}
	}
}

func part(r *jsonscan.Reader) (part abi.Part) {
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

// Tool reads an abi.ToolDefinition.
func Tool(r *jsonscan.Reader) (tool abi.ToolDefinition) {
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

// Controls reads an abi.Generation.
func Controls(r *jsonscan.Reader) (generation abi.Generation) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return generation
		}
		switch key {
		case "max_tokens":
			generation.MaxTokens = optional(r, (*jsonscan.Reader).Int)
		case "temperature":
			generation.Temperature = optional(r, (*jsonscan.Reader).Float)
		case "top_p":
			generation.TopP = optional(r, (*jsonscan.Reader).Float)
		case "seed":
			generation.Seed = optional(r, (*jsonscan.Reader).Int)
		case "stop":
			generation.Stop = List(r, (*jsonscan.Reader).String)
		default:
			r.Skip()
		}
	}
}

// optional reads a value; null is nil.
func optional[T any](r *jsonscan.Reader, read func(*jsonscan.Reader) T) *T {
	if r.Null() {
		return nil
	}
	value := read(r)
	return &value
}
