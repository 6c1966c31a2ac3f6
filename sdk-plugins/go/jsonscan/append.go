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
	dst = append(dst, '"')
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	start := 0
	for at := 0; ; {
		at += plainRun(b[at:])
		if at == len(b) {
			break
		}
		size := 1
		if b[at] >= utf8.RuneSelf {
			var point rune
			if point, size = utf8.DecodeRune(b[at:]); !escaped(point, size) {
				at += size
				continue
			}
		}
		dst = append(dst, b[start:at]...)
		dst = appendEscape(dst, b[at:at+size])
		at += size
		start = at
	}
	dst = append(dst, b[start:]...)
	return append(dst, '"')
}

// escaped reports whether a rune beyond ASCII is written as an escape sequence: what
// is not UTF-8, and the line ends that JavaScript takes for ends of its statements.
func escaped(point rune, size int) bool {
	return point == utf8.RuneError && size == 1 || point == '\u2028' || point == '\u2029'
}

// appendEscape appends the escape sequence of a character that needs one.
func appendEscape(dst, character []byte) []byte {
	const digits = "0123456789abcdef"
	switch c := character[0]; {
	case c == '"' || c == '\\':
		return append(dst, '\\', c)
	case c == '\n':
		return append(dst, '\\', 'n')
	case c == '\r':
		return append(dst, '\\', 'r')
	case c == '\t':
		return append(dst, '\\', 't')
	case c == '\b':
		return append(dst, '\\', 'b')
	case c == '\f':
		return append(dst, '\\', 'f')
	case c < ' ':
		return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	case len(character) == 1:
		return append(dst, `\ufffd`...)
	}
	return append(dst, '\\', 'u', '2', '0', '2', '8'+character[2]&1) // U+2028 ends in a8, U+2029 in a9
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
