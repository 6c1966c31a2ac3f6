// Package secret resolves references to secrets and keeps their values out of
// everything that is written down.
//
// A reference is "env:NAME" or "file:PATH". It is resolved at every use and never
// cached, so a rotated secret holds from the next request on. The value shows
// itself to nobody who does not call Reveal; a Scrubber takes it out of texts
// that others wrote.
package secret

import (
	"fmt"
	"io"
)

// hidden is what a value prints as.
const hidden = "[secret]"

// Value is a secret. The zero Value is no secret.
type Value struct {
	// A pointer: fmt shows the fields of a struct that a Value is a private part
	// of without asking Format, and shows a pointer as an address.
	text *string
}

// NewValue makes a value of text.
func NewValue(text string) Value { return Value{text: &text} }

// Reveal answers the secret itself, "" for the zero Value.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// String answers "[secret]".
func (v Value) String() string { return hidden }

// GoString answers "[secret]".
func (v Value) GoString() string { return hidden }

// Format writes "[secret]", whatever the verb.
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText answers "[secret]", in JSON too.
func (v Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }
