package main

import (
	"unsafe"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// chunk is what is used of a chat.completion.chunk. It is read whole before any of
// it is told, since the order of an object's members means nothing.
type chunk struct {
	content   string
	reasoning string
	calls     []callDelta
	reason    string
	usage     *abi.Usage
	failure   *wire.Failure
}

type callDelta struct {
	index     int64 // -1 when there is none
	id        string
	name      string
	arguments string
}

// choice is one of a chunk's choices; only the one of index 0 was asked for.
type choice struct {
	index     int64
	content   string
	refusal   string
	reasoning string // reasoning_content, or reasoning as some servers call it
	other     string
	calls     []callDelta
	reason    string
}

func readChunk(data string) (c chunk, err error) {
	r := jsonscan.NewReader(unsafe.Slice(unsafe.StringData(data), len(data)))
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "choices":
			for r.Array(); r.More(); {
				c.take(readChoice(&r))
			}
		case "usage":
			if r.Kind() == '{' {
				c.usage = readUsage(&r)
			} else {
				r.Skip()
			}
		case "error":
			c.failure = wire.ReadFailure(&r)
		default:
			r.Skip()
		}
	}
	r.End()
	return c, r.Err()
}

func (c *chunk) take(one choice) {
	if one.index != 0 {
		return
	}
	c.content = one.content + one.refusal
	if c.reasoning = one.reasoning; c.reasoning == "" {
		c.reasoning = one.other
	}
	c.calls, c.reason = one.calls, one.reason
}

func readChoice(r *jsonscan.Reader) (c choice) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return c
		}
		switch key {
		case "index":
			c.index = r.Int()
		case "finish_reason":
			c.reason = r.String()
		case "delta":
			c.readDelta(r)
		default:
			r.Skip()
		}
	}
}

func (c *choice) readDelta(r *jsonscan.Reader) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		switch key {
		case "content":
			c.content = r.String()
		case "refusal":
			c.refusal = r.String()
		case "reasoning_content":
			c.reasoning = r.String()
		case "reasoning":
			c.other = r.String()
		case "tool_calls":
			for r.Array(); r.More(); {
				c.calls = append(c.calls, readCallDelta(r))
			}
		default:
			r.Skip()
		}
	}
}

func readCallDelta(r *jsonscan.Reader) callDelta {
	d := callDelta{index: -1}
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return d
		}
		switch key {
		case "index":
			if r.Kind() == 'n' {
				r.Skip()
			} else {
				d.index = r.Int()
			}
		case "id":
			d.id = r.String()
		case "function":
			d.readFunction(r)
		default:
			r.Skip()
		}
	}
}

func (d *callDelta) readFunction(r *jsonscan.Reader) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case key == "name":
			d.name = r.String()
		case key == "arguments" && r.Kind() == '{': // some servers send the object itself
			d.arguments = string(r.Raw())
		case key == "arguments":
			d.arguments = r.String()
		default:
			r.Skip()
		}
	}
}
