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

// maxDepth bounds what Skip and Raw step over: a guest's stack is small.
const maxDepth = 128

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
func (r *Reader) Object() { r.open('{', "an object") }

// Array enters an array; null is an empty one. More must be called until it answers
// false.
func (r *Reader) Array() { r.open('[', "an array") }

func (r *Reader) open(bracket byte, what string) {
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
	if !r.member('}') {
		return "", false
	}
	name := r.stringBytes()
	if r.peek() != ':' {
		r.expected("a colon")
		return "", false
	}
	r.at++
	return text(name), r.err == nil
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
	if r.null() {
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
	if r.null() {
		return 0
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

// Kind is the first byte of the next value: one of { [ " t f n, '-' or a digit; 0
// at the end.
func (r *Reader) Kind() byte { return r.peek() }

// Skip steps over one value of any kind.
func (r *Reader) Skip() { r.skip(0) }

// Raw answers the text of one value of any kind; it shares the reader's data.
func (r *Reader) Raw() []byte {
	r.peek()
	start := r.at
	r.skip(0)
	if r.err != nil {
		return nil
	}
	return r.data[start:r.at]
}

func (r *Reader) skip(depth int) {
	if depth > maxDepth {
		r.fail("nested more than " + strconv.Itoa(maxDepth) + " deep")
		return
	}
	switch next := r.peek(); {
	case next == '{':
		for r.Object(); ; {
			if _, ok := r.Next(); !ok {
				return
			}
			r.skip(depth + 1)
		}
	case next == '[':
		for r.Array(); r.More(); {
			r.skip(depth + 1)
		}
	case next == '"':
		r.skipString()
	case next == 't':
		r.literal("true")
	case next == 'f':
		r.literal("false")
	case next == 'n':
		r.literal("null")
	default:
		r.number()
	}
}

// null steps over a null, if one is next.
func (r *Reader) null() bool {
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
