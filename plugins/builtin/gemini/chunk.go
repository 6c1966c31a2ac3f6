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

// fields calls read for every member of an object.
func fields(r *jsonscan.Reader, read func(key string)) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		read(key)
	}
}

func readChunk(data string) (c chunk, err error) {
	r := jsonscan.NewReader(unsafe.Slice(unsafe.StringData(data), len(data)))
	fields(&r, func(key string) {
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
			fields(&r, func(key string) {
				if key == "blockReason" {
					c.blocked = r.String()
				} else {
					r.Skip()
				}
			})
		case "error":
			c.failure = wire.ReadFailure(&r)
		default:
			r.Skip()
		}
	})
	r.End()
	return c, r.Err()
}

// readCandidate reads one of the answers; only the one of index 0 was asked for.
func (c *chunk) readCandidate(r *jsonscan.Reader) {
	one, index := chunk{}, int64(0)
	fields(r, func(key string) {
		switch key {
		case "content":
			fields(r, func(key string) {
				if key != "parts" {
					r.Skip()
					return
				}
				for r.Array(); r.More(); {
					one.parts = append(one.parts, readPart(r))
				}
			})
		case "finishReason":
			one.reason = r.String()
		case "finishMessage":
			one.message = r.String()
		case "index":
			index = r.Int()
		default:
			r.Skip()
		}
	})
	if index == 0 {
		c.parts, c.reason, c.message = one.parts, one.reason, one.message
	}
}

func readPart(r *jsonscan.Reader) (p part) {
	fields(r, func(key string) {
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
			fields(r, func(key string) {
				if key == "mimeType" {
					p.mime = r.String()
				} else {
					r.Skip()
				}
			})
		default:
			r.Skip()
		}
	})
	return p
}

func readCall(r *jsonscan.Reader) *functionCall {
	call := &functionCall{}
	fields(r, func(key string) {
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
	})
	return call
}

// readUsage reads a usage object, whose candidates are without the thoughts.
func readUsage(r *jsonscan.Reader) *abi.Usage {
	if r.Null() {
		return nil
	}
	usage := &abi.Usage{}
	fields(r, func(key string) {
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
	})
	return usage
}
