package main

import (
	"fmt"
	"strings"
)

// maxCompared is how many lines are compared in search of what is near, and maxQuoted
// how many characters of a line an answer quotes.
const (
	maxCompared = 1_000_000
	maxQuoted   = 120
)

// nearest says what there is where old_string is not.
func (in editInput) nearest(text string) string {
	if near := nearestLines(splitLines(text), splitLines(in.Old), "old_string"); near != "" {
		return near
	}
	if in.New != "" {
		if done := occurrences(text, in.New, "", true); len(done) > 0 {
			return fmt.Sprintf("new_string is in it, at %s: the edit may have been made before.", linesOf(text, done))
		}
	}
	return "Read the file and copy the lines as they are."
}

// nearestLines looks for lines that differ from the wanted ones in nothing but white
// space or typography, or else begin like them, and says what differs; "" when nothing
// is near. Name is what the wanted lines are called.
func nearestLines(lines, wanted []string, name string) string {
	first := 0
	for first < len(wanted) && blank(wanted[first]) {
		first++
	}
	if wanted = wanted[first:]; len(wanted) == 0 {
		return ""
	}
	best, length := 0, 0
	budget := maxCompared
	for i := range lines {
		run := 0
		for run < len(wanted) && i+run < len(lines) && budget > 0 && looselyEqual(lines[i+run], wanted[run]) {
			run++
			budget--
		}
		if budget--; budget <= 0 {
			break
		}
		if run > length {
			best, length = i, run
		}
	}
	switch {
	case length == len(wanted):
		return likeButFor(lines, wanted, best, name)
	case length > 0 && best+length < len(lines):
		return fmt.Sprintf("%s like it, but line %d is %s where %s has %s.",
			spanOf(best, length), best+length+1, quoted(lines[best+length]), name, quoted(wanted[length]))
	case length > 0:
		return fmt.Sprintf("%s like it, but then the file ends where %s goes on with %s.", spanOf(best, length), name, quoted(wanted[length]))
	case len(wanted) == 1:
		return nearestPart(lines, wanted[0], name)
	}
	return ""
}

// likeButFor shows the first line that differs from what is wanted.
func likeButFor(lines, wanted []string, at int, name string) string {
	for i := range wanted {
		if line := lines[at+i]; bare(line) != bare(wanted[i]) {
			return fmt.Sprintf("%s like it but for white space or typography: line %d is %s where %s has %s.",
				spanOf(at, len(wanted)), at+i+1, quoted(line), name, quoted(wanted[i]))
		}
	}
	return fmt.Sprintf("%s like it but for empty lines around them.", spanOf(at, len(wanted)))
}

// nearestPart looks for a line that has the wanted text in it but for white space.
func nearestPart(lines []string, wanted, name string) string {
	compact := strings.Join(strings.Fields(normalised(wanted)), " ")
	for i, line := range lines[:min(len(lines), maxCompared/10)] {
		if strings.Contains(strings.Join(strings.Fields(normalised(line)), " "), compact) {
			return fmt.Sprintf("Line %d has it but for white space or typography: it is %s where %s has %s.", i+1, quoted(line), name, quoted(wanted))
		}
	}
	return ""
}

// spanOf is "Line 4 is" or "Lines 4-6 are".
func spanOf(at, length int) string {
	if length == 1 {
		return fmt.Sprintf("Line %d is", at+1)
	}
	return fmt.Sprintf("Lines %d-%d are", at+1, at+length)
}

// quoted shows a line with its white space told apart.
func quoted(line string) string { return fmt.Sprintf("%q", clipped(bare(line), maxQuoted)) }

func blank(line string) bool { return strings.TrimSpace(line) == "" }

func looselyEqual(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	return a == b || (!ascii(a) || !ascii(b)) && normalised(a) == normalised(b)
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// normalised is a text without white space around it and with plain characters for
// typographic ones.
func normalised(text string) string {
	text = strings.TrimSpace(text)
	if ascii(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r >= 0x2010 && r <= 0x2015, r == 0x2212:
			b.WriteByte('-')
		case r >= 0x2018 && r <= 0x201b:
			b.WriteByte('\'')
		case r >= 0x201c && r <= 0x201f:
			b.WriteByte('"')
		case r == 0x2026:
			b.WriteString("...")
		case r == 0x00a0, r >= 0x2002 && r <= 0x200a, r == 0x202f, r == 0x205f, r == 0x3000:
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}
