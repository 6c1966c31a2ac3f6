package shell

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// plain is a word that needs no quotes wherever it stands behind a program's name.
var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// text writes a command in its one spelling, which parses to the same words.
func text(words []word) string {
	var b strings.Builder
	for i, w := range words {
		switch {
		case i > 0:
			b.WriteByte(' ')
		case w.static && (strings.Contains(w.text, "=") || syntax.IsKeyword(w.text)):
			b.WriteString("'" + strings.ReplaceAll(w.text, "'", `'\''`) + "'")
			continue
		}
		if w.static {
			b.WriteString(quote(w.text))
		} else {
			b.WriteString(w.text)
		}
	}
	return b.String()
}

// quote writes a static word: plain, in single quotes, or with escapes where a
// person would not see what is there.
func quote(word string) string {
	switch {
	case plain.MatchString(word), word == "[", word == "]":
		return word
	case strings.ContainsFunc(word, hidden):
		return escape(word)
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }

func escape(word string) string {
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range word {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case hidden(r):
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString("'")
	return b.String()
}

// unescape reads what stands in $'…'. It knows the escapes that every shell reads
// alike in every locale; a text with others is not known.
func unescape(text string) (string, bool) {
	var b []byte
	for len(text) > 0 {
		if text[0] != '\\' {
			b = append(b, text[0])
			text = text[1:]
			continue
		}
		if len(text) == 1 {
			return "", false
		}
		simple := strings.IndexByte(`abefnrtv\'"?E`, text[1])
		if simple >= 0 {
			b = append(b, "\a\b\x1b\f\n\r\t\v\\'\"?\x1b"[simple])
			text = text[2:]
			continue
		}
		c, rest, ok := number(text[1:])
		if !ok {
			return "", false
		}
		b = append(b, c)
		text = rest
	}
	return string(b), utf8.Valid(b)
}

// number reads the digits of an escape: x and two hexadecimal, u and four that
// are ASCII, or three octal ones.
func number(text string) (c byte, rest string, ok bool) {
	base, width, most := 8, 3, uint64(255)
	switch text[0] {
	case 'x':
		base, width, text = 16, 2, text[1:]
	case 'u':
		base, width, most, text = 16, 4, 127, text[1:]
	}
	end := 0
	for end < len(text) && end < width && isDigit(text[end], base) {
		end++
	}
	value, err := strconv.ParseUint(text[:end], base, 16)
	if err != nil || value == 0 || value > most {
		return 0, "", false
	}
	return byte(value), text[end:], true
}

func isDigit(c byte, base int) bool {
	_, err := strconv.ParseUint(string(c), base, 8)
	return err == nil
}
