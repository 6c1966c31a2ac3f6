package main

import (
	"slices"
	"strings"
)

// deepest is how many lists and quotations are told one in another.
const deepest = 16

// level is a list's item or a quotation that is open.
type level struct {
	item   bool
	indent string // of every line
	marker string // in its place in the first one; "" when that is written
}

// writer lays text out: words with single spaces between them, lines with what they
// are indented by, and empty lines between blocks.
type writer struct {
	out    strings.Builder
	levels []level
	deeper int    // quotations beyond deepest
	lead   string // begins the next line, behind what it is indented by
	breaks int    // that come before the next word
	space  bool   // comes before the next word
	full   bool   // there is no more room
}

// line ends the line, and block leaves an empty one too, when something follows.
func (w *writer) line() {
	w.breaks = max(w.breaks, 1)
	w.space = false
}

func (w *writer) block() {
	w.space = false
	if n := len(w.levels); n == 0 || w.levels[n-1].marker == "" { // an item begins in its line
		w.breaks = 2
	}
}

func (w *writer) push(l level) {
	switch {
	case len(w.levels) < deepest:
		w.levels = append(w.levels, l)
	case !l.item:
		w.deeper++
	}
}

// unlist ends the item that is open innermost, if that is no quotation.
func (w *writer) unlist() {
	if n := len(w.levels); n > 0 && w.levels[n-1].item {
		w.levels = w.levels[:n-1]
	}
}

// unquote ends the innermost quotation, with the items in it.
func (w *writer) unquote() {
	if w.deeper > 0 {
		w.deeper--
		return
	}
	for n, level := range slices.Backward(w.levels) {
		if !level.item {
			w.levels = w.levels[:n]
			return
		}
	}
}

// words writes text whose white space means no more than a space.
func (w *writer) words(text string) {
	for text != "" {
		length := strings.IndexAny(text, " \t\r\n\f")
		if length == 0 {
			w.space = true
			text = strings.TrimLeft(text, " \t\r\n\f")
			continue
		}
		if length < 0 {
			length = len(text)
		}
		w.raw(text[:length])
		text = text[length:]
	}
}

// raw writes text as it is, behind what has to come before it.
func (w *writer) raw(text string) {
	if room := maxText - w.out.Len(); len(text) > room {
		text, w.full = clip(text, max(room, 0)), true
	}
	switch {
	case w.out.Len() == 0:
		w.indent()
	case w.breaks > 0:
		if w.breaks > 1 {
			w.out.WriteByte('\n')
			w.out.WriteString(strings.Repeat(">", w.quoted()))
		}
		w.out.WriteByte('\n')
		w.indent()
	case w.space:
		w.out.WriteByte(' ')
	}
	w.breaks, w.space = 0, false
	w.out.WriteString(text)
}

// quoted counts the quotations that all of the text is in.
func (w *writer) quoted() (count int) {
	for count < len(w.levels) && !w.levels[count].item && w.levels[count].indent != "" {
		count++
	}
	return count
}

func (w *writer) indent() {
	for i := range w.levels {
		l := &w.levels[i]
		if l.marker != "" {
			w.out.WriteString(l.marker)
			l.marker = ""
			continue
		}
		w.out.WriteString(l.indent)
	}
	w.out.WriteString(w.lead)
	w.lead = ""
}

// lines writes text line by line, as it is.
func (w *writer) lines(text string) {
	for line := range strings.Lines(text) {
		w.line()
		w.raw(strings.TrimRight(line, "\r\n"))
	}
	w.line()
}
