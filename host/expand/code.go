package expand

import "strings"

// span is a part of a text in bytes, the end exclusive.
type span struct{ start, end int }

// codeSpans are the parts of a text that are code as Markdown has it: fenced blocks, to
// the end of the text when nothing closes them, and what stands between back quotes in one
// paragraph. It takes time in proportion to the text.
func codeSpans(text string) []span {
	var spans []span
	paragraph := 0
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		line := text[at:end]
		mark := fence(line)
		if mark != "" || strings.TrimSpace(line) == "" {
			spans = append(spans, inlineCode(text, paragraph, at)...)
			paragraph = end + 1
		}
		if mark != "" {
			closed := fenceEnd(text, end, mark)
			spans = append(spans, span{at, closed})
			end, paragraph = closed, closed
		}
		at = end + 1
	}
	return append(spans, inlineCode(text, min(paragraph, len(text)), len(text))...)
}

func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}

// fence answers the mark with which a line opens or closes a block, "" for other lines.
func fence(line string) string {
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 {
		return ""
	}
	for _, mark := range []string{"`", "~"} {
		n := len(rest) - len(strings.TrimLeft(rest, mark))
		if n >= 3 && (mark == "~" || !strings.Contains(rest[n:], "`")) {
			return rest[:n]
		}
	}
	return ""
}

// fenceEnd is the end of the block that a line opened, which ends at lineEnd.
func fenceEnd(text string, end int, mark string) int {
	for end < len(text) {
		start := end + 1
		end = lineEnd(text, start)
		closing := fence(text[start:end])
		if strings.HasPrefix(closing, mark) && strings.TrimSpace(text[start:end]) == closing {
			return end
		}
	}
	return len(text)
}

// ticks is a run of back quotes.
type ticks struct{ at, n int }

// inlineCode finds what stands between back quotes in a paragraph: behind a run of them
// and before the next one of the same length.
func inlineCode(text string, start, end int) []span {
	var runs []ticks
	for at := start; at < end; {
		n := strings.IndexByte(text[at:end], '`')
		if n < 0 {
			break
		}
		at += n
		length := 0
		for at+length < end && text[at+length] == '`' {
			length++
		}
		runs = append(runs, ticks{at, length})
		at += length
	}
	next := make([]int, len(runs)) // the next run of the same length; 0 for none
	last := map[int]int{}
	for i := len(runs) - 1; i >= 0; i-- {
		next[i] = last[runs[i].n]
		last[runs[i].n] = i
	}
	var spans []span
	for i := 0; i < len(runs); i++ {
		opening := runs[i]
		if next[i] == 0 || opening.at > 0 && text[opening.at-1] == '\\' {
			continue
		}
		i = next[i]
		spans = append(spans, span{opening.at, runs[i].at + runs[i].n})
	}
	return spans
}
