package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// stream is what has to be known of the events read so far. Between calls it is small
// JSON: {"called":true,"open":[[0,"fc_1","call_1",12,81923]]}, and {"over":true} at
// the end.
type stream struct {
	open   []openItem
	called bool // a tool of ours was called
	over   bool // finish or error was told
}

// openItem is an item that is not done.
type openItem struct {
	index int64  // output_index; -1 where the server gives none
	item  string // the item's id, as it was first told
	part  string // the part or call that is open; empty for none yet
	size  int64  // bytes of it that were told
	sum   int64  // of the bytes of a call's arguments
}

// find answers the item that an event is about, or nil. Places are looked at before
// ids: there are servers that give every event of an item another id.
func (s *stream) find(index int64, id string) *openItem {
	for at := range s.open {
		one := &s.open[at]
		if index >= 0 && one.index == index || index < 0 && one.item == id {
			return one
		}
	}
	return nil
}

// take answers the item that an event is about, which is open from here on.
func (s *stream) take(index int64, id string) *openItem {
	if one := s.find(index, id); one != nil {
		return one
	}
	s.open = append(s.open, openItem{index: index, item: id, sum: noSum})
	return &s.open[len(s.open)-1]
}

// drop forgets an item that is done.
func (s *stream) drop(done *openItem) {
	for at := range s.open {
		if &s.open[at] == done {
			s.open = append(s.open[:at], s.open[at+1:]...)
			return
		}
	}
}

// noSum is the sum of nothing.
const noSum = 2166136261

// sumOf goes on with a sum (FNV-1a, 32 bits) over a text.
func sumOf(sum int64, text string) int64 {
	hash := uint32(sum)
	for i := range len(text) {
		hash = (hash ^ uint32(text[i])) * 16777619
	}
	return int64(hash)
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
		case "open":
			for r.Array(); r.More(); {
				s.open = append(s.open, readOpenItem(&r))
			}
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

func readOpenItem(r *jsonscan.Reader) (one openItem) {
	at := 0
	for r.Array(); r.More(); at++ {
		switch at {
		case 0:
			one.index = r.Int()
		case 1:
			one.item = r.String()
		case 2:
			one.part = r.String()
		case 3:
			one.size = r.Int()
		case 4:
			one.sum = r.Int()
		default:
			r.Skip()
		}
	}
	return one
}

// encode is the state for the next call; nothing at all before anything had to be
// kept.
func (s *stream) encode() []byte {
	switch {
	case s.over:
		return []byte(`{"over":true}`)
	case len(s.open) == 0 && !s.called:
		return nil
	}
	state := append(make([]byte, 0, 64), '{')
	if s.called {
		state = append(state, `"called":true`...)
	}
	if len(s.open) > 0 {
		state = append(jsonscan.AppendField(state, "open"), '[')
		for i, one := range s.open {
			if i > 0 {
				state = append(state, ',')
			}
			state = jsonscan.AppendInt(append(state, '['), one.index)
			state = jsonscan.AppendString(append(state, ','), one.item)
			state = jsonscan.AppendString(append(state, ','), one.part)
			state = jsonscan.AppendInt(append(state, ','), one.size)
			state = append(jsonscan.AppendInt(append(state, ','), one.sum), ']')
		}
		state = append(state, ']')
	}
	return append(state, '}')
}
