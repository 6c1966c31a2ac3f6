package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// The ways in which a line may be like another, the strictest first.
const (
	exactly = iota
	butForEnds
	butForSpace
	butForTypography
	ways
)

func like(a, b string, way int) bool {
	switch way {
	case exactly:
		return a == b
	case butForEnds:
		return strings.TrimRight(a, " \t") == strings.TrimRight(b, " \t")
	case butForSpace:
		return strings.TrimSpace(a) == strings.TrimSpace(b)
	}
	return looselyEqual(a, b)
}

// text is a file as a patch changes it: lines with their ends, which the last one has,
// too.
type text struct {
	path  string
	lines []string
	eol   string // of lines that are put in
}

func newText(path, content string) text {
	t := text{path: path, lines: splitLines(content), eol: "\n"}
	if strings.Contains(content, "\r\n") {
		t.eol = "\r\n"
	}
	if last := len(t.lines) - 1; last >= 0 && !strings.HasSuffix(t.lines[last], "\n") {
		t.lines[last] += t.eol
	}
	return t
}

// effect is what chunks did: lines put in and taken out, and what the model should know.
type effect struct {
	additions, deletions int
	notes                []string
}

// apply changes the text by chunks, which are in its order. Lines that are kept stay as
// they are in the file, also where the patch has them with other white space.
func (t *text) apply(chunks []chunk) (effect, error) {
	var done effect
	var lines []string
	taken := 0 // lines of the file that are settled
	var tail []string
	for i, c := range chunks {
		c, place, err := t.place(c, taken, i+1)
		if err != nil {
			return effect{}, err
		}
		done.notes = append(done.notes, place.notes...)
		changed := t.changed(c, place.at, &done)
		if len(c.sought()) == 0 && len(c.after) == 0 {
			tail = append(tail, changed...)
			continue
		}
		lines = append(lines, t.lines[taken:place.at]...)
		lines = append(lines, changed...)
		taken = place.at + len(c.sought())
	}
	lines = append(lines, t.lines[taken:]...)
	t.lines = append(lines, tail...)
	return done, nil
}

// changed are the lines that stand at a place afterwards.
func (t *text) changed(c chunk, at int, done *effect) (lines []string) {
	for _, line := range c.lines {
		switch line.sign {
		case '+':
			lines = append(lines, line.text+t.eol)
			done.additions++
		case '-':
			at++
			done.deletions++
		default:
			lines = append(lines, t.lines[at])
			at++
		}
	}
	return lines
}

// place is where a chunk applies.
type place struct {
	at    int
	notes []string
}

// place finds a chunk behind the lines that are settled. The chunk comes back without
// an empty line at its end that the file does not have.
func (t *text) place(c chunk, from, number int) (chunk, place, error) {
	start := from
	for _, after := range c.after {
		at, _ := t.find([]string{after}, start, false)
		if at < 0 {
			return c, place{}, t.fail(number, "no line %s is %s", quoted(after), t.behind(start))
		}
		start = at + 1
	}
	sought := c.sought()
	if len(sought) == 0 {
		return c, place{at: start}, nil
	}
	at, way := t.find(sought, start, c.end)
	if at < 0 && sought[len(sought)-1] == "" && len(sought) > 1 {
		shorter := c.withoutLast()
		if at, way = t.find(shorter.sought(), start, c.end); at >= 0 {
			c, sought = shorter, shorter.sought()
		}
	}
	if at < 0 && start > from { // the line behind @@ may be repeated below it
		at, way = t.find(sought, start-1, c.end)
	}
	if at < 0 {
		return c, place{}, t.missing(c, from, number)
	}
	return c, place{at: at, notes: t.notes(c, at, way, number)}, nil
}

// notes says what was not exact about a place.
func (t *text) notes(c chunk, at, way, number int) (notes []string) {
	sought := c.sought()
	switch way {
	case exactly:
	case butForTypography:
		notes = append(notes, fmt.Sprintf("chunk %d of %s fits line %d but for white space or typography", number, t.path, at+1))
	default:
		notes = append(notes, fmt.Sprintf("chunk %d of %s fits line %d but for white space", number, t.path, at+1))
	}
	if len(c.after) == 0 && !c.end {
		if next := t.findLike(sought, at+1, way); next >= 0 {
			notes = append(notes, fmt.Sprintf("chunk %d of %s was applied at line %d, but fits line %d too", number, t.path, at+1, next+1))
		}
	}
	return notes
}

// find looks for lines from a line on, the strictest way first. At the end of the file
// first of all where atEnd is set.
func (t *text) find(sought []string, from int, atEnd bool) (at, way int) {
	if last := len(t.lines) - len(sought); atEnd && last >= from {
		for way := range ways {
			if t.fits(sought, last, way) {
				return last, way
			}
		}
	}
	for way := range ways {
		if at := t.findLike(sought, from, way); at >= 0 {
			return at, way
		}
	}
	return -1, 0
}

func (t *text) findLike(sought []string, from, way int) int {
	for at := from; at+len(sought) <= len(t.lines); at++ {
		if t.fits(sought, at, way) {
			return at
		}
	}
	return -1
}

func (t *text) fits(sought []string, at, way int) bool {
	for i, line := range sought {
		if !like(bare(t.lines[at+i]), line, way) {
			return false
		}
	}
	return true
}

// missing says why a chunk has no place.
func (t *text) missing(c chunk, from, number int) error {
	sought := c.sought()
	if at, _ := t.find(sought, 0, false); at >= 0 && at < from {
		return t.fail(number, "its lines are at line %d, before those of the chunk in front of it; chunks come in the order of the file", at+1)
	}
	if near := nearestLines(t.lines, sought, "the patch"); near != "" {
		return t.fail(number, "its lines are not %s. %s", t.behind(from), near)
	}
	return t.fail(number, "its lines are not %s, beginning with %s; read the file and take its lines as they are", t.behind(from), quoted(sought[0]))
}

// behind is "in the file", or the part of it that a chunk may be in.
func (t *text) behind(from int) string {
	if from == 0 {
		return "in the file"
	}
	return fmt.Sprintf("in the file behind line %d", from)
}

func (t *text) fail(number int, format string, args ...any) error {
	return plinth.Errorf(abi.KindInvalidInput, "chunk %d of %s: "+format, append([]any{number, t.path}, args...)...)
}

// withoutLast leaves out the last line that the chunk finds in the file.
func (c chunk) withoutLast() chunk {
	for i, line := range slices.Backward(c.lines) {
		if line.sign != '+' {
			lines := append([]patchLine(nil), c.lines[:i]...)
			c.lines = append(lines, c.lines[i+1:]...)
			break
		}
	}
	return c
}
