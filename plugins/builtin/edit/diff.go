package main

import "strings"

// What a diff shows of each side.
const (
	maxShown = 6   // lines
	maxWidth = 240 // characters of a line
)

// comparison shows the lines that the first replacement changes, and counts those of
// all.
type comparison struct {
	diff                 string
	line                 int // the first one that changes, from 1
	additions, deletions int
}

func compared(text string, found []occurrence) (c comparison) {
	start := strings.LastIndexByte(text[:found[0].start], '\n') + 1
	for len(found) > 0 {
		var before, after string
		before, after, found = wholeLines(text, found)
		alike, gone, come := differing(splitLines(before), splitLines(after))
		if c.line == 0 {
			c.line = strings.Count(text[:start], "\n") + 1 + alike
			c.diff = strings.TrimSuffix(side('-', gone)+side('+', come), "\n")
		}
		c.additions += len(come)
		c.deletions += len(gone)
	}
	return c
}

// wholeLines answers the whole lines that the first occurrence touches, and what
// becomes of them, with all others that touch the same lines; rest are those after.
func wholeLines(text string, found []occurrence) (before, after string, rest []occurrence) {
	start := strings.LastIndexByte(text[:found[0].start], '\n') + 1
	var b strings.Builder
	at, end := start, start
	for len(found) > 0 && (at == start || found[0].start < end) {
		one := found[0]
		b.WriteString(text[at:one.start])
		b.WriteString(one.new)
		at, found = one.end, found[1:]
		end = at
		if wholeOld, wholeNew := text[at-1] == '\n', one.new == "" && one.start == start || strings.HasSuffix(one.new, "\n"); !wholeOld || !wholeNew {
			if next := strings.IndexByte(text[at:], '\n'); next >= 0 {
				end = at + next + 1
			} else {
				end = len(text)
			}
		}
	}
	b.WriteString(text[at:end])
	return text[start:end], b.String(), found
}

// differing leaves out what both begin and end with; alike is how many lines they
// begin with.
func differing(before, after []string) (alike int, gone, come []string) {
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
		alike++
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	return alike, before, after
}

// side shows the lines of one side.
func side(sign byte, lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		if i == maxShown {
			b.WriteByte(sign)
			b.WriteString(" ... (" + plural(len(lines)-maxShown, "more line") + ")\n")
			break
		}
		b.WriteByte(sign)
		b.WriteString(clipped(bare(line), maxWidth))
		b.WriteByte('\n')
	}
	return b.String()
}

// clipped cuts a line that has more than so many characters, and what is no UTF-8.
func clipped(line string, most int) string {
	count := 0
	for at := range line {
		if count == most {
			line = line[:at] + "..."
			break
		}
		count++
	}
	return strings.ToValidUTF8(line, "\ufffd")
}

// splitLines answers the lines of a text with their ends. A text that ends with one has
// no empty line behind it. Each line is a copy: TinyGo's collector walks from a pointer
// into a large block to its start, for every line of a large file anew.
func splitLines(text string) []string {
	lines := make([]string, 0, countLines(text))
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Clone(line))
	}
	return lines
}

// bare is a line without its end.
func bare(line string) string { return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") }
