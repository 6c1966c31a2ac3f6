package main

import (
	"unsafe"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// event is what is used of a streaming event. It is read whole before any of it is
// told, since the order of an object's members means nothing.
type event struct {
	kind     string
	id       string // item_id
	index    int64  // output_index; -1 when there is none
	part     int64  // summary_index
	delta    string
	item     *item
	response response
	failure  *wire.Failure // of an error event: its own members, or those of "error"
}

// item is an item of the output.
type item struct {
	kind      string
	id        string
	callID    string
	name      string
	arguments string
	status    string
	encrypted string
	texts     []string // of a message's content, or of a reasoning's summary
	tool      hosted
	raw       []byte
}

// response is the whole response, as the last event has it.
type response struct {
	status  string
	reason  string // why it is incomplete
	usage   *abi.Usage
	failure *wire.Failure
}

func readEvent(data string) (e event, err error) {
	r := jsonscan.NewReader(unsafe.Slice(unsafe.StringData(data), len(data)))
	e.index = -1
	var own wire.Failure
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "type":
			e.kind = r.String()
		case "item_id":
			e.id = r.String()
		case "output_index":
			e.index = r.Int()
		case "summary_index":
			e.part = r.Int()
		case "delta":
			e.delta = readText(&r)
		case "item":
			if e.item, err = readItem(&r); err != nil {
				return e, err
			}
		case "response":
			e.response = readResponse(&r)
		case "error":
			e.failure = wire.ReadFailure(&r)
		case "code":
			own.Code = readText(&r)
		case "message":
			own.Message = readText(&r)
		default:
			r.Skip()
		}
	}
	r.End()
	if e.failure == nil {
		e.failure = &own
	}
	return e, r.Err()
}

// readText reads a string; events that nobody knows have other values there.
func readText(r *jsonscan.Reader) string {
	if r.Kind() == '"' {
		return r.String()
	}
	r.Skip()
	return ""
}

func readItem(r *jsonscan.Reader) (*item, error) {
	if r.Null() {
		return nil, nil
	}
	raw := r.Raw()
	if r.Err() != nil {
		return nil, r.Err()
	}
	i := &item{raw: raw}
	one := jsonscan.NewReader(raw)
	for one.Object(); ; {
		key, ok := one.Next()
		if !ok {
			break
		}
		switch key {
		case "type":
			i.kind = one.String()
		case "id":
			i.id = one.String()
		case "call_id":
			i.callID = one.String()
		case "name":
			i.name = readText(&one)
		case "arguments":
			i.arguments = readText(&one)
		case "status":
			i.status = readText(&one)
		case "encrypted_content":
			i.encrypted = readText(&one)
		case "content", "summary":
			i.texts = append(i.texts, readTexts(&one)...)
		default:
			i.tool.read(key, &one)
		}
	}
	return i, one.Err()
}

// readTexts reads the texts and refusals of a list of parts.
func readTexts(r *jsonscan.Reader) (texts []string) {
	if r.Kind() != '[' {
		r.Skip()
		return nil
	}
	for r.Array(); r.More(); {
		for r.Object(); ; {
			key, ok := r.Next()
			if !ok {
				break
			}
			if key == "text" || key == "refusal" {
				texts = append(texts, readText(r))
			} else {
				r.Skip()
			}
		}
	}
	return texts
}

func readResponse(r *jsonscan.Reader) (out response) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return out
		}
		switch key {
		case "status":
			out.status = readText(r)
		case "incomplete_details":
			for r.Object(); ; {
				key, ok := r.Next()
				if !ok {
					break
				}
				if key == "reason" {
					out.reason = readText(r)
				} else {
					r.Skip()
				}
			}
		case "error":
			out.failure = wire.ReadFailure(r)
		case "usage":
			if r.Kind() == '{' {
				out.usage = readUsage(r)
			} else {
				r.Skip()
			}
		default:
			r.Skip()
		}
	}
}

// readUsage reads a usage object, whose counts are inclusive as ours are.
func readUsage(r *jsonscan.Reader) *abi.Usage {
	usage := &abi.Usage{}
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return usage
		}
		switch key {
		case "input_tokens":
			usage.Input = r.Int()
		case "output_tokens":
			usage.Output = r.Int()
		case "input_tokens_details":
			readDetail(r, "cached_tokens", &usage.CacheRead)
		case "output_tokens_details":
			readDetail(r, "reasoning_tokens", &usage.Reasoning)
		default:
			r.Skip()
		}
	}
}

func readDetail(r *jsonscan.Reader, name string, count *int64) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		if key == name {
			*count = r.Int()
		} else {
			r.Skip()
		}
	}
}
