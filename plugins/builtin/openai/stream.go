package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// stream is what has to be known of the chunks read so far. Between calls it is
// small JSON: {"calls":[0,"call_1"],"reason":"stop","usage":{…}}, and
// {"over":true} at the end.
type stream struct {
	calls  []openCall
	reason string     // the provider's finish reason, once it came
	usage  *abi.Usage // the last that came
	over   bool       // finish or error was told
}

type openCall struct {
	index int64 // -1 where the server gives none
	id    string
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
		case "calls":
			for r.Array(); r.More(); {
				call := openCall{index: r.Int()}
				if !r.More() {
					break
				}
				call.id = r.String()
				s.calls = append(s.calls, call)
			}
		case "reason":
			s.reason = r.String()
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

// encode is the state for the next call; nothing at all before anything had to be
// kept.
func (s *stream) encode() []byte {
	switch {
	case s.over:
		return []byte(`{"over":true}`)
	case len(s.calls) == 0 && s.reason == "" && s.usage == nil:
		return nil
	}
	state := append(make([]byte, 0, 64), '{')
	if len(s.calls) > 0 {
		state = append(jsonscan.AppendField(state, "calls"), '[')
		for i, call := range s.calls {
			if i > 0 {
				state = append(state, ',')
			}
			state = jsonscan.AppendInt(state, call.index)
			state = jsonscan.AppendString(append(state, ','), call.id)
		}
		state = append(state, ']')
	}
	state = jsonscan.AppendStringField(state, "reason", s.reason)
	if s.usage != nil {
		state = provider.AppendUsage(jsonscan.AppendField(state, "usage"), *s.usage)
	}
	return append(state, '}')
}
