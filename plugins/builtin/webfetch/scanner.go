package main

import "strings"

// kind is what a token is.
type kind byte

const (
	words kind = iota
	start
	end
)

// token is a piece of a page. Name is in small letters, "" for text; body is the text
// with its entities, or the attributes of a start as they are written.
type token struct {
	kind kind
	name string
	body string
}

// scanner cuts a page into tokens, in one pass, whatever it looks like. What begins
// and does not end, like a comment, goes to the end of the page.
type scanner struct {
	page string
	at   int
	raw  string // the element whose content is text
}

// next answers false at the end.
func (s *scanner) next() (token, bool) {
	for s.at < len(s.page) {
		rest := s.page[s.at:]
		if s.raw != "" {
			content := rest[:closing(rest, s.raw)]
			s.at += len(content)
			s.raw = ""
			if content != "" {
				return token{body: content}, true
			}
			continue
		}
		if rest[0] != '<' || len(rest) == 1 {
			return s.text(rest), true
		}
		switch second := rest[1]; {
		case strings.HasPrefix(rest, "<!--"):
			s.skip(rest, "-->", 4)
		case second == '!' || second == '?':
			s.skip(rest, ">", 2)
		case second == '/' && len(rest) > 2 && letter(rest[2]):
			name := tagName(rest[2:])
			s.skip(rest, ">", 2)
			return token{kind: end, name: strings.ToLower(name)}, true
		case letter(second):
			if found, ok := s.start(rest); ok {
				return found, true
			}
		default: // a bare <
			return s.text(rest), true
		}
	}
	return token{}, false
}

// text is what stands before the next mark; the first character is none.
func (s *scanner) text(rest string) token {
	length := len(rest)
	if i := strings.IndexByte(rest[1:], '<'); i >= 0 {
		length = 1 + i
	}
	s.at += length
	return token{body: rest[:length]}
}

// skip goes behind a mark, which is looked for from a place in rest.
func (s *scanner) skip(rest, mark string, from int) {
	if i := strings.Index(rest[from:], mark); i >= 0 {
		s.at += from + i + len(mark)
		return
	}
	s.at = len(s.page)
}

func (s *scanner) start(rest string) (token, bool) {
	name := tagName(rest[1:])
	from := 1 + len(name)
	var quote byte
	for i := from; i < len(rest); i++ {
		switch c := rest[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && strings.HasSuffix(strings.TrimRight(rest[from:i], " \t\n\r"), "="):
			quote = c
		case c == '>':
			s.at += i + 1
			found := token{kind: start, name: strings.ToLower(name), body: rest[from:i]}
			if rawText[found.name] {
				s.raw = found.name
			}
			return found, true
		}
	}
	s.at = len(s.page)
	return token{}, false
}

// rawText are the elements whose content has no elements.
var rawText = map[string]bool{"script": true, "style": true, "title": true, "textarea": true, "iframe": true, "noembed": true, "noframes": true, "xmp": true}

// closing answers where the end tag of an element begins, or the length of the text.
func closing(rest, name string) int {
	for at := 0; ; {
		i := strings.Index(rest[at:], "</")
		if i < 0 {
			return len(rest)
		}
		at += i
		after := at + 2 + len(name)
		if after <= len(rest) && strings.EqualFold(rest[at+2:after], name) && (after == len(rest) || !letter(rest[after])) {
			return at
		}
		at += 2
	}
}

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func tagName(rest string) string {
	for i := 0; i < len(rest); i++ {
		if c := rest[i]; c <= ' ' || c == '/' || c == '>' {
			return rest[:i]
		}
	}
	return rest
}

// attribute answers the value of an attribute of a start, entities decoded.
func (t token) attribute(name string) (value string, ok bool) {
	rest := t.body
	for {
		rest = strings.TrimLeft(rest, " \t\r\n\f/")
		if rest == "" {
			return "", false
		}
		length := strings.IndexAny(rest[1:], "= \t\r\n\f/")
		if length < 0 {
			length = len(rest) - 1
		}
		found := rest[:length+1]
		rest = strings.TrimLeft(rest[length+1:], " \t\r\n\f")
		value = ""
		if strings.HasPrefix(rest, "=") {
			value, rest = attributeValue(strings.TrimLeft(rest[1:], " \t\r\n\f"))
		}
		if strings.EqualFold(found, name) {
			return unescape(value), true
		}
	}
}

func attributeValue(rest string) (value, after string) {
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		value, after, _ = strings.Cut(rest[1:], rest[:1])
		return value, after
	}
	if i := strings.IndexAny(rest, " \t\r\n\f"); i >= 0 {
		return rest[:i], rest[i:]
	}
	return rest, ""
}
