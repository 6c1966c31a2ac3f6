package main

import (
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// frameKind is what a frame has to be.
const frameKind = "chunk of a Gemini answer"

// The kinds of parts that stay open over chunks.
const (
	textKind    = "text-"
	thoughtKind = "thought-"
)

// Decode turns the chunks of a streamed answer into events. Usage may come after the
// finish reason, so both are told when the stream is through, and only if it gave a
// reason.
func (codec) Decode(state []byte, frames []abi.Frame, end bool, events *provider.Events) ([]byte, error) {
	s, err := readStream(state)
	if err != nil {
		return nil, err
	}
	for _, frame := range frames {
		data := strings.TrimSpace(frame.Data)
		if s.over || data == "" || data == "[DONE]" {
			continue
		}
		chunk, err := readChunk(data)
		if err == nil {
			s.identify(&chunk, data)
			err = s.chunk(chunk, events)
		}
		if err != nil {
			return nil, wire.BadFrame(frameKind, data, err)
		}
	}
	if end {
		s.finish(events)
	}
	return s.encode(), nil
}

func (s *stream) chunk(c chunk, events *provider.Events) error {
	if c.usage != nil {
		s.usage = c.usage
	}
	if c.failure != nil {
		s.fail(c.failure.Explain(), events)
		return nil
	}
	for _, one := range c.parts {
		if err := s.part(one, events); err != nil {
			return err
		}
	}
	if c.reason != "" {
		s.reason, s.said = c.reason, wire.Clip(c.message)
	}
	if c.blocked != "" {
		s.fail(abi.ProviderError{Classification: abi.ClassContentPolicy, Message: "Google blocked the prompt: " + wire.Clip(c.blocked)}, events)
	}
	return nil
}

func (s *stream) part(p part, events *provider.Events) error {
	switch {
	case p.call != nil:
		return s.call(p, events)
	case p.code != nil:
		s.close(events)
		s.code = s.callID()
		events.HostedStart(s.code, "code_execution")
		events.ToolInput(s.code, string(p.code))
		events.ToolEndWith(s.code, metadata{signature: p.signature, code: true}.encode())
	case p.result != nil:
		return s.result(p, events)
	case p.mime != "":
		s.tell(textKind, events)
		events.Text(s.open, "[a file of type "+p.mime+", which is not kept]")
	case p.thought:
		s.thought(p, events)
	default:
		s.text(p, events)
	}
	return nil
}

// tell makes a part of a kind the open one.
func (s *stream) tell(kind string, events *provider.Events) {
	if !strings.HasPrefix(s.open, kind) {
		s.close(events)
		s.open = kind + strconv.FormatInt(s.parts, 10)
		s.parts++
	}
}

// close ends the part that is open.
func (s *stream) close(events *provider.Events) {
	switch {
	case strings.HasPrefix(s.open, textKind):
		events.TextEnd(s.open)
	case s.open != "":
		events.ReasoningEnd(s.open)
	}
	s.open = ""
}

// text is a piece of what is said. Its signature is kept by a thought of no words
// behind it, since a text keeps nothing.
func (s *stream) text(p part, events *provider.Events) {
	if p.text != "" {
		s.tell(textKind, events)
		events.Text(s.open, p.text)
	}
	if p.signature != "" {
		s.close(events)
		s.tell(thoughtKind, events)
		events.Reasoning(s.open, "")
		s.sign(metadata{signature: p.signature, text: true}, events)
	}
}

// thought is a piece of a summary of the thinking; a signature ends it.
func (s *stream) thought(p part, events *provider.Events) {
	if p.text == "" && p.signature == "" {
		return
	}
	s.tell(thoughtKind, events)
	events.Reasoning(s.open, p.text)
	if p.signature != "" {
		s.sign(metadata{signature: p.signature}, events)
	}
}

func (s *stream) sign(kept metadata, events *provider.Events) {
	events.ReasoningEndWith(s.open, kept.encode())
	s.open = ""
}

// call tells a call, which comes whole.
func (s *stream) call(p part, events *provider.Events) error {
	if p.call.name == "" {
		return plinth.Errorf(abi.KindFailed, "a function call has no name")
	}
	s.close(events)
	s.called = true
	id := s.callID()
	events.ToolStart(id, p.call.name)
	if len(p.call.args) > 0 && string(p.call.args) != "null" {
		events.ToolInput(id, string(p.call.args))
	}
	if p.call.id == "" && p.signature == "" {
		events.ToolEnd(id)
	} else {
		events.ToolEndWith(id, metadata{id: p.call.id, signature: p.signature}.encode())
	}
	return nil
}

// result tells what came of code that Google ran.
func (s *stream) result(p part, events *provider.Events) error {
	if s.code == "" {
		return plinth.Errorf(abi.KindFailed, "a result of code that was not told")
	}
	outcome, output := "", ""
	r := jsonscan.NewReader(p.result)
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "outcome":
			outcome = r.String()
		case "output":
			output = r.String()
		default:
			r.Skip()
		}
	}
	if r.Err() != nil {
		return r.Err()
	}
	failed := outcome != "" && outcome != "OUTCOME_OK"
	if failed && output == "" {
		output = "the code ended with " + outcome
	}
	events.HostedResult(s.code, provider.Result{Text: output, Value: p.result, Failed: failed})
	s.code = ""
	return nil
}

// finish ends the stream, once. A stream without a reason was cut: the host says so.
func (s *stream) finish(events *provider.Events) {
	if s.over || s.reason == "" {
		return
	}
	switch s.reason {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE":
		s.fail(abi.ProviderError{Classification: abi.ClassInternal, Message: s.why("the model's answer could not be read"), Retryable: true}, events)
		return
	case "MISSING_THOUGHT_SIGNATURE":
		s.fail(abi.ProviderError{Classification: abi.ClassInvalidRequest, Message: s.why("the history lacks a signature")}, events)
		return
	}
	s.over = true
	s.close(events)
	if s.usage != nil {
		events.Usage(*s.usage)
	}
	events.Finish(s.finishReason())
}

// why is an error's text about the finish reason.
func (s *stream) why(what string) string {
	text := s.reason + ": " + what
	if s.said != "" {
		text += ": " + s.said
	}
	return text
}

func (s *stream) finishReason() string {
	switch s.reason {
	case "STOP":
		if s.called {
			return "tool_calls"
		}
		return "stop"
	case "MAX_TOKENS":
		return "length"
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return "content_filter"
	}
	return "unknown"
}

// fail ends the stream with an error.
func (s *stream) fail(failure abi.ProviderError, events *provider.Events) {
	s.over = true
	if s.usage != nil {
		events.Usage(*s.usage)
	}
	events.Fail(failure)
}
