package main

import (
	"slices"
	"strconv"
	"strings"
)

// occurrence is where a text is found, in bytes, and what stands there instead.
type occurrence struct {
	start, end int
	new        string
}

// occurrences finds old in a text, in its order. The strings end their lines with line
// feeds and are sought with the text's own line endings: CRLF where it has any, and in
// a text that mixes them the other too, each replaced in kind. For a replacement of all
// they do not overlap; otherwise those that do are counted, too, because each could be
// meant.
func occurrences(text, old, replacement string, all bool) []occurrence {
	if !strings.Contains(text, "\r\n") {
		return literal(nil, text, old, replacement, all)
	}
	found := literal(nil, text, withCRLF(old), withCRLF(replacement), all)
	if !strings.Contains(old, "\n") || strings.Count(text, "\n") == strings.Count(text, "\r\n") {
		return found
	}
	found = literal(found, text, old, replacement, all)
	slices.SortStableFunc(found, func(a, b occurrence) int { return a.start - b.start })
	kept := found[:0]
	for _, one := range found {
		// A line feed in front of it may be the half of a CRLF that was found with it.
		if n := len(kept); n > 0 && one.start < kept[n-1].end && (all || one.end == kept[n-1].end) {
			continue
		}
		kept = append(kept, one)
	}
	return kept
}

func literal(found []occurrence, text, old, replacement string, all bool) []occurrence {
	step := 1
	if all {
		step = len(old)
	}
	for at := 0; ; {
		next := strings.Index(text[at:], old)
		if next < 0 {
			return found
		}
		start := at + next
		found = append(found, occurrence{start, start + len(old), replacement})
		if at = start + step; len(found) > maxReplacements {
			return found // too many, however many there are
		}
	}
}

func withCRLF(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// replaced is the new content, which has size bytes.
func replaced(mark, text string, found []occurrence, size int) []byte {
	content := append(make([]byte, 0, size), mark...)
	at := 0
	for _, one := range found {
		content = append(append(content, text[at:one.start]...), one.new...)
		at = one.end
	}
	return append(content, text[at:]...)
}

// maxNamed is how many lines an answer names.
const maxNamed = 10

// linesOf names the lines where occurrences begin: "line 3", "lines 3, 8 and 9".
func linesOf(text string, found []occurrence) string {
	var numbers []string
	at, line := 0, 1
	for _, one := range found[:min(len(found), maxNamed)] {
		line += strings.Count(text[at:one.start], "\n")
		at = one.start
		if number := itoa(line); len(numbers) == 0 || numbers[len(numbers)-1] != number {
			numbers = append(numbers, number)
		}
	}
	last := len(numbers) - 1
	switch {
	case len(found) > maxNamed:
		return "lines " + strings.Join(numbers, ", ") + " and further ones"
	case last == 0:
		return "line " + numbers[0]
	}
	return "lines " + strings.Join(numbers[:last], ", ") + " and " + numbers[last]
}

func itoa(n int) string { return strconv.Itoa(n) }
