package main

import "strings"

// matcher finds one kind of secret.
type matcher struct {
	kind    string
	bounded bool // it does not begin inside of a word
	// at answers where in a text that begins like the matcher the secret lies; an end of
	// 0 is none.
	at func(text string) (start, end int)
}

// search finds all kinds in one pass: by the first two bytes, matchers are rarely asked.
type search struct {
	quick [256]quick
	next  [256]*class // the second bytes of matchers, by the first
	first [256][]matcher
}

// quick says whether any matcher begins with a byte, and whether inside of a word too.
type quick uint8

const (
	nowhere quick = iota
	atBoundaries
	everywhere
)

// add takes in a matcher of texts that begin so, with two bytes at least.
func (s *search) add(begins string, m matcher) {
	c := begins[0]
	s.first[c] = append(s.first[c], m)
	if s.next[c] == nil {
		s.next[c] = new(class)
	}
	s.next[c][begins[1]] = true
	how := everywhere
	if m.bounded {
		how = atBoundaries
	}
	s.quick[c] = max(s.quick[c], how)
}

// redact answers text with its secrets replaced, and whether there are any.
func (s *search) redact(text string) (redacted string, found bool) {
	var out strings.Builder
	done := 0
	for i := 0; i+1 < len(text); i++ {
		how := s.quick[text[i]]
		if how == nowhere || !s.next[text[i]].has(text[i+1]) {
			continue
		}
		inside := i > 0 && inWord(text, i-1)
		if inside && how == atBoundaries {
			continue
		}
		start, end, kind := s.match(text[i:], inside)
		if end == 0 {
			continue
		}
		if done == 0 {
			out.Grow(len(text) + 64)
		}
		out.WriteString(text[done : i+start])
		out.WriteString("[redacted: " + kind + "]")
		done = i + end
		i = done - 1
	}
	if done == 0 {
		return text, false
	}
	out.WriteString(text[done:])
	return out.String(), true
}

func (s *search) match(text string, inside bool) (start, end int, kind string) {
	for _, m := range s.first[text[0]] {
		if m.bounded && inside {
			continue
		}
		if start, end := m.at(text); end > 0 {
			return start, end, m.kind
		}
	}
	return 0, 0, ""
}

// inWord reports whether the byte at i belongs to a word. The letter of an escape like
// \n, as JSON in a text has them, does not.
func inWord(text string, i int) bool {
	c := text[i]
	if !letters.has(c) && c != '_' {
		return false
	}
	escape := i > 0 && text[i-1] == '\\' && (c == 'n' || c == 'r' || c == 't')
	return !escape
}
