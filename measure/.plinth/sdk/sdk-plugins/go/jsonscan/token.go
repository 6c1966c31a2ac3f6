package jsonscan

import (
	"unicode/utf16"
	"unicode/utf8"
)

// stringBytes reads a string and answers its bytes unescaped. Bytes that are not
// UTF-8 and halves of surrogate pairs become U+FFFD, as in encoding/json.
func (r *Reader) stringBytes() []byte {
	if r.peek() != '"' {
		r.expected("a string")
		return nil
	}
	start := r.at + 1
	at := start + plainRun(r.data[start:])
	if at < len(r.data) && r.data[at] == '"' {
		r.at = at + 1
		return r.data[start:at:at]
	}
	return r.unescape(start, at)
}

// unescape copies the string that starts at start to the reader's buffer; the
// bytes before at need no change. What is left of the data is room enough for all
// strings to come, since escapes are longer than what they stand for. Only bytes
// that are not UTF-8 are not: they make the buffer move, which leaves the strings
// that were answered where they are.
func (r *Reader) unescape(start, at int) []byte {
	if r.buf == nil {
		r.buf = make([]byte, 0, len(r.data)-start)
	}
	used := len(r.buf)
	out := append(r.buf, r.data[start:at]...)
	for at < len(r.data) {
		n := copyPlain(out[len(out):cap(out)], r.data[at:])
		out = out[:len(out)+n]
		if at += n; at == len(r.data) {
			break
		}
		switch c := r.data[at]; {
		case c == '"':
			r.at = at + 1
			r.buf = out
			return out[used:len(out):len(out)]
		case c == '\\':
			if letter := r.shortEscape(at); letter != 0 && len(out) < cap(out) { // what append would do, in line
				out = out[:len(out)+1]
				out[len(out)-1] = letter
				at += 2
				continue
			}
			r.at = at
			point := r.escape()
			if r.err != nil {
				return nil
			}
			out = utf8.AppendRune(out, point)
			at = r.at
		case c < ' ':
			r.at = at
			r.fail("a control character in a string")
			return nil
		default: // or a plain one for which there is no room
			point, size := utf8.DecodeRune(r.data[at:])
			out = utf8.AppendRune(out, point)
			at += size
		}
	}
	r.at = len(r.data)
	r.fail("a string does not end")
	return nil
}

// shortEscape is what the escape sequence of two bytes at at stands for, 0 if it is none.
func (r *Reader) shortEscape(at int) byte {
	if at+1 >= len(r.data) {
		return 0
	}
	switch c := r.data[at+1]; c {
	case '"', '\\', '/':
		return c
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return 0
}

// escape steps over the escape sequence at r.at and answers what it stands for.
func (r *Reader) escape() rune {
	if letter := r.shortEscape(r.at); letter != 0 {
		r.at += 2
		return rune(letter)
	}
	switch {
	case r.at+1 >= len(r.data):
		r.fail("a string does not end")
	case r.data[r.at+1] == 'u':
		return r.unicode()
	default:
		r.fail("an unknown escape sequence")
	}
	return 0
}

func (r *Reader) unicode() rune {
	point, ok := hex4(r.data[r.at+2:])
	if !ok {
		r.fail("\\u needs four hexadecimal digits")
		return 0
	}
	r.at += 6
	if !utf16.IsSurrogate(point) {
		return point
	}
	rest := r.data[r.at:]
	if len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
		if low, ok := hex4(rest[2:]); ok {
			if pair := utf16.DecodeRune(point, low); pair != utf8.RuneError {
				r.at += 6
				return pair
			}
		}
	}
	return utf8.RuneError
}

func hex4(digits []byte) (rune, bool) {
	if len(digits) < 4 {
		return 0, false
	}
	var value rune
	for _, c := range digits[:4] {
		value <<= 4
		switch {
		case '0' <= c && c <= '9':
			value |= rune(c - '0')
		case 'a' <= c && c <= 'f':
			value |= rune(c - 'a' + 10)
		case 'A' <= c && c <= 'F':
			value |= rune(c - 'A' + 10)
		default:
			return 0, false
		}
	}
	return value, true
}

// number steps over a number and answers its text.
func (r *Reader) number() []byte {
	r.peek()
	start := r.at
	r.accept('-')
	switch {
	case r.accept('0'):
	case r.digits():
	default:
		r.expected("a value")
		return nil
	}
	if r.accept('.') && !r.digits() {
		r.expected("a digit")
		return nil
	}
	if r.accept('e') || r.accept('E') {
		if !r.accept('+') {
			r.accept('-')
		}
		if !r.digits() {
			r.expected("a digit")
			return nil
		}
	}
	return r.data[start:r.at]
}

func (r *Reader) accept(c byte) bool {
	if r.err == nil && r.at < len(r.data) && r.data[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *Reader) digits() bool {
	start := r.at
	for r.err == nil && r.at < len(r.data) && '0' <= r.data[r.at] && r.data[r.at] <= '9' {
		r.at++
	}
	return r.at > start
}
