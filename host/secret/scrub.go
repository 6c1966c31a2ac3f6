package secret

import (
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// MinScrub is the shortest value that is looked for, in bytes.
	MinScrub = 8
	// maxValues bounds the values remembered; the one added longest ago goes first.
	maxValues = 256
)

// Scrubber removes the secrets it was told from texts: as they are, URL-encoded,
// in hexadecimal, in base64 (also inside a longer encoded text) and escaped for
// JSON. Where secrets overlap, all of them go. The start of a secret that the end
// of a text cuts off goes too, if it has MinScrub bytes. Not found are other
// encodings, one encoding inside another, and base64 broken into lines.
//
// The zero Scrubber knows no secret. It is safe for use by several goroutines and
// must not be copied.
type Scrubber struct {
	mu      sync.Mutex
	values  []string // oldest first
	matcher atomic.Pointer[matcher]
}

// Add tells the scrubber a secret and reports whether it will look for it: values
// of less than MinScrub bytes are left alone.
func (s *Scrubber) Add(value Value) bool {
	text := value.Reveal()
	if len(text) < MinScrub {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.values, text); at >= 0 {
		s.values = append(slices.Delete(s.values, at, at+1), text)
		return true
	}
	s.values = append(s.values, text)
	if len(s.values) > maxValues {
		s.values = slices.Delete(s.values, 0, 1)
	}
	s.matcher.Store(newMatcher(s.values))
	return true
}

// Scrub answers text with "[secret]" for every secret in it.
func (s *Scrubber) Scrub(text string) string {
	matcher := s.matcher.Load()
	if matcher == nil {
		return text
	}
	if at, _, _ := find(matcher, text, 0, true); at == len(text) {
		return text
	}
	var c cutter
	return string(c.cut(nil, []byte(text), matcher, true))
}

// ScrubBytes is Scrub for bytes. It answers text itself when there is no secret in
// it and does not change it.
func (s *Scrubber) ScrubBytes(text []byte) []byte {
	matcher := s.matcher.Load()
	if matcher == nil {
		return text
	}
	if at, _, _ := find(matcher, text, 0, true); at == len(text) {
		return text
	}
	var c cutter
	return c.cut(nil, text, matcher, true)
}
