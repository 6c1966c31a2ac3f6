package jsonscan

import (
	"strconv"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for at := 0; at < len(s); {
		c := s[at]
		if plain(c) {
			at++
			continue
		}
		if c >= utf8.RuneSelf {
			point, size := utf8.DecodeRuneInString(s[at:])
			if point != utf8.RuneError || size > 1 {
				at += size
				continue
			}
		}
		dst = append(dst, s[start:at]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			if c < ' ' {
				dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
			} else {
				dst = utf8.AppendRune(dst, utf8.RuneError)
			}
		}
		at++
		start = at
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// AppendField appends `"key":` with the comma before it where dst holds members
// of the same object already. The key must need no escaping.
func AppendField(dst []byte, key string) []byte {
	if last := dst[len(dst)-1]; last != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, key...)
	return append(dst, '"', ':')
}

// AppendStringField appends a member whose value is a string, unless it is empty.
func AppendStringField(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	return AppendString(AppendField(dst, key), value)
}

// AppendIntField appends a member whose value is a number, unless it is 0.
func AppendIntField(dst []byte, key string, value int64) []byte {
	if value == 0 {
		return dst
	}
	return AppendInt(AppendField(dst, key), value)
}

// AppendInt appends a number.
func AppendInt(dst []byte, value int64) []byte { return strconv.AppendInt(dst, value, 10) }
