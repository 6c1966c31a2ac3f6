package main

import (
	"slices"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// stream is what has to be known of the events read so far. Between calls it is small
// JSON,
//
//	{"blocks":[1,"call","toolu_1",""],"hosted":["srvtoolu_1"],"usage":[12,0,0,1],"reason":"end_turn","said":true,"called":true}
//
// and {"over":true} at the end.
type stream struct {
	blocks []block  // those that are open
	hosted []string // calls of Anthropic's tools without a result
	usage  counts
	reason string // the stop reason, once it came
	said   bool   // a block was started
	called bool   // a tool of ours was called
	over   bool   // finish or error was told
}

// block is an open content block.
type block struct {
	index     int64
	kind      string
	call      string
	signature string // of reasoning, as far as it came
}

// Kinds of a block.
const (
	kindText      = "text" // nothing of it was told
	kindSaid      = "said" // text that was begun
	kindReasoning = "reasoning"
	kindCall      = "call"
	kindOther     = "other"
)

func (s *stream) find(index int64) int {
	return slices.IndexFunc(s.blocks, func(b block) bool { return b.index == index })
}

// count merges a usage, as the protocol has it: what a later one has counts.
func (s *stream) count(usage []byte) {
	if len(usage) > 0 {
		r := jsonscan.NewReader(usage)
		s.usage.read(&r)
	}
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
		case "blocks":
			for r.Array(); r.More(); {
				s.blocks = append(s.blocks, readOpen(&r))
			}
		case "hosted":
			for r.Array(); r.More(); {
				s.hosted = append(s.hosted, r.String())
			}
		case "usage":
			s.usage.known = true
			numbers := [...]*int64{&s.usage.input, &s.usage.cacheRead, &s.usage.cacheWrite, &s.usage.output}
			at := 0
			for r.Array(); r.More(); at++ {
				if number := r.Int(); at < len(numbers) {
					*numbers[at] = number
				}
			}
		case "reason":
			s.reason = r.String()
		case "said":
			s.said = r.Bool()
		case "called":
			s.called = r.Bool()
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

// readOpen reads the four elements that a block has in the state.
func readOpen(r *jsonscan.Reader) (b block) {
	b.index = r.Int()
	for _, into := range [...]*string{&b.kind, &b.call, &b.signature} {
		if !r.More() {
			return b
		}
		*into = r.String()
	}
	return b
}

// encode is the state for the next call; nothing at all before anything had to be kept.
func (s *stream) encode() []byte {
	switch {
	case s.over:
		return []byte(`{"over":true}`)
	case !s.said && !s.usage.known && s.reason == "":
		return nil
	}
	state := append(make([]byte, 0, 128), '{')
	if len(s.blocks) > 0 {
		state = append(jsonscan.AppendField(state, "blocks"), '[')
		for _, b := range s.blocks {
			state = jsonscan.AppendInt(wire.Comma(state), b.index)
			for _, text := range [...]string{b.kind, b.call, b.signature} {
				state = jsonscan.AppendString(append(state, ','), text)
			}
		}
		state = append(state, ']')
	}
	if len(s.hosted) > 0 {
		state = append(jsonscan.AppendField(state, "hosted"), '[')
		for _, call := range s.hosted {
			state = jsonscan.AppendString(wire.Comma(state), call)
		}
		state = append(state, ']')
	}
	if s.usage.known {
		state = append(jsonscan.AppendField(state, "usage"), '[')
		for _, number := range [...]int64{s.usage.input, s.usage.cacheRead, s.usage.cacheWrite, s.usage.output} {
			state = jsonscan.AppendInt(wire.Comma(state), number)
		}
		state = append(state, ']')
	}
	state = jsonscan.AppendStringField(state, "reason", s.reason)
	if s.said {
		state = append(jsonscan.AppendField(state, "said"), "true"...)
	}
	if s.called {
		state = append(jsonscan.AppendField(state, "called"), "true"...)
	}
	return append(state, '}')
}
