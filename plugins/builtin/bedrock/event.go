package main

import (
	"unsafe"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// event is what is used of the payload of an event; which one it is, the frame says.
type event struct {
	index  int64
	call   string // of a block that starts
	name   string
	delta  blockDelta
	reason string
	usage  *abi.Usage
}

// blockDelta is a piece of a block: of one kind, but the order of members means nothing.
type blockDelta struct {
	text      string
	input     string // of a call
	thought   string
	signature string
	redacted  string
	reasons   bool // it is one of reasoning, though it may say nothing
}

func readEvent(data string) (e event, err error) {
	r := jsonscan.NewReader(unsafe.Slice(unsafe.StringData(data), len(data)))
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "contentBlockIndex":
			e.index = r.Int()
		case "start":
			e.readStart(&r)
		case "delta":
			e.delta.read(&r)
		case "stopReason":
			e.reason = r.String()
		case "usage":
			e.usage = readUsage(&r)
		default:
			r.Skip()
		}
	}
	r.End()
	return e, r.Err()
}

func (e *event) readStart(r *jsonscan.Reader) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		if key == "toolUse" {
			e.readCall(r)
		} else {
			r.Skip()
		}
	}
}

func (e *event) readCall(r *jsonscan.Reader) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		switch key {
		case "toolUseId":
			e.call = r.String()
		case "name":
			e.name = r.String()
		default:
			r.Skip()
		}
	}
}

func (d *blockDelta) read(r *jsonscan.Reader) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		switch key {
		case "text":
			d.text = r.String()
		case "toolUse":
			d.readInput(r)
		case "reasoningContent":
			d.reasons = true
			d.readReasoning(r)
		default:
			r.Skip()
		}
	}
}

func (d *blockDelta) readInput(r *jsonscan.Reader) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		if key == "input" {
			d.input = r.String()
		} else {
			r.Skip()
		}
	}
}

func (d *blockDelta) readReasoning(r *jsonscan.Reader) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		switch key {
		case "text":
			d.thought = r.String()
		case "signature":
			d.signature = r.String()
		case "redactedContent":
			d.redacted = r.String()
		default:
			r.Skip()
		}
	}
}
