package main

import (
	"slices"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// stream is what has to be known of the events read so far. Between calls it is small
// JSON,
//
//	{"blocks":[1,"call","tooluse_1","",""],"reason":"tool_use","usage":{…},"said":true,"called":true}
//
// and {"over":true} at the end.
type stream struct {
	blocks []block    // those that are open
	reason string     // the stop reason, once it came
	usage  *abi.Usage // once it came
	said   bool       // there was a block
	called bool       // of a call
	over   bool       // finish or error was told
}

// block is an open content block.
type block struct {
	index  int64
	kind   string
	call   string
	signed wire.Signed // of reasoning, as far as it came
	told   bool        // reasoning that was begun
}

// Kinds of a block.
const (
	kindText      = "text"
	kindReasoning = "reasoning"
	kindCall      = "call"
)

func (s *stream) find(index int64) int {
	return slices.IndexFunc(s.blocks, func(b block) bool { return b.index == index })
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
				s.blocks = append(s.blocks, readBlock(&r))
			}
		case "reason":
			s.reason = r.String()
		case "usage":
			s.usage = wire.ReadUsage(&r)
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

// readBlock reads the five elements that a block has in the state.
func readBlock(r *jsonscan.Reader) block {
	b := block{index: r.Int(), told: true}
	for _, into := range [...]*string{&b.kind, &b.call, &b.signed.Signature, &b.signed.Redacted} {
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
	case !s.said && s.usage == nil && s.reason == "":
		return nil
	}
	state := append(make([]byte, 0, 128), '{')
	if len(s.blocks) > 0 {
		state = append(jsonscan.AppendField(state, "blocks"), '[')
		for _, b := range s.blocks {
			state = jsonscan.AppendInt(wire.Comma(state), b.index)
			for _, text := range [...]string{b.kind, b.call, b.signed.Signature, b.signed.Redacted} {
				state = jsonscan.AppendString(append(state, ','), text)
			}
		}
		state = append(state, ']')
	}
	state = jsonscan.AppendStringField(state, "reason", s.reason)
	if s.usage != nil {
		state = provider.AppendUsage(jsonscan.AppendField(state, "usage"), *s.usage)
	}
	if s.said {
		state = append(jsonscan.AppendField(state, "said"), "true"...)
	}
	if s.called {
		state = append(jsonscan.AppendField(state, "called"), "true"...)
	}
	return append(state, '}')
}
