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

// The protocol has one text and one reasoning to an answer.
const (
	textID      = "text-0"
	reasoningID = "reasoning-0"
)

// stream is what has to be known of the lines read so far. Between calls it is small JSON:
// {"answer":"20261122T0930001","calls":2} and {"over":true} at the end.
type stream struct {
	answer string // what makes the ids of this answer's calls its own
	calls  int64  // so far
	over   bool   // finish or error was told
}

// Decode turns lines of an answer into events. The last line has done set; an answer
// without it was cut, and the host says so.
func (codec) Decode(state []byte, frames []abi.Frame, _ bool, events *provider.Events) ([]byte, error) {
	s, err := readStream(state)
	if err != nil {
		return nil, err
	}
	for _, frame := range frames {
		data := strings.TrimSpace(frame.Data)
		if s.over || data == "" {
			continue
		}
		line, err := readLine(data)
		if err != nil {
			return nil, wire.BadFrame("line of an answer", data, err)
		}
		if err := s.take(line, events); err != nil {
			return nil, wire.BadFrame("line of an answer", data, err)
		}
	}
	return s.encode(), nil
}

func (s *stream) take(l line, events *provider.Events) error {
	if l.failure != nil {
		s.over = true
		events.Fail(l.failure.Explain())
		return nil
	}
	if s.answer == "" {
		s.answer = mark(l.created)
	}
	if l.thinking != "" {
		events.Reasoning(reasoningID, l.thinking)
	}
	if l.content != "" {
		events.Text(textID, l.content)
	}
	for _, call := range l.calls {
		if call.name == "" {
			return plinth.Errorf(abi.KindFailed, "a tool call has no name")
		}
		s.calls++
		id := "call_" + s.answer + "_" + strconv.FormatInt(s.calls, 10)
		events.ToolStart(id, call.name)
		if call.arguments != "" {
			events.ToolInput(id, call.arguments)
		}
		events.ToolEnd(id)
	}
	if l.done {
		s.over = true
		events.Usage(l.usage)
		events.Finish(s.reason(l.reason))
	}
	return nil
}

// reason is why the answer ended, in the host's words.
func (s *stream) reason(told string) string {
	switch {
	case told == "length":
		return "length"
	case s.calls > 0:
		return "tool_calls"
	case told == "stop" || told == "": // older servers do not say
		return "stop"
	}
	return "unknown"
}

// mark is an instant's letters and digits: the protocol names no calls, and ids are to
// differ from those of other answers.
func mark(instant string) string {
	const most = 40
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, instant[:min(len(instant), most)])
}

func readStream(state []byte) (s stream, err error) {
	if len(state) == 0 {
		return s, nil
	}
	r := jsonscan.NewReader(state)
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch key {
		case "answer":
			s.answer = r.String()
		case "calls":
			s.calls = r.Int()
		case "over":
			s.over = r.Bool()
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return s, plinth.Errorf(abi.KindInvalidInput, "the stream's state: %v", r.Err())
	}
	return s, nil
}

// encode is the state for the next call.
func (s *stream) encode() []byte {
	switch {
	case s.over:
		return []byte(`{"over":true}`)
	case s.answer == "" && s.calls == 0:
		return nil
	}
	state := jsonscan.AppendStringField([]byte{'{'}, "answer", s.answer)
	return append(jsonscan.AppendIntField(state, "calls", s.calls), '}')
}
