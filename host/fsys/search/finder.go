package search

import (
	"bytes"
	"context"
	"io"
	"unicode/utf8"
)

var lineBreak = []byte{'\n'}

// finder finds the lines that a pattern matches in text it is given whole.
type finder struct {
	pattern   *Pattern
	automaton *automaton // nil for a pattern that is a literal
}

// next answers the first matching line at or after from, where a line begins: its
// start, its end without the line break, and the match's place in it. start is -1
// when there is none.
func (f *finder) next(ctx context.Context, text []byte, from int) (start, end, column int, err error) {
	for from < len(text) {
		at := f.candidate(text, from)
		if at < 0 {
			break
		}
		start, end = lineStart(text, from, at), lineEnd(text, at)
		if f.pattern.exact {
			return start, end, at - start, nil
		}
		line := text[start:end]
		if f.pattern.literal == nil || f.automaton.find(line) >= 0 {
			column, err = f.match(ctx, line)
			if column >= 0 || err != nil {
				return start, end, column, err
			}
		}
		from = end + 1
	}
	return -1, 0, 0, nil
}

// candidate answers a place in, or the end of, the next line that may match.
func (f *finder) candidate(text []byte, from int) int {
	var at int
	if f.pattern.literal != nil {
		at = f.pattern.literal.index(text[from:])
	} else {
		at = f.automaton.find(text[from:])
	}
	if at < 0 {
		return -1
	}
	return from + at
}

// match answers where in a line the pattern matches, -1 when it does not.
func (f *finder) match(ctx context.Context, line []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return -1, context.Cause(ctx)
	}
	var place []int
	if len(line) < longLine {
		place = f.pattern.regexp.FindIndex(line)
	} else {
		place = f.pattern.regexp.FindReaderIndex(&runes{ctx: ctx, text: line})
		if ctx.Err() != nil {
			return -1, context.Cause(ctx)
		}
	}
	if place == nil {
		return -1, nil
	}
	return place[0], nil
}

// runes reads a line that takes long to search, and ends it when ctx is done.
type runes struct {
	ctx  context.Context
	text []byte
	read int
}

func (r *runes) ReadRune() (rune, int, error) {
	if r.read++; r.read%4096 == 0 && r.ctx.Err() != nil || len(r.text) == 0 {
		return 0, 0, io.EOF
	}
	c, width := utf8.DecodeRune(r.text)
	r.text = r.text[width:]
	return c, width, nil
}

// lineStart answers where the line that holds at begins, at or after from.
func lineStart(text []byte, from, at int) int {
	return from + bytes.LastIndexByte(text[from:at], '\n') + 1
}

// lineEnd answers where the line break of the line that holds at stands.
func lineEnd(text []byte, at int) int {
	if end := bytes.IndexByte(text[at:], '\n'); end >= 0 {
		return at + end
	}
	return len(text)
}
