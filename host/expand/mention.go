package expand

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mention is one @ in a text with what it names.
type mention struct {
	span
	text   string // as it stands in the text, with the @
	name   string // without quotes and lines
	quoted bool
	// lines are what is wanted of a file; the zero value is all of it.
	lines lines
}

// lines are a range of lines, from 1, both ends included.
type lines struct{ from, to int }

func (l lines) all() bool { return l == lines{} }

// suffix is the range as it is written behind a name.
func (l lines) suffix() string {
	switch {
	case l.all():
		return ""
	case l.from == l.to:
		return "#L" + strconv.Itoa(l.from)
	}
	return "#L" + strconv.Itoa(l.from) + "-" + strconv.Itoa(l.to)
}

// maxMention is the longest name, in bytes; what is longer is text. maxRange is the longest
// range of lines, with the punctuation behind it.
const (
	maxMention = 4096
	maxRange   = 32
)

// lineRange is #L10, #L10-40 or #L10-L40 behind a name.
var lineRange = regexp.MustCompile(`#L([0-9]{1,9})(?:-L?([0-9]{1,9}))?$`)

// Mentions reports whether a text mentions anything.
func Mentions(text string) bool { return len(findMentions(text, 1)) > 0 }

// findMentions answers what a text mentions, in its order and at most so many. An @ mentions something when it
// stands at the beginning of a word and not in code; \@ never does.
func findMentions(text string, most int) []mention {
	var found []mention
	code := codeSpans(text)
	for at := 0; len(found) < most; {
		n := strings.IndexByte(text[at:], '@')
		if n < 0 {
			return found
		}
		at += n
		for len(code) > 0 && code[0].end <= at {
			code = code[1:]
		}
		if len(code) > 0 && code[0].start <= at {
			at = code[0].end
			continue
		}
		m, next := mentionAt(text, at)
		if m.name != "" {
			found = append(found, m)
		}
		at = next
	}
	return found
}

// mentionAt reads the mention that begins with the @ at a place, without a name when there
// is none, and answers where to go on.
func mentionAt(text string, at int) (m mention, next int) {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	if at > 0 && !begins(before) {
		return m, at + 1
	}
	rest := text[at+1:]
	if strings.HasPrefix(rest, `"`) {
		return quotedMention(text, at)
	}
	first, _ := utf8.DecodeRuneInString(rest)
	if !unicode.IsLetter(first) && !unicode.IsDigit(first) && !strings.ContainsRune("_./~", first) {
		return m, at + 1
	}
	end := nameEnd(rest)
	if end > maxMention {
		return m, at + 1 + end
	}
	name := trimmed(rest[:end])
	if strings.Trim(name, ".") == "" {
		return m, at + 1
	}
	m = newMention(text, at, at+1+len(name), name)
	return m, m.end
}

// nameEnd is where a name without quotes ends: also before the next of a list.
func nameEnd(text string) int {
	for at, r := range text {
		if ends(r) || strings.HasPrefix(text[at:], ",@") {
			return at
		}
	}
	return len(text)
}

// quotedMention reads @"name", which ends in its line.
func quotedMention(text string, at int) (m mention, next int) {
	rest := text[at+2 : min(len(text), at+2+maxMention+1)]
	end := strings.IndexAny(rest, "\"\n")
	if end < 1 || rest[end] != '"' {
		return m, at + 2
	}
	name, tail := rest[:end], text[at+2+end+1:]
	tail = tail[:min(len(tail), maxRange)]
	if stop := strings.IndexFunc(tail, ends); stop >= 0 {
		tail = tail[:stop]
	}
	stop := at + 2 + end + 1
	if tail = trimmed(tail); lineRange.FindString(tail) == tail {
		stop += len(tail)
		name += tail
	}
	m = newMention(text, at, stop, name)
	m.quoted = true
	return m, m.end
}

func newMention(text string, start, end int, name string) mention {
	m := mention{span: span{start, end}, text: text[start:end], name: name}
	if found := lineRange.FindStringSubmatchIndex(name); found != nil && found[0] > 0 {
		m.name = name[:found[0]]
		m.lines.from, _ = strconv.Atoi(name[found[2]:found[3]]) // digits, few
		m.lines.to = m.lines.from
		if found[4] >= 0 {
			m.lines.to, _ = strconv.Atoi(name[found[4]:found[5]])
		}
		if m.lines.all() { // #L0, which is no line
			m.lines.to = -1
		}
	}
	return m
}

// begins reports what an @ may stand behind to be the beginning of a word.
func begins(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("([{<>\"'*,;:|", r) || unicode.In(r, unicode.Ps, unicode.Pi) || r >= 0x3000 && unicode.IsPunct(r)
}

// ends reports what no name without quotes has.
func ends(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"`<>|", r) || r == utf8.RuneError
}

// pairs are the brackets that a name may have, closing to opening.
var pairs = map[byte]string{')': "(", ']': "[", '}': "{"}

// trimmed is a name without the punctuation of the sentence it stands in.
func trimmed(name string) string {
	for name != "" {
		last, size := utf8.DecodeLastRuneInString(name)
		opening, bracket := pairs[name[len(name)-1]]
		switch {
		case bracket && strings.Count(name, opening) >= strings.Count(name, name[len(name)-1:]):
			return name
		case bracket, strings.ContainsRune(".,;:!?'*~", last), last > unicode.MaxASCII && unicode.IsPunct(last):
			name = name[:len(name)-size]
		default:
			return name
		}
	}
	return name
}
