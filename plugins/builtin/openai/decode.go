package main

import (
	"slices"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// The protocol has one text and one reasoning to a stream.
const (
	textID      = "text-0"
	reasoningID = "reasoning-0"
)

// frameKind is what a frame has to be.
const frameKind = "chunk of a chat completion"

// done is the frame after the last.
const done = "[DONE]"

// Decode turns chunks of a streamed chat completion into events. The usage may come
// after the finish reason, so "usage" and "finish" are told when the stream is
// through, and only if it gave a reason.
func (codec) Decode(state []byte, frames []abi.Frame, end bool, events *provider.Events) ([]byte, error) {
	s, err := readStream(state)
	if err != nil {
		return nil, err
	}
	for _, frame := range frames {
		if err := s.frame(frame.Data, events); err != nil {
			return nil, err
		}
	}
	if end {
		s.finish(events)
	}
	return s.encode(), nil
}

func (s *stream) frame(data string, events *provider.Events) error {
	data = strings.TrimSpace(data)
	switch {
	case s.over || data == "":
		return nil
	case data == done:
		s.finish(events)
		return nil
	}
	chunk, err := readChunk(data)
	if err != nil {
		return wire.BadFrame(frameKind, data, err)
	}
	if chunk.failure != nil {
		s.over = true
		events.Fail(chunk.failure.Explain())
		return nil
	}
	if chunk.usage != nil {
		s.usage = chunk.usage
	}
	if chunk.reasoning != "" {
		events.Reasoning(reasoningID, chunk.reasoning)
	}
	if chunk.content != "" {
		events.Text(textID, chunk.content)
	}
	for _, delta := range chunk.calls {
		if err := s.call(delta, events); err != nil {
			return wire.BadFrame(frameKind, data, err)
		}
	}
	if chunk.reason != "" && s.reason == "" {
		s.reason = chunk.reason
		for _, call := range s.calls {
			events.ToolEnd(call.id)
		}
	}
	return nil
}

// call takes a fragment of a tool call. Calls are told apart by index; the first
// fragment of one has its id and name. Some servers leave the index out or give
// every call the same: a new id is a new call all the same.
func (s *stream) call(delta callDelta, events *provider.Events) error {
	at := s.find(delta)
	if at < 0 || s.reason != "" {
		switch {
		case s.reason != "":
			return plinth.Errorf(abi.KindFailed, "a tool call goes on after the finish reason")
		case delta.id == "" || delta.name == "":
			return plinth.Errorf(abi.KindFailed, "the first fragment of tool call %d has no id or no name", delta.index)
		}
		at = len(s.calls)
		s.calls = append(s.calls, openCall{index: delta.index, id: delta.id})
		events.ToolStart(delta.id, delta.name)
	}
	if delta.arguments != "" {
		events.ToolInput(s.calls[at].id, delta.arguments)
	}
	return nil
}

// find answers the place of the call a fragment belongs to, or -1. The latest call
// of an index is the one that goes on.
func (s *stream) find(delta callDelta) int {
	for at, call := range slices.Backward(s.calls) {
		switch {
		case delta.id != "":
			if call.id == delta.id {
				return at
			}
		case delta.index < 0 || call.index == delta.index:
			return at
		}
	}
	return -1
}

// finish ends the stream, once. A stream without a reason was cut: the host says so.
func (s *stream) finish(events *provider.Events) {
	if s.over || s.reason == "" {
		return
	}
	s.over = true
	if s.usage != nil {
		events.Usage(*s.usage)
	}
	events.Finish(s.finishReason())
}

func (s *stream) finishReason() string {
	switch s.reason {
	case "stop", "tool_calls", "function_call":
		if len(s.calls) > 0 {
			return "tool_calls"
		}
		if s.reason == "stop" {
			return "stop"
		}
		return "unknown"
	case "length", "content_filter":
		return s.reason
	}
	return "unknown"
}
