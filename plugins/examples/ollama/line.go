package main

import (
	"unsafe"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// line is what is used of a line of an answer. It is read whole before any of it is told,
// since the order of an object's members means nothing.
type line struct {
	created  string // an instant, which no other answer has
	content  string
	thinking string
	calls    []callStart
	done     bool
	reason   string // of the last line
	usage    abi.Usage
	failure  *wire.Failure
}

// callStart is a call of a tool, which comes whole.
type callStart struct{ name, arguments string }

func readLine(data string) (l line, err error) {
	r := jsonscan.NewReader(unsafe.Slice(unsafe.StringData(data), len(data)))
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "created_at":
			l.created = r.String()
		case "message":
			l.readMessage(&r)
		case "done":
			l.done = r.Bool()
		case "done_reason":
			l.reason = r.String()
		case "prompt_eval_count":
			l.usage.Input = r.Int()
		case "eval_count":
			l.usage.Output = r.Int()
		case "error":
			l.failure = wire.ReadFailure(&r)
		default:
			r.Skip()
		}
	}
	r.End()
	return l, r.Err()
}

func (l *line) readMessage(r *jsonscan.Reader) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		switch key {
		case "content":
			l.content = r.String()
		case "thinking":
			l.thinking = r.String()
		case "tool_calls":
			for r.Array(); r.More(); {
				l.calls = append(l.calls, readCall(r))
			}
		default:
			r.Skip()
		}
	}
}

func readCall(r *jsonscan.Reader) (c callStart) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return c
		}
		if key != "function" {
			r.Skip()
			continue
		}
		for r.Object(); ; {
			key, ok := r.Next()
			if !ok {
				break
			}
			switch key {
			case "name":
				c.name = r.String()
			case "arguments":
				c.arguments = string(r.Raw())
			default:
				r.Skip()
			}
		}
	}
}
