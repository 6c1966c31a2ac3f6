package main

import (
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// frameKind is what a frame has to be.
const frameKind = "event of a response"

// Decode turns the events of a streamed response into ours. Only the response's last
// event finishes the answer.
func (codec) Decode(state []byte, frames []abi.Frame, _ bool, events *provider.Events) ([]byte, error) {
	s, err := readStream(state)
	if err != nil {
		return nil, err
	}
	for _, frame := range frames {
		if err := s.frame(strings.TrimSpace(frame.Data), events); err != nil {
			return nil, err
		}
	}
	return s.encode(), nil
}

func (s *stream) frame(data string, events *provider.Events) error {
	if s.over || data == "" || data == "[DONE]" {
		return nil
	}
	e, err := readEvent(data)
	if err == nil {
		err = s.event(e, events)
	}
	if err != nil {
		return wire.BadFrame(frameKind, data, err)
	}
	return nil
}

// event tells what an event says. Those that are not known say nothing: the protocol
// gets new ones.
func (s *stream) event(e event, events *provider.Events) error {
	switch e.kind {
	case "response.output_text.delta", "response.refusal.delta":
		s.text(e, events)
	case "response.reasoning_summary_text.delta":
		s.reasoning(e, strconv.FormatInt(e.part, 10), events)
	case "response.reasoning_text.delta":
		s.reasoning(e, "text", events)
	case "response.output_item.added":
		return s.added(e, events)
	case "response.function_call_arguments.delta":
		return s.arguments(e, events)
	case "response.output_item.done":
		return s.done(e, events)
	case "response.completed", "response.incomplete":
		s.finish(e.response, events)
	case "response.failed":
		s.fail(e.response.usage, e.response.failure, events)
	case "error":
		s.fail(nil, e.failure, events)
	}
	return nil
}

// text is a piece of a message, which is one text however many parts it has.
func (s *stream) text(e event, events *provider.Events) {
	one := s.take(e.index, e.id)
	if one.part == "" {
		one.part = partID(one)
	}
	if e.delta != "" {
		one.size += int64(len(e.delta))
		events.Text(one.part, e.delta)
	}
}

// partID names the text of an item that may have no id.
func partID(one *openItem) string {
	if one.item != "" {
		return one.item
	}
	return "text-" + strconv.FormatInt(max(one.index, 0), 10)
}

// reasoning is a piece of one of the parts of an item's summary. The last part stays
// open until the item is done, because what the provider wants back comes then.
func (s *stream) reasoning(e event, part string, events *provider.Events) {
	one := s.take(e.index, e.id)
	id := partID(one) + ":" + part
	if one.part != "" && one.part != id {
		events.ReasoningEndWith(one.part, metadata{item: one.item}.encode())
	}
	one.part = id
	if e.delta != "" {
		events.Reasoning(id, e.delta)
	}
	one.size += int64(len(e.delta))
}

func (s *stream) added(e event, events *provider.Events) error {
	switch {
	case e.item == nil:
		return plinth.Errorf(abi.KindFailed, "it has no item")
	case e.item.kind == "function_call":
		one := s.take(e.index, e.item.id)
		if one.part == "" {
			return s.start(one, e.item, events)
		}
	case e.item.hostedName() != "":
		s.hosted(e, events)
	default:
		s.take(e.index, e.item.id)
	}
	return nil
}

// start opens a call of one of our tools.
func (s *stream) start(one *openItem, made *item, events *provider.Events) error {
	if made.callID == "" || made.name == "" {
		return plinth.Errorf(abi.KindFailed, "the function call %s has no call_id or no name", made.id)
	}
	one.part, s.called = made.callID, true
	events.ToolStart(made.callID, made.name)
	return nil
}

// hosted opens a call of a tool that OpenAI runs.
func (s *stream) hosted(e event, events *provider.Events) *openItem {
	one := s.take(e.index, e.item.id)
	if one.part == "" {
		one.part = partID(one)
		events.HostedStart(one.part, e.item.hostedName())
	}
	return one
}

func (s *stream) arguments(e event, events *provider.Events) error {
	one := s.find(e.index, e.id)
	switch {
	case one == nil || one.part == "":
		return plinth.Errorf(abi.KindFailed, "arguments of the item %q, which is no call that was begun", e.id)
	case e.delta == "":
		return nil
	}
	one.size += int64(len(e.delta))
	one.sum = sumOf(one.sum, e.delta)
	events.ToolInput(one.part, e.delta)
	return nil
}

// done ends an item. What it holds then counts: what was not streamed is told, and a
// call whose arguments were streamed otherwise must not be run.
func (s *stream) done(e event, events *provider.Events) error {
	if e.item == nil {
		return plinth.Errorf(abi.KindFailed, "it has no item")
	}
	switch {
	case e.item.kind == "message":
		one := s.take(e.index, e.item.id)
		if text := strings.Join(e.item.texts, ""); one.size == 0 && text != "" {
			one.part = partID(one)
			events.Text(one.part, text)
		}
		if one.part != "" {
			events.TextEnd(one.part)
		}
		s.drop(one)
	case e.item.kind == "reasoning":
		one := s.take(e.index, e.item.id)
		s.reasoned(one, e.item, events)
		s.drop(one)
	case e.item.kind == "function_call":
		return s.call(e, events)
	case e.item.hostedName() != "":
		one := s.hosted(e, events)
		e.item.tellHosted(one.part, events)
		s.drop(one)
	}
	return nil
}

// reasoned ends an item of reasoning, which comes back even if nothing of it may be
// read.
func (s *stream) reasoned(one *openItem, made *item, events *provider.Events) {
	kept := metadata{item: made.id, encrypted: made.encrypted}
	switch {
	case one.part != "":
	case made.id == "" && len(made.texts) == 0:
		return
	default:
		one.part = partID(one) + ":0"
		events.Reasoning(one.part, strings.Join(made.texts, "\n"))
	}
	if one.item != "" {
		kept.item = one.item // as its other parts have it
	}
	events.ReasoningEndWith(one.part, kept.encode())
}

func (s *stream) call(e event, events *provider.Events) error {
	one := s.take(e.index, e.item.id)
	if one.part == "" {
		if err := s.start(one, e.item, events); err != nil {
			return err
		}
	}
	whole := e.item.arguments
	if size := int(one.size); whole != "" && (size > len(whole) || sumOf(noSum, whole[:size]) != one.sum) {
		return plinth.Errorf(abi.KindFailed, "the arguments of the call %s are not those that were streamed", one.part)
	} else if size < len(whole) {
		events.ToolInput(one.part, whole[size:])
	}
	if e.item.id == "" {
		events.ToolEnd(one.part)
	} else {
		events.ToolEndWith(one.part, metadata{item: e.item.id}.encode())
	}
	s.drop(one)
	return nil
}

// finish ends the stream well.
func (s *stream) finish(r response, events *provider.Events) {
	s.over = true
	if r.usage != nil {
		events.Usage(*r.usage)
	}
	switch {
	case r.reason == "max_output_tokens":
		events.Finish("length")
	case r.reason == "content_filter":
		events.Finish("content_filter")
	case r.reason != "" || r.status == "incomplete":
		events.Finish("unknown")
	case s.called:
		events.Finish("tool_calls")
	default:
		events.Finish("stop")
	}
}

// fail ends the stream with what the provider says went wrong.
func (s *stream) fail(usage *abi.Usage, failure *wire.Failure, events *provider.Events) {
	s.over = true
	if failure == nil {
		failure = &wire.Failure{}
	}
	if usage != nil {
		events.Usage(*usage)
	}
	events.Fail(failure.Explain())
}
