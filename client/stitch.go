package client

import (
	"slices"

	"github.com/plinthhost/plinth/client/protocol"
)

// stitcher puts the fragments of streaming parts together. Its zero value is
// ready.
type stitcher struct {
	messages []*streaming // the oldest first
}

// maxStreaming is how many messages it keeps the parts of. One message streams at
// a time; a few more cover what ends late.
const maxStreaming = 4

type streaming struct {
	id    string
	parts map[partKey][]byte
}

type partKey struct {
	part string
	kind protocol.PartKind
}

// add takes one fragment and answers the part's whole text. It is not ok when
// bytes are missing before the fragment.
func (s *stitcher) add(frame *protocol.Delta) (text string, ok bool) {
	parts := s.message(frame.Message)
	key := partKey{frame.Part, frame.Kind}
	have := parts[key]
	if frame.T == "part" {
		have = nil
	}
	if len(have)+len(frame.Text) != frame.N {
		return "", false
	}
	have = append(have, frame.Text...)
	parts[key] = have
	return string(have), true
}

func (s *stitcher) message(id string) map[partKey][]byte {
	for _, m := range s.messages {
		if m.id == id {
			return m.parts
		}
	}
	if len(s.messages) == maxStreaming {
		s.messages = slices.Delete(s.messages, 0, 1)
	}
	m := &streaming{id: id, parts: map[partKey][]byte{}}
	s.messages = append(s.messages, m)
	return m.parts
}
