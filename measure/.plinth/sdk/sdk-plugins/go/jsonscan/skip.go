package jsonscan

import (
	"encoding/json"
	"strconv"
)

// maxDepth bounds what Skip and Raw step over; it is encoding/json's.
const maxDepth = 10000

// Valid says what keeps data from being one JSON text, nil when it is one.
func Valid(data []byte) error {
	r := NewReader(data)
	r.Skip()
	r.End()
	return r.Err()
}

// Skip steps over one value of any kind. What is open is kept in a list, not on the
// stack, which is small in a guest.
func (r *Reader) Skip() {
	open := r.open[:0] // the closing brackets to come
	for {
		switch next := r.peek(); next {
		case '{', '[':
			if len(open) == maxDepth {
				r.fail("nested more than " + strconv.Itoa(maxDepth) + " deep")
				return
			}
			r.at++
			r.first = true
			open = append(open, next+2) // '}' and ']' stand two after '{' and '['
		case '"':
			r.skipString()
		case 't':
			r.literal("true")
		case 'f':
			r.literal("false")
		case 'n':
			r.literal("null")
		default:
			r.number()
		}
		if open = r.close(open); len(open) == 0 {
			r.open = open
			return
		}
	}
}

// close leaves the containers that end here and steps to the value that is next. It
// answers what is open still: nothing at the end of the value, or at an error.
func (r *Reader) close(open []byte) []byte {
	for len(open) > 0 {
		closing := open[len(open)-1]
		if r.member(closing) {
			if closing == '}' {
				r.skipKey()
			}
			break
		}
		open = open[:len(open)-1]
	}
	if r.err != nil {
		return open[:0]
	}
	return open
}

func (r *Reader) skipKey() {
	if r.peek() != '"' {
		r.expected("a string")
		return
	}
	r.skipString()
	r.colon()
}

// Raw answers the text of one value of any kind; it shares the reader's data.
func (r *Reader) Raw() []byte {
	r.peek()
	start := r.at
	r.Skip()
	if r.err != nil {
		return nil
	}
	return r.data[start:r.at:r.at]
}

// Members reads an object whose values may be anything; null is nil. The values share
// the reader's data, of values with the same key the last counts.
func (r *Reader) Members() map[string]json.RawMessage {
	if r.Null() {
		return nil
	}
	members := map[string]json.RawMessage{}
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return members
		}
		members[key] = r.Raw()
	}
}

// skipString steps over a string and checks it as stringBytes does.
func (r *Reader) skipString() {
	at := r.at + 1
	for {
		at += plainRun(r.data[at:])
		if at == len(r.data) {
			break
		}
		switch c := r.data[at]; {
		case c == '"':
			r.at = at + 1
			return
		case c < ' ':
			r.at = at
			r.fail("a control character in a string")
			return
		case c == '\\' && r.shortEscape(at) != 0:
			at += 2
		case c == '\\':
			r.at = at
			if r.escape(); r.err != nil {
				return
			}
			at = r.at
		default:
			at++
		}
	}
	r.at = at
	r.fail("a string does not end")
}
