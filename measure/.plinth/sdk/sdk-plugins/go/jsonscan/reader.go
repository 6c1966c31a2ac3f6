// Package jsonscan reads JSON in one pass and writes it by appending, without
// reflection and almost without allocation. It is for the paths where a guest is
// called for every few words a model says; elsewhere encoding/json reads better.
package jsonscan

import (
	"errors"
	"fmt"
	"strconv"
	"unsafe"
)

// ErrSyntax is wrapped by every error of a Reader.
var ErrSyntax = errors.New("malformed JSON")

// Reader reads one JSON text from its start to its end. The caller asks for what
// it expects; the first thing that is not so stops the reader, after which every
// method answers zero and Err says why. Wrong types are errors, null is not: it
// reads as the zero value.
type Reader struct {
	data  []byte
	at    int
	first bool // the container was just opened: no comma comes before its next member
	empty bool // null was entered as a container
	buf   []byte
	open  []byte // room for what Skip keeps
	err   error
}

// NewReader reads data, which must not change while the reader or what it
// answered is in use.
func NewReader(data []byte) Reader { return Reader{data: data} }

// Err is what stopped the reader, nil when nothing did.
func (r *Reader) Err() error { return r.err }

// End reports whether nothing but white space follows; it is an error otherwise.
func (r *Reader) End() bool {
	if r.peek() != 0 || r.at < len(r.data) {
		r.fail("something follows the end")
	}
	return r.err == nil
}

// Object enters an object; null is one without members. Next must be called until
// it answers false.
func (r *Reader) Object() { r.enter('{', "an object") }

// Array enters an array; null is an empty one. More must be called until it answers
// false.
func (r *Reader) Array() { r.enter('[', "an array") }

func (r *Reader) enter(bracket byte, what string) {
	switch r.peek() {
	case bracket:
		r.at++
		r.first = true
	case 'n':
		r.literal("null")
		r.empty = true
	default:
		r.expected(what)
	}
}

// Next steps to the next member of an object and answers its key, or leaves the
// object. Exactly one value must be read after each key.
func (r *Reader) Next() (key string, ok bool) {
	if name := r.nearKey(); name != nil {
		return text(name), true
	}
	if !r.member('}') {
		return "", false
	}
	name := r.stringBytes()
	r.colon()
	return text(name), r.err == nil
}

// nearKey is the next key where it is written without white space and escapes, as most
// are. Otherwise it is nil, and nothing was read.
func (r *Reader) nearKey() []byte {
	at := r.at
	if r.err != nil || r.empty {
		return nil
	}
	if !r.first {
		if at == len(r.data) || r.data[at] != ',' {
			return nil
		}
		at++
	}
	if at == len(r.data) || r.data[at] != '"' {
		return nil
	}
	start := at + 1
	at = start + plainRun(r.data[start:])
	if at+1 >= len(r.data) || r.data[at] != '"' || r.data[at+1] != ':' {
		return nil
	}
	r.at, r.first = at+2, false
	return r.data[start:at:at]
}

func (r *Reader) colon() {
	if r.peek() != ':' {
		r.expected("a colon")
		return
	}
	r.at++
}

// More steps to the next element of an array, or leaves the array.
func (r *Reader) More() bool { return r.member(']') }

func (r *Reader) member(closing byte) bool {
	if r.empty {
		r.empty = false
		r.first = false
		return false
	}
	next := r.peek()
	if r.err != nil {
		return false
	}
	if next == closing {
		r.at++
		r.first = false
		return false
	}
	if !r.first {
		if next != ',' {
			r.expected("a comma or the end of the list")
			return false
		}
		r.at++
	}
	r.first = false
	return true
}

// String reads a string. The answer may share the reader's data or a buffer that
// all its strings share.
func (r *Reader) String() string {
	if r.Null() {
		return ""
	}
	return text(r.stringBytes())
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	switch r.peek() {
	case 't':
		r.literal("true")
		return r.err == nil
	case 'f':
		r.literal("false")
		return false
	case 'n':
		r.literal("null")
		return false
	}
	r.expected("true or false")
	return false
}

// Int reads a whole number that fits 64 bits; a fraction is cut off.
func (r *Reader) Int() int64 {
	if r.Null() {
		return 0
	}
	if value, ok := r.nearInt(); ok {
		return value
	}
	token := r.number()
	if r.err != nil {
		return 0
	}
	value, err := strconv.ParseInt(text(token), 10, 64)
	if err == nil {
		return value
	}
	float, err := strconv.ParseFloat(text(token), 64)
	if err != nil || float >= 1<<63 || float < -1<<63 {
		r.fail("a number does not fit 64 bits")
		return 0
	}
	return int64(float)
}

// nearInt reads a number of a few digits and nothing else, as most are. Otherwise
// nothing was read.
func (r *Reader) nearInt() (value int64, ok bool) {
	const most = 15 // digits that surely fit
	at := r.at
	for at < len(r.data) && at-r.at < most && '0' <= r.data[at] && r.data[at] <= '9' {
		value = value*10 + int64(r.data[at]-'0')
		at++
	}
	if r.err != nil || at == r.at || at == len(r.data) || r.data[r.at] == '0' && at-r.at > 1 {
		return 0, false
	}
	switch r.data[at] {
	case ',', '}', ']':
		r.at = at
		return value, true
	}
	return 0, false
}

// Float reads a number that fits 64 bits.
func (r *Reader) Float() float64 {
	if r.Null() {
		return 0
	}
	token := r.number()
	if r.err != nil {
		return 0
	}
	value, err := strconv.ParseFloat(text(token), 64)
	if err != nil {
		r.fail("a number does not fit 64 bits")
		return 0
	}
	return value
}

// Kind is the first byte of the next value: one of { [ " t f n, '-' or a digit; 0
// at the end.
func (r *Reader) Kind() byte { return r.peek() }

// Null steps over a null, if one is next: for where it is not the zero value.
func (r *Reader) Null() bool {
	if r.peek() != 'n' {
		return false
	}
	r.literal("null")
	return true
}

// peek steps over white space and answers the byte that is next, 0 at the end.
func (r *Reader) peek() byte {
	if r.err != nil {
		return 0
	}
	for r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

func (r *Reader) literal(word string) {
	end := r.at + len(word)
	if end > len(r.data) || text(r.data[r.at:end]) != word {
		r.expected(word)
		return
	}
	r.at = end
}

func (r *Reader) expected(what string) { r.fail("expected " + what) }

func (r *Reader) fail(why string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w at byte %d: %s", ErrSyntax, r.at, why)
	}
}

// text is b without a copy.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
