package main

import (
	"slices"
	"strconv"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// frameKind is what a frame has to be.
const frameKind = "event of a message"

// Decode turns the events of a streamed message into ours. A stream that breaks off
// before it gave its stop reason gets no finish: the host says that it is incomplete.
func (codec) Decode(state []byte, frames []abi.Frame, end bool, events *provider.Events) ([]byte, error) {
	s, err := readStream(state)
	if err != nil {
		return nil, err
	}
	for _, frame := range frames {
		if s.over || blank(frame.Data) {
			continue
		}
		e, err := readEvent(frame.Data)
		if err == nil {
			err = s.take(e, events)
		}
		if err != nil {
			return nil, wire.BadFrame(frameKind, frame.Data, err)
		}
	}
	if end {
		s.finish(events)
	}
	return s.encode(), nil
}

// take takes one event. Pings, and kinds that came into the protocol later, say nothing.
func (s *stream) take(e event, events *provider.Events) error {
	s.count(e.usage)
	switch e.kind {
	case "content_block_start":
		return s.open(e, events)
	case "content_block_delta":
		return s.delta(e, events)
	case "content_block_stop":
		return s.close(e.index, events)
	case "message_delta":
		if e.reason != "" {
			s.reason = e.reason
		}
	case "message_stop":
		s.finish(events)
	case "error":
		s.over = true
		failure := e.failure
		if failure == nil {
			failure = &wire.Failure{}
		}
		events.Fail(explain(failure))
	}
	return nil
}

// open begins a block. Reasoning exists from here on, since it can be all signature.
func (s *stream) open(e event, events *provider.Events) error {
	if s.find(e.index) >= 0 {
		return plinth.Errorf(abi.KindFailed, "block %d is started twice", e.index)
	}
	b := block{index: e.index, kind: kindOther}
	switch e.block.kind {
	case "text":
		b.kind = kindText
		s.text(&b, e.block.text, events)
	case "thinking":
		b.kind, b.signature = kindReasoning, e.block.signature
		events.Reasoning(reasoningID(b.index), e.block.text)
	case "redacted_thinking":
		events.Reasoning(reasoningID(b.index), "")
		events.ReasoningEndWith(reasoningID(b.index), wire.Signed{Redacted: e.block.data}.Metadata())
	case "tool_use", "server_tool_use":
		if e.block.id == "" || e.block.name == "" {
			return plinth.Errorf(abi.KindFailed, "the tool call of block %d has no id or no name", e.index)
		}
		b.kind, b.call = kindCall, e.block.id
		if e.block.kind == "tool_use" {
			s.called = true
			events.ToolStart(b.call, e.block.name)
		} else {
			s.hosted = append(s.hosted, b.call)
			events.HostedStart(b.call, e.block.name)
		}
		if len(e.block.input) > 0 && string(e.block.input) != "{}" {
			events.ToolInput(b.call, string(e.block.input)) // whole at once
		}
	default:
		// A result may be of a call that an earlier answer paused at: that is told there.
		if at := slices.Index(s.hosted, e.block.toolUse); at >= 0 && e.block.content != nil {
			s.hosted = slices.Delete(s.hosted, at, at+1)
			events.HostedResult(e.block.toolUse, hostedResult(e.block.kind, e.block.content))
		}
	}
	s.said = true
	s.blocks = append(s.blocks, b)
	return nil
}

// text opens its part with the first words only.
func (s *stream) text(b *block, text string, events *provider.Events) {
	if text != "" {
		b.kind = kindSaid
		events.Text(textID(b.index), text)
	}
}

func (s *stream) delta(e event, events *provider.Events) error {
	at := s.find(e.index)
	if at < 0 {
		return plinth.Errorf(abi.KindFailed, "block %d goes on and is not open", e.index)
	}
	b := &s.blocks[at]
	switch {
	case e.delta.kind == "text_delta" && (b.kind == kindText || b.kind == kindSaid):
		s.text(b, e.delta.text, events)
	case e.delta.kind == "thinking_delta" && b.kind == kindReasoning:
		if e.delta.text != "" {
			events.Reasoning(reasoningID(b.index), e.delta.text)
		}
	case e.delta.kind == "signature_delta" && b.kind == kindReasoning:
		b.signature += e.delta.text
	case e.delta.kind == "input_json_delta" && b.kind == kindCall:
		if e.delta.text != "" {
			events.ToolInput(b.call, e.delta.text)
		}
	}
	return nil
}

func (s *stream) close(index int64, events *provider.Events) error {
	at := s.find(index)
	if at < 0 {
		return plinth.Errorf(abi.KindFailed, "block %d ends and is not open", index)
	}
	b := s.blocks[at]
	s.blocks = slices.Delete(s.blocks, at, at+1)
	switch b.kind {
	case kindSaid:
		events.TextEnd(textID(index))
	case kindReasoning:
		events.ReasoningEndWith(reasoningID(index), wire.Signed{Signature: b.signature}.Metadata())
	case kindCall:
		events.ToolEnd(b.call)
	}
	return nil
}

// finish ends the stream, once. A window that was full before a word was said is an
// overflow, which a compaction helps; after that the answer is one that was cut short.
func (s *stream) finish(events *provider.Events) {
	if s.over || s.reason == "" {
		return
	}
	s.over = true
	if s.reason == windowExceeded && !s.said {
		events.Fail(abi.ProviderError{Classification: abi.ClassContextOverflow, Message: windowExceeded + ": the request fills the model's context window"})
		return
	}
	if s.usage.known {
		events.Usage(s.usage.usage())
	}
	events.Finish(s.finishReason())
}

const windowExceeded = "model_context_window_exceeded"

func (s *stream) finishReason() string {
	switch s.reason {
	case "end_turn", "stop_sequence", "pause_turn":
		if s.called {
			return "tool_calls"
		}
		return "stop"
	case "tool_use":
		return "tool_calls"
	case "max_tokens", windowExceeded:
		return "length"
	case "refusal":
		return "content_filter"
	}
	return "unknown"
}

func textID(index int64) string      { return "text-" + strconv.FormatInt(index, 10) }
func reasoningID(index int64) string { return "reasoning-" + strconv.FormatInt(index, 10) }

func blank(data string) bool {
	for i := range len(data) {
		if c := data[i]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}
