package main

import (
	"strconv"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// stream is what has to be known of the chunks read so far. Between calls it is small
// JSON: {"answer":"abc","parts":2,"open":"text-1","calls":1,"called":true,
// "reason":"STOP","usage":{…}}, and {"over":true} at the end.
type stream struct {
	answer string     // what makes the ids of this answer's calls its own
	sum    string     // of all chunks, while the answer has no id
	parts  int64      // texts and thoughts so far
	open   string     // the one that is open; empty for none
	calls  int64      // so far
	called bool       // a tool of ours was called
	code   string     // the hosted call that waits for its result
	reason string     // the provider's finish reason, once it came
	said   string     // and what it says about it
	usage  *abi.Usage // the last that came
	over   bool       // finish or error was told
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
		case "sum":
			s.sum = r.String()
		case "parts":
			s.parts = r.Int()
		case "open":
			s.open = r.String()
		case "calls":
			s.calls = r.Int()
		case "called":
			s.called = r.Bool()
		case "code":
			s.code = r.String()
		case "reason":
			s.reason = r.String()
		case "said":
			s.said = r.String()
		case "usage":
			s.usage = wire.ReadUsage(&r)
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
	if s.over {
		return []byte(`{"over":true}`)
	}
	state := append(make([]byte, 0, 128), '{')
	state = jsonscan.AppendStringField(state, "answer", s.answer)
	state = jsonscan.AppendStringField(state, "sum", s.sum)
	state = jsonscan.AppendIntField(state, "parts", s.parts)
	state = jsonscan.AppendStringField(state, "open", s.open)
	state = jsonscan.AppendIntField(state, "calls", s.calls)
	if s.called {
		state = append(jsonscan.AppendField(state, "called"), "true"...)
	}
	state = jsonscan.AppendStringField(state, "code", s.code)
	state = jsonscan.AppendStringField(state, "reason", s.reason)
	state = jsonscan.AppendStringField(state, "said", s.said)
	if s.usage != nil {
		state = provider.AppendUsage(jsonscan.AppendField(state, "usage"), *s.usage)
	}
	return append(state, '}')
}

// identify learns what makes this answer's ids its own: the answer's id, or where a
// server gives none a sum (FNV-1a, 64 bits) over its chunks so far. The protocol names
// no calls that would be told apart from those of another answer.
func (s *stream) identify(c *chunk, data string) {
	if s.answer != "" {
		return
	}
	for i := 0; i < len(c.response) && len(s.answer) < 40; i++ {
		if b := c.response[i]; b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_' {
			s.answer += string(rune(b))
		}
	}
	if s.answer != "" {
		s.sum = ""
		return
	}
	sum := uint64(14695981039346656037)
	if known, err := strconv.ParseUint(s.sum, 16, 64); err == nil {
		sum = known
	}
	for i := range len(data) {
		sum = (sum ^ uint64(data[i])) * 1099511628211
	}
	s.sum = strconv.FormatUint(sum, 16)
}

// callID is the id of the next call.
func (s *stream) callID() string {
	s.calls++
	id := s.answer
	if id == "" {
		id = s.sum
	}
	return "call_" + id + "_" + strconv.FormatInt(s.calls, 10)
}
