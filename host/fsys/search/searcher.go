package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"unicode/utf8"
)

const (
	// MaxLine is the longest line searched as one, in bytes. What is longer is
	// searched in parts, with the same line number.
	MaxLine = 1 << 20
	// firstBuffer is how much is read at first, and looked at for a NUL.
	firstBuffer = 64 << 10
	// longLine is the length from which a search in a line can be cancelled.
	longLine = 32 << 10
)

// Limits bound what one search answers.
type Limits struct {
	Matches int // matching lines
	Context int // lines before and after each
	Width   int // bytes of a line's text
	Bytes   int // of all texts together
}

// Line is a line of the result.
type Line struct {
	Number int // from 1
	Column int // of the match's first byte, from 1; 0 for a line of context
	// Text is the line without its end, bytes that are no UTF-8 replaced. Of a line
	// wider than the limit it is a part that holds where the match begins.
	Text   string
	Offset int  // where Text begins in the line, in bytes
	Cut    bool // Text is a part of the line
}

// Found is what a search answers.
type Found struct {
	Lines   []Line
	Matches int  // lines that are no context
	Bytes   int  // of all texts together
	Binary  bool // there is a NUL in its first 64 KiB; it was not searched
	More    bool // a limit left something out
}

// Searcher looks for one pattern in one text after the other. It is for one
// goroutine.
type Searcher struct {
	pattern *Pattern
	limits  Limits
	finder  finder

	buffer  []byte
	filled  int
	from    int // where the search goes on; a line begins there
	emitted int // what lies before is in the result already
	counted int // a place whose line number is known
	line    int // that number
	after   int // lines of context still to come
	found   Found
}

// NewSearcher makes a searcher.
func (p *Pattern) NewSearcher(limits Limits) *Searcher {
	s := &Searcher{pattern: p, limits: limits, buffer: make([]byte, firstBuffer), finder: finder{pattern: p}}
	if p.program != nil {
		s.finder.automaton = newAutomaton(p.program)
	}
	return s
}

// Search reads a text to its end, or to where a limit is reached. Errors are those
// of the reader or the cause that ctx was cancelled for.
func (s *Searcher) Search(ctx context.Context, text io.Reader) (Found, error) {
	s.filled, s.from, s.emitted, s.counted, s.line, s.after = 0, 0, 0, 0, 1, 0
	s.found = Found{}
	for first := true; ; {
		end, err := s.fill(text)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return Found{}, err
		}
		if first && bytes.IndexByte(s.buffer[:min(s.filled, firstBuffer)], 0) >= 0 {
			return Found{Binary: true}, nil
		}
		first = false
		if end < 0 {
			s.buffer = append(s.buffer, make([]byte, len(s.buffer))...)
			continue
		}
		if failed := s.scan(ctx, s.buffer[:end]); failed != nil {
			return Found{}, failed
		}
		if s.found.More || ended {
			return s.found, nil
		}
		s.shift(end)
	}
}

// fill reads until the buffer is full or the text at its end, and answers where
// the last whole line ends; -1 when the buffer must grow to hold one.
func (s *Searcher) fill(text io.Reader) (end int, err error) {
	for s.filled < len(s.buffer) && err == nil {
		var n int
		n, err = text.Read(s.buffer[s.filled:])
		s.filled += n
	}
	if err != nil {
		return s.filled, err
	}
	if last := bytes.LastIndexByte(s.buffer[s.from:s.filled], '\n'); last >= 0 {
		return s.from + last + 1, nil
	}
	if s.filled-s.from < MaxLine {
		return -1, nil
	}
	return s.from + runeEnd(s.buffer[s.from:s.filled], MaxLine), nil
}

// scan searches whole lines, from s.from to the end of text or to the first match
// beyond a limit.
func (s *Searcher) scan(ctx context.Context, text []byte) error {
	for {
		start, end, column, err := s.finder.next(ctx, text, s.from)
		if err != nil {
			return err
		}
		if start < 0 {
			s.context(text, len(text))
			s.from = len(text)
			return nil
		}
		s.context(text, start)
		if s.found.Matches == s.limits.Matches || s.found.Bytes >= s.limits.Bytes {
			s.found.More = true
			return nil
		}
		for _, before := range s.before(text, start) {
			s.emit(text, before, 0)
		}
		s.emit(text, start, column+1)
		s.found.Matches++
		s.after = s.limits.Context
		s.from = min(end+1, len(text))
	}
}

// context emits the lines that are still due after the last match, up to limit.
func (s *Searcher) context(text []byte, limit int) {
	for s.after > 0 && s.emitted < limit {
		s.emit(text, s.emitted, 0)
		s.after--
	}
}

// before answers where the lines of context before a match begin.
func (s *Searcher) before(text []byte, start int) []int {
	var starts []int
	for at := start; len(starts) < s.limits.Context && at > s.emitted; {
		at = lineStart(text, s.emitted, at-1)
		starts = append(starts, at)
	}
	slices.Reverse(starts)
	return starts
}

// emit adds the line that begins at start to the result.
func (s *Searcher) emit(text []byte, start, column int) {
	end := lineEnd(text, start)
	s.line += bytes.Count(text[s.counted:start], lineBreak)
	s.counted, s.emitted = start, min(end+1, len(text))
	line := Line{Number: s.line, Column: column}
	line.show(bytes.TrimSuffix(text[start:end], []byte("\r")), s.limits.Width)
	s.found.Bytes += len(line.Text)
	s.found.Lines = append(s.found.Lines, line)
}

// show takes the text of a line, or a part of it that holds the match's beginning.
func (l *Line) show(text []byte, width int) {
	if len(text) > width {
		l.Cut = true
		if at := l.Column - 1; at > width*3/4 {
			l.Offset = runeEnd(text, min(at-width/4, len(text)-width))
		}
		text = text[l.Offset:]
		text = text[:runeEnd(text, width)]
	}
	l.Text = string(bytes.ToValidUTF8(text, []byte("\uFFFD")))
}

// shift makes room for more text and keeps what may become context.
func (s *Searcher) shift(end int) {
	keep := end
	for range s.limits.Context {
		if keep <= s.emitted || end-keep > firstBuffer/2 {
			break
		}
		keep = lineStart(s.buffer, s.emitted, keep-1)
	}
	s.line += bytes.Count(s.buffer[s.counted:keep], lineBreak)
	s.counted = 0
	s.filled = copy(s.buffer, s.buffer[keep:s.filled])
	s.from, s.emitted = end-keep, max(s.emitted-keep, 0)
}

// runeEnd answers the largest place in text, at most at, where no rune is cut. A
// run of bytes that is no UTF-8 is cut where it stands.
func runeEnd(text []byte, at int) int {
	if at >= len(text) {
		return len(text)
	}
	for back := range utf8.UTFMax {
		if at-back >= 0 && utf8.RuneStart(text[at-back]) {
			return at - back
		}
	}
	return at
}
