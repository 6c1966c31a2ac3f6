package egress

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	errEscape  = errors.New("a % must be followed by two hexadecimal digits")
	errTwice   = errors.New("it must not be percent-encoded twice")
	errUTF8    = errors.New("it must be UTF-8 when decoded")
	errControl = errors.New("it must have no control character and no backslash, encoded or not")
	errEmpty   = errors.New("it must have no empty step (//)")
	errHidden  = errors.New("it must not hide . or .. behind an encoded slash, a semicolon or a space")
)

// canonicalPath answers the one way a path is written: steps . and .. taken,
// escapes only where they are needed and in upper case. An escaped reserved
// character stays escaped, for servers tell it from a plain one.
func canonicalPath(path string) (string, error) {
	normal, err := normalise(path, isPathByte)
	if err != nil {
		return "", err
	}
	switch once := decoded(normal); {
	case !utf8.ValidString(once):
		return "", errUTF8
	case strings.ContainsFunc(once, isControl), strings.Contains(once, `\`):
		return "", errControl
	case decoded(once) != once:
		return "", errTwice
	}
	var steps []string
	parts := strings.Split(strings.TrimPrefix(normal, "/"), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch {
		case part == "." || part == "..":
			if part == ".." && len(steps) > 0 {
				steps = steps[:len(steps)-1]
			}
			if last {
				steps = append(steps, "")
			}
		case part == "" && !last:
			return "", errEmpty
		case hides(part):
			return "", errHidden
		default:
			steps = append(steps, part)
		}
	}
	return "/" + strings.Join(steps, "/"), nil
}

// hides reports whether a server that decodes slashes first, or one that drops what
// follows a semicolon, would see another path.
func hides(step string) bool {
	if step == "" {
		return false
	}
	return slices.ContainsFunc(strings.Split(decoded(step), "/"), func(part string) bool {
		name, _, _ := strings.Cut(part, ";")
		name = strings.TrimSpace(name)
		return name == "" || name == "." || name == ".."
	})
}

// normalise writes every byte in one way: plain if it may be, else as an escape in
// upper case. Escapes of what may be plain but has a meaning stay escapes.
func normalise(text string, plain func(byte) bool) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c, escaped := text[i], false
		if c == '%' {
			if i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2]) {
				return "", errEscape
			}
			c, escaped = unhex(text[i+1])<<4|unhex(text[i+2]), true
			i += 2
		}
		if isUnreserved(c) || plain(c) && !escaped {
			b.WriteByte(c)
			continue
		}
		const digits = "0123456789ABCDEF"
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String(), nil
}

// decoded replaces every escape; what is none stays.
func decoded(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]) {
			b.WriteByte(unhex(text[i+1])<<4 | unhex(text[i+2]))
			i += 2
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func isPathByte(c byte) bool { return isUnreserved(c) || strings.IndexByte("!$&'()*+,;=:@/", c) >= 0 }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}
