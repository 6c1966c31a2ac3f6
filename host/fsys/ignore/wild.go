package ignore

import "strings"

// kind of a token of a pattern with wildcards. Patterns and names are bytes, as
// they are to git: "?" is one byte of a longer character.
type kind uint8

const (
	literal kind = iota // this byte
	any1                // one byte, not a slash
	class               // one byte of a set, not a slash
	star                // any bytes, no slash
	folders             // "**/": nothing, or anything up to a slash
	rest                // "**" at the end: all there is
)

type token struct {
	kind  kind
	value byte
	set   *[256]bool
}

// parseWild reads a pattern. In a path "**" between slashes stands for folders;
// everywhere else it is a "*". It answers false for a pattern that is broken,
// which git never matches.
func parseWild(pattern string, path bool) ([]token, bool) {
	var tokens []token
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; c {
		case '*':
			begin := i
			for i < len(pattern) && pattern[i] == '*' {
				i++
			}
			alone := path && i-begin > 1 && (begin == 0 || pattern[begin-1] == '/')
			switch {
			case alone && i == len(pattern):
				tokens = append(tokens, token{kind: rest})
			case alone && pattern[i] == '/':
				tokens = append(tokens, token{kind: folders})
				i++
			default:
				tokens = append(tokens, token{kind: star})
			}
		case '?':
			tokens = append(tokens, token{kind: any1})
			i++
		case '[':
			set, length, ok := parseClass(pattern[i:])
			if !ok {
				return nil, false
			}
			tokens = append(tokens, token{kind: class, set: set})
			i += length
		case '\\':
			if i+1 == len(pattern) {
				return nil, false
			}
			tokens = append(tokens, token{kind: literal, value: pattern[i+1]})
			i += 2
		default:
			tokens = append(tokens, token{kind: literal, value: c})
			i++
		}
	}
	return tokens, true
}

// matchWild compares all of text with all of the pattern. It remembers the last
// star and the last "**/" only: what an earlier one could take in addition, the
// later one can take as well.
func matchWild(pattern []token, text string) bool {
	p, t := 0, 0
	starAt, starText := -1, 0
	foldersAt, foldersText := -1, 0
	for {
		if p == len(pattern) {
			if t == len(text) {
				return true
			}
		} else {
			switch pattern[p].kind {
			case rest:
				return true
			case star:
				starAt, starText = p, t
				p++
				continue
			case folders:
				foldersAt, foldersText = p, t
				starAt = -1
				p++
				continue
			default:
				if t < len(text) && pattern[p].one(text[t]) {
					p++
					t++
					continue
				}
			}
		}
		switch {
		case starAt >= 0 && starText < len(text) && text[starText] != '/':
			starText++
			p, t = starAt+1, starText
		case foldersAt >= 0:
			slash := strings.IndexByte(text[foldersText:], '/')
			if slash < 0 {
				return false
			}
			foldersText += slash + 1
			p, t = foldersAt+1, foldersText
			starAt = -1
		default:
			return false
		}
	}
}

// one reports whether a token that stands for one byte stands for c.
func (k *token) one(c byte) bool {
	switch k.kind {
	case literal:
		return k.value == c
	case any1:
		return c != '/'
	}
	return c != '/' && k.set[c]
}
