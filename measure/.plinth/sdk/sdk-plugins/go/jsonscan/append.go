package jsonscan

import (
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// AppendString appends s as a JSON string, byte by byte what encoding/json writes
// without its escapes for HTML. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	dst = append(dst, '"')
	for at := 0; ; {
		n := copyPlain(dst[len(dst):cap(dst)], b[at:])
		dst = dst[:len(dst)+n]
		at += n
		if at == len(b) {
			return append(dst, '"')
		}
		switch c := b[at]; {
		case plain(c): // there is no room
			dst = append(dst, c)
			at++
		case c < utf8.RuneSelf:
			dst = appendEscape(dst, c)
			at++
		default:
			point, size := utf8.DecodeRune(b[at:])
			dst = appendRune(dst, point, b[at:at+size])
			at += size
		}
	}
}

// appendRune appends a rune beyond ASCII whose bytes are told: as an escape sequence
// what is not UTF-8, and the line ends that JavaScript takes for ends of its statements.
func appendRune(dst []byte, point rune, encoded []byte) []byte {
	switch {
	case point == utf8.RuneError && len(encoded) == 1:
		return append(dst, `\ufffd`...)
	case point == '\u2028' || point == '\u2029':
		return append(dst, '\\', 'u', '2', '0', '2', byte('8'+point&1))
	}
	return append(dst, encoded...)
}

// shortEscapes has for each control character the letter behind its backslash.
const shortEscapes = "uuuuuuuubtnufruuuuuuuuuuuuuuuuuu"

// appendEscape appends the escape sequence of an ASCII character that needs one.
func appendEscape(dst []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	letter := c // of a quote and a backslash
	if c < ' ' {
		letter = shortEscapes[c]
	}
	if letter == 'u' {
		return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
	if n := len(dst); cap(dst)-n >= 2 { // what append would do, in line
		dst = dst[:n+2]
		dst[n], dst[n+1] = '\\', letter
		return dst
	}
	return append(dst, '\\', letter)
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

// AppendRawField appends a member whose value is JSON already, unless it is empty.
func AppendRawField(dst []byte, key string, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	return append(AppendField(dst, key), value...)
}

// AppendInt appends a number.
func AppendInt(dst []byte, value int64) []byte { return strconv.AppendInt(dst, value, 10) }

// AppendFloat appends a number as encoding/json writes it. JSON has no infinities and
// no NaN: they become null.
func AppendFloat(dst []byte, value float64) []byte {
	size := math.Abs(value)
	switch {
	case math.IsInf(value, 0) || math.IsNaN(value):
		return append(dst, "null"...)
	case size != 0 && (size < 1e-6 || size >= 1e21):
		dst = strconv.AppendFloat(dst, value, 'e', -1, 64)
		if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' { // e-09 is e-9
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
		return dst
	}
	return strconv.AppendFloat(dst, value, 'f', -1, 64)
}

// AppendBool appends true or false.
func AppendBool(dst []byte, value bool) []byte { return strconv.AppendBool(dst, value) }
