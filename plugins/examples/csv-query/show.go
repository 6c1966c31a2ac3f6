package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// text is the answer as the model reads it: a table, and what was left out.
func (a answer) text() string {
	var b strings.Builder
	line := func(cells []string) {
		for i, cell := range cells {
			if i > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(clip(cell))
		}
		b.WriteByte('\n')
	}
	line(a.Columns)
	for _, row := range a.Rows {
		line(row)
	}
	switch {
	case a.Groups > 0 && a.More:
		fmt.Fprintf(&b, "(%d of %s, made of %s; raise limit, or narrow by where)", len(a.Rows), counted(a.Groups, "group"), counted(a.Matched, "row"))
	case a.Groups > 0:
		fmt.Fprintf(&b, "(%s, made of %s)", counted(a.Groups, "group"), counted(a.Matched, "row"))
	case a.More:
		fmt.Fprintf(&b, "(%d of %s; raise limit, or narrow by where)", len(a.Rows), counted(a.Matched, "row"))
	default:
		fmt.Fprintf(&b, "(%s)", counted(a.Matched, "row"))
	}
	return b.String()
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// maxCell is how much of a cell is shown, in bytes.
const maxCell = 200

// clip is a cell in one line.
func clip(cell string) string {
	cell = strings.Join(strings.FieldsFunc(cell, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	if len(cell) <= maxCell {
		return cell
	}
	end := maxCell
	for !utf8.RuneStart(cell[end]) {
		end--
	}
	return cell[:end] + "…"
}
