package main

import (
	"unsafe"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// event is what is used of an event of the stream. It is read whole before any of it is
// told, since the order of an object's members means nothing.
type event struct {
	kind    string
	index   int64
	block   blockStart
	delta   blockDelta
	reason  string
	usage   []byte // raw, of the message or of its end
	failure *wire.Failure
}

// blockStart is a content_block.
type blockStart struct {
	kind      string
	id        string
	name      string
	text      string // or what was thought
	signature string
	data      string // of redacted thinking
	input     []byte
	toolUse   string // of a result
	content   []byte
}

// blockDelta is the delta of a block: its text is that of any kind.
type blockDelta struct {
	kind string
	text string
}

func readEvent(data string) (e event, err error) {
	r := jsonscan.NewReader(unsafe.Slice(unsafe.StringData(data), len(data)))
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "type":
			e.kind = r.String()
		case "index":
			e.index = r.Int()
		case "content_block":
			e.block = readBlock(&r)
		case "delta":
			e.readDelta(&r)
		case "usage":
			e.usage = r.Raw()
		case "message":
			if r.Kind() == '{' {
				e.readMessage(&r)
			} else {
				r.Skip()
			}
		case "error":
			e.failure = wire.ReadFailure(&r)
		default:
			r.Skip()
		}
	}
	r.End()
	if r.Err() == nil && e.kind == "" {
		return e, plinth.Errorf(abi.KindFailed, "it has no type")
	}
	return e, r.Err()
}

// readMessage reads the message of the start, which is empty but for its usage.
func (e *event) readMessage(r *jsonscan.Reader) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		if key == "usage" {
			e.usage = r.Raw()
		} else {
			r.Skip()
		}
	}
}

func readBlock(r *jsonscan.Reader) (b blockStart) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return b
		}
		switch key {
		case "type":
			b.kind = r.String()
		case "id":
			b.id = r.String()
		case "name":
			b.name = r.String()
		case "text", "thinking":
			b.text = r.String()
		case "signature":
			b.signature = r.String()
		case "data":
			b.data = r.String()
		case "input":
			b.input = r.Raw()
		case "tool_use_id":
			b.toolUse = r.String()
		case "content":
			b.content = r.Raw()
		default:
			r.Skip()
		}
	}
}

// readDelta reads that of a block, and that of the message, which has the stop reason.
func (e *event) readDelta(r *jsonscan.Reader) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		switch key {
		case "type":
			e.delta.kind = r.String()
		case "text", "thinking", "signature", "partial_json":
			e.delta.text = r.String()
		case "stop_reason":
			e.reason = r.String()
		default:
			r.Skip()
		}
	}
}
