package provider

import (
	"encoding/binary"
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// decode runs for every few words a model says, so it reads and writes JSON by
// hand.
func decode(message []byte) []byte {
	body, _, err := abi.DecodeMessage(message)
	if err != nil {
		return guest.Fail(guest.Invalid(err))
	}
	call, err := readCall(body)
	if err != nil {
		return guest.Fail(guest.Invalid(err))
	}
	codec, err := find(call.Provider)
	if err != nil {
		return guest.Fail(err)
	}
	events := newEvents(len(body))
	state, err := codec.Decode(call.State, call.Frames, call.End, events)
	if err == nil {
		err = events.err
	}
	if err != nil {
		return guest.Fail(err)
	}
	return events.answer(state)
}

// readCall reads the abi.Call of an abi.ProviderDecode.
func readCall(data []byte) (call abi.ProviderDecode, err error) {
	err = guest.ReadBody(data, func(r *jsonscan.Reader) { readBody(r, &call) })
	return call, err
}

func readBody(r *jsonscan.Reader, call *abi.ProviderDecode) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return
		}
		switch key {
		case "provider":
			call.Provider = r.String()
		case "state":
			if raw := r.Raw(); string(raw) != "null" {
				call.State = raw
			}
		case "frames":
			for r.Array(); r.More(); {
				call.Frames = append(call.Frames, readFrame(r))
			}
		case "end":
			call.End = r.Bool()
		default:
			r.Skip()
		}
	}
}

func readFrame(r *jsonscan.Reader) (frame abi.Frame) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return frame
		}
		switch key {
		case "event":
			frame.Event = r.String()
		case "data":
			frame.Data = r.String()
		default:
			r.Skip()
		}
	}
}

// Events collects what a Decode has to say, in order.
type Events struct {
	message []byte // the answer so far: its length, then {"ok":{"events":[…
	count   int
	err     error // JSON of the codec's that is none: the first
}

func newEvents(size int) *Events {
	message := append(make([]byte, 4, 64+size/2), `{"ok":{"events":[`...)
	return &Events{message: message}
}

// Text is a fragment of a text part.
func (e *Events) Text(id, text string) { e.fragment(abi.EventTextDelta, id, text) }

// Reasoning is a fragment of a reasoning part.
func (e *Events) Reasoning(id, text string) { e.fragment(abi.EventReasoningDelta, id, text) }

// ToolInput is a fragment of a tool call's arguments.
func (e *Events) ToolInput(call, text string) { e.fragment(abi.EventToolDelta, call, text) }

// ToolStart opens a tool call.
func (e *Events) ToolStart(call, name string) {
	e.open(abi.EventToolStart)
	e.message = jsonscan.AppendStringField(e.message, "id", call)
	e.message = jsonscan.AppendStringField(e.message, "name", name)
	e.close()
}

// ToolEnd says that a tool call's arguments are complete.
func (e *Events) ToolEnd(call string) { e.fragment(abi.EventToolEnd, call, "") }

// ToolEndWith is ToolEnd with JSON that the provider wants back with the call.
func (e *Events) ToolEndWith(call string, metadata []byte) {
	e.endWith(abi.EventToolEnd, call, metadata)
}

// TextEnd closes a text part before the stream ends.
func (e *Events) TextEnd(id string) { e.fragment(abi.EventTextEnd, id, "") }

// ReasoningEnd closes a reasoning part before the stream ends.
func (e *Events) ReasoningEnd(id string) { e.fragment(abi.EventReasoningEnd, id, "") }

// ReasoningEndWith is ReasoningEnd with JSON that the provider wants back with the
// reasoning, such as its signature.
func (e *Events) ReasoningEndWith(id string, metadata []byte) {
	e.endWith(abi.EventReasoningEnd, id, metadata)
}

func (e *Events) endWith(kind, id string, metadata []byte) {
	e.open(kind)
	e.message = jsonscan.AppendStringField(e.message, "id", id)
	e.raw("metadata", metadata)
	e.close()
}

// Usage tells what the answer took.
func (e *Events) Usage(usage abi.Usage) {
	e.open(abi.EventUsage)
	e.message = AppendUsage(jsonscan.AppendField(e.message, "usage"), usage)
	e.close()
}

// Finish ends the stream well: once, and last.
func (e *Events) Finish(reason string) {
	e.open(abi.EventFinish)
	e.message = jsonscan.AppendStringField(e.message, "reason", reason)
	e.close()
}

// Fail ends the stream with an error the provider sent in place of an answer.
func (e *Events) Fail(failure abi.ProviderError) {
	e.open(abi.EventError)
	m := append(jsonscan.AppendField(e.message, "error"), '{')
	m = jsonscan.AppendString(jsonscan.AppendField(m, "classification"), failure.Classification)
	m = jsonscan.AppendString(jsonscan.AppendField(m, "message"), failure.Message)
	m = jsonscan.AppendField(m, "retryable")
	if failure.Retryable {
		m = append(m, "true"...)
	} else {
		m = append(m, "false"...)
	}
	m = jsonscan.AppendIntField(m, "retry_after_ms", failure.RetryAfterMS)
	e.message = append(m, '}')
	e.close()
}

func (e *Events) fragment(kind, id, text string) {
	e.open(kind)
	e.message = jsonscan.AppendStringField(e.message, "id", id)
	e.message = jsonscan.AppendStringField(e.message, "text", text)
	e.close()
}

func (e *Events) open(kind string) {
	if e.count > 0 {
		e.message = append(e.message, ',')
	}
	e.count++
	e.message = append(e.message, `{"type":"`...)
	e.message = append(e.message, kind...)
	e.message = append(e.message, '"')
}

// raw appends a member of the codec's own JSON. What is none would make the whole
// answer unreadable, so it fails the Decode.
func (e *Events) raw(key string, value []byte) {
	if len(value) == 0 {
		return
	}
	if err := jsonscan.Valid(value); err != nil {
		if e.err == nil {
			e.err = fmt.Errorf("the %s of event %d is no JSON: %w", key, e.count, err)
		}
		return
	}
	e.message = jsonscan.AppendRawField(e.message, key, value)
}

func (e *Events) close() { e.message = append(e.message, '}') }

// answer ends the message. state must be JSON; empty leaves it out.
func (e *Events) answer(state []byte) []byte {
	message := append(e.message, ']')
	if len(state) > 0 {
		message = append(jsonscan.AppendField(message, "state"), state...)
	}
	message = append(message, '}', '}')
	binary.LittleEndian.PutUint32(message, uint32(len(message)-4))
	return message
}

// AppendUsage appends usage as JSON: for a codec's state.
func AppendUsage(dst []byte, usage abi.Usage) []byte {
	dst = jsonscan.AppendInt(append(dst, `{"input":`...), usage.Input)
	dst = jsonscan.AppendInt(append(dst, `,"output":`...), usage.Output)
	dst = jsonscan.AppendIntField(dst, "reasoning", usage.Reasoning)
	dst = jsonscan.AppendIntField(dst, "cache_read", usage.CacheRead)
	dst = jsonscan.AppendIntField(dst, "cache_write", usage.CacheWrite)
	return append(dst, '}')
}
