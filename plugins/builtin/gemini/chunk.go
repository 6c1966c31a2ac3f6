package main

import (
	"encoding/json"
	"unsafe"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// chunk is what is used of a piece of an answer. It is read whole before any of it is
// told, since the order of an object's members means nothing.
type chunk struct {
	response string // the answer's id
	parts    []part
	reason   string
	message  string // of the reason
	blocked  string // why the prompt was
	usage    *abi.Usage
	failure  *wire.Failure
}

// part is a part of the answer's content.
type part struct {
	text      string
	thought   bool
	signature string
	call      *functionCall
	code      json.RawMessage // executableCode
	result    json.RawMessage // codeExecutionResult
	mime      string          // of inlineData
}

type functionCall struct {
	id   string
	name string
	args json.RawMessage
}

func readChunk(data string) (c chunk, err error) {
	r := jsonscan.NewReader(unsafe.Slice(unsafe.StringData(data), len(data)))
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "candidates":
			for r.Array(); r.More(); {
				c.readCandidate(&r)
			}
		case "usageMetadata":
			c.usage = readUsage(&r)
		case "responseId":
			c.response = r.String()
		case "promptFeedback":
			c.blocked = readMember(&r, "blockReason")
		case "error":
			c.failure = wire.ReadFailure(&r)
		default:
			r.Skip()
		}
	}
	r.End()
	return c, r.Err()
}

// readMember reads the one member of an object that is a string and has the name.
func readMember(r *jsonscan.Reader, name string) (value string) {
	for r.Object(); ; {
		key, ok := r.Next()
		switch {
		case !ok:
			return value
		case key == name:
			value = r.String()
		default:
			r.Skip()
		}
	}
}

// readCandidate reads one of the answers; only the one of index 0 was asked for.
func (c *chunk) readCandidate(r *jsonscan.Reader) {
	one, index := chunk{}, int64(0)
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "content":
			one.parts = readContent(r, one.parts)
		case "finishReason":
			one.reason = r.String()
		case "finishMessage":
			one.message = r.String()
		case "index":
			index = r.Int()
		default:
			r.Skip()
		}
	}
	if index == 0 {
		c.parts, c.reason, c.message = one.parts, one.reason, one.message
	}
}

// readContent appends the parts of a content.
func readContent(r *jsonscan.Reader, parts []part) []part {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return parts
		}
		if key != "parts" {
			r.Skip()
			continue
		}
		for r.Array(); r.More(); {
			parts = append(parts, readPart(r))
		}
	}
}

func readPart(r *jsonscan.Reader) (p part) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return p
		}
		switch key {
		case "text":
			p.text = r.String()
		case "thought":
			p.thought = r.Bool()
		case "thoughtSignature":
			p.signature = r.String()
		case "functionCall":
			p.call = readCall(r)
		case "executableCode":
			p.code = r.Raw()
		case "codeExecutionResult":
			p.result = r.Raw()
		case "inlineData":
			p.mime = readMember(r, "mimeType")
		default:
			r.Skip()
		}
	}
}

func readCall(r *jsonscan.Reader) *functionCall {
	call := &functionCall{}
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return call
		}
		switch key {
		case "id":
			call.id = r.String()
		case "name":
			call.name = r.String()
		case "args":
			call.args = r.Raw()
		default:
			r.Skip()
		}
	}
}

// readUsage reads a usage object, whose candidates are without the thoughts.
func readUsage(r *jsonscan.Reader) *abi.Usage {
	if r.Null() {
		return nil
	}
	usage := &abi.Usage{}
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return usage
		}
		switch key {
		case "promptTokenCount", "toolUsePromptTokenCount":
			usage.Input += r.Int()
		case "candidatesTokenCount":
			usage.Output += r.Int()
		case "thoughtsTokenCount":
			usage.Reasoning = r.Int()
			usage.Output += usage.Reasoning
		case "cachedContentTokenCount":
			usage.CacheRead = r.Int()
		default:
			r.Skip()
		}
	}
}
