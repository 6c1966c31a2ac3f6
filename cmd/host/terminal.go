package main

import (
	"fmt"
	"strings"
	"unicode"
)

// plain takes control characters out of text that a model, a tool or a file made,
// so that it cannot drive the terminal.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, text)
}

// plainLine is plain text on one line, its spaces as they are.
func plainLine(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(plain(text))
}

// oneLine is plain text on one line, cut to a length in characters.
func oneLine(text string, length int) string {
	runes := []rune(strings.Join(strings.Fields(plain(text)), " "))
	if len(runes) > length {
		return string(runes[:length-1]) + "…"
	}
	return string(runes)
}

// plural is how many there are of what the noun names, which takes an s.
func plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
