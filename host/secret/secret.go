// Package secret resolves references to secrets and keeps their values out of
// everything that is written down.
//
// A reference names a secret, it never is one:
//
//	env:NAME        an environment variable
//	file:/PATH      a file of mode 0600 that is Plinth's user's or root's
//	keyring:NAME    the user's keyring: the item with service "plinth" and
//	                user name NAME (Secret Service, or the macOS keychain)
//	command:ARGV    what a program prints; ARGV is split at spaces, or is a JSON
//	                array: command:["pass", "show", "my key"]. There is no shell.
//
// A Value shows itself to nobody who does not call Reveal. A Scrubber takes the
// values it was told out of texts that others wrote, in the encodings they may
// have there. Values of less than MinScrub bytes are not looked for: what is as
// short as "EMPTY" or "ollama", which local servers take for a key, would tear
// holes into ordinary words, and can be guessed anyway.
package secret

import (
	"crypto/subtle"
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

// Equal reports whether both are the same secret, in a time that does not tell
// where they differ.
func (v Value) Equal(other Value) bool {
	return subtle.ConstantTimeCompare([]byte(v.Reveal()), []byte(other.Reveal())) == 1
}

// String answers "[secret]".
func (v Value) String() string { return hidden }

// GoString answers "[secret]".
func (v Value) GoString() string { return hidden }

// Format writes "[secret]", whatever the verb.
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText answers "[secret]".
func (v Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalJSON answers "[secret]" as JSON.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }
