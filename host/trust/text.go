package trust

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is shown of a manifest.
const (
	MaxText    = 300 // bytes of one text
	MaxEntries = 100 // of a Change
)

// clean makes a stranger's text one line that shows all it has: what does not print,
// turns the direction of writing or ends a line becomes a space. Long texts are cut.
func clean(text string) string {
	text = clip(strings.ToValidUTF8(text, "\uFFFD"), 4*MaxText) // the rest is cut anyway
	text = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text)
	return clip(strings.Join(strings.Fields(text), " "), MaxText)
}

// clip cuts a text to most bytes, at a character, and says so.
func clip(text string, most int) string {
	const more = "…"
	if len(text) <= most {
		return text
	}
	end := most - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// window is a and b, both cleaned, from shortly before where they part.
func window(a, b string) (string, string) {
	const before = 40
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	if max(len(a), len(b)) <= MaxText || same <= before {
		return clean(a), clean(b)
	}
	from := same - before
	return clean("…" + a[from:]), clean("…" + b[from:])
}
