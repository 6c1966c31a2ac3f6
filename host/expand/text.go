package expand

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clip is at most n bytes of a text, whole characters.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// readable is a text in one line as a person sees it: what is not seen, or turns the order
// round, is a replacement character.
func readable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}
