package main

import (
	"slices"
	"strconv"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// Decode turns the events of a streamed conversation turn into ours. The usage comes
// behind the stop reason, or before it: both are told when both are there, or at the
// end. A stream that breaks off before its stop reason gets no finish.
func (codec) Decode(state []byte, frames []abi.Frame, end bool, events *provider.Events) ([]byte, error) {
	s, err := readStream(state)
	if err != nil {
		return nil, err
	}
	for _, frame := range frames {
		if s.over {
			break
		}
		if err := s.take(frame, events); err != nil {
			return nil, wire.BadFrame("event of Converse", frame.Data, err)
		}
	}
	if end {
		s.finish(events)
	}
	return s.encode(), nil
}

// take takes one event. Kinds that nobody knows yet say nothing.
func (s *stream) take(frame abi.Frame, events *provider.Events) error {
	if isException(frame.Event) {
		s.over = true
		events.Fail(exception(frame.Event, frame.Data))
		return nil
	}
	switch frame.Event {
	case "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata":
	default:
		return nil
	}
	e, err := readEvent(frame.Data)
	if err != nil {
		return err
	}
	switch frame.Event {
	case "contentBlockStart":
		return s.open(e, events)
	case "contentBlockDelta":
		return s.delta(e, events)
	case "contentBlockStop":
		s.close(e.index, events)
	case "messageStop":
		s.reason = e.reason
		if s.reason == "" {
			s.reason = "unknown"
		}
	case "metadata":
		if e.usage != nil {
			s.usage = e.usage
		}
	}
	if s.usage != nil {
		s.finish(events)
	}
	return nil
}

// open begins a call; the start of other blocks says nothing, and need not come.
func (s *stream) open(e event, events *provider.Events) error {
	switch {
	case s.find(e.index) >= 0:
		return plinth.Errorf(abi.KindFailed, "block %d is started twice", e.index)
	case e.call == "" && e.name == "":
		return nil
	case e.call == "" || e.name == "":
		return plinth.Errorf(abi.KindFailed, "the tool call of block %d has no id or no name", e.index)
	}
	s.blocks = append(s.blocks, block{index: e.index, kind: kindCall, call: e.call})
	s.said, s.called = true, true
	events.ToolStart(e.call, e.name)
	return nil
}

func (s *stream) delta(e event, events *provider.Events) error {
	switch d := e.delta; {
	case d.reasons:
		b := s.block(e.index, kindReasoning)
		if b.kind != kindReasoning {
			return plinth.Errorf(abi.KindFailed, "block %d is %s and goes on as reasoning", e.index, b.kind)
		}
		b.signed.Signature += d.signature
		b.signed.Redacted += d.redacted
		if d.thought != "" || !b.told {
			b.told = true
			events.Reasoning(reasoningID(e.index), d.thought)
		}
	case d.text != "":
		b := s.block(e.index, kindText)
		if b.kind != kindText {
			return plinth.Errorf(abi.KindFailed, "block %d is %s and goes on as text", e.index, b.kind)
		}
		events.Text(textID(e.index), d.text)
	case d.input != "":
		at := s.find(e.index)
		if at < 0 || s.blocks[at].kind != kindCall {
			return plinth.Errorf(abi.KindFailed, "the arguments of block %d are of no call", e.index)
		}
		events.ToolInput(s.blocks[at].call, d.input)
	}
	return nil
}

// block is that of an index, which its first piece opens.
func (s *stream) block(index int64, kind string) *block {
	at := s.find(index)
	if at < 0 {
		at = len(s.blocks)
		s.blocks = append(s.blocks, block{index: index, kind: kind})
		s.said = true
	}
	return &s.blocks[at]
}

// close ends a block, if there was anything in it.
func (s *stream) close(index int64, events *provider.Events) {
	at := s.find(index)
	if at < 0 {
		return
	}
	b := s.blocks[at]
	s.blocks = slices.Delete(s.blocks, at, at+1)
	switch b.kind {
	case kindText:
		events.TextEnd(textID(index))
	case kindReasoning:
		events.ReasoningEndWith(reasoningID(index), b.signed.Metadata())
	case kindCall:
		events.ToolEnd(b.call)
	}
}

// finish ends the stream, once.
func (s *stream) finish(events *provider.Events) {
	if s.over || s.reason == "" {
		return
	}
	s.over = true
	switch {
	case s.reason == windowExceeded && !s.said:
		events.Fail(abi.ProviderError{Classification: abi.ClassContextOverflow, Message: windowExceeded + ": the request fills the model's context window"})
		return
	case s.reason == "malformed_tool_use", s.reason == "malformed_model_output":
		events.Fail(abi.ProviderError{Classification: abi.ClassInternal, Message: s.reason + ": the model's output cannot be read", Retryable: true})
		return
	}
	if s.usage != nil {
		events.Usage(*s.usage)
	}
	events.Finish(s.finishReason())
}

const windowExceeded = "model_context_window_exceeded"

func (s *stream) finishReason() string {
	switch s.reason {
	case "end_turn", "stop_sequence", "tool_use":
		if s.called {
			return "tool_calls"
		}
		return "stop"
	case "max_tokens", windowExceeded:
		return "length"
	case "content_filtered", "guardrail_intervened":
		return "content_filter"
	}
	return "unknown"
}

func textID(index int64) string      { return "text-" + strconv.FormatInt(index, 10) }
func reasoningID(index int64) string { return "reasoning-" + strconv.FormatInt(index, 10) }
