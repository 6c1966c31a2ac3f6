package mcp

import (
	"strings"
	"unicode"
)

// line makes one line of what a server says, of at most so many bytes.
func line(text string, most int) string {
	return cut(strings.Join(strings.Fields(clean(text)), " "), most)
}

// clean takes out what people do not see and models may obey: control characters, and
// those that only direct how others are shown.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// cut shortens a valid text to so many bytes, and shows that.
func cut(text string, most int) string {
	const mark = "…"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(mark)], "") + mark
}
