package golden

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// Input is the form of a golden's input file.
type Input struct {
	Config     json.RawMessage `json:"config,omitempty"` // the plugin's settings
	Body       json.RawMessage `json:"body"`
	Operations []Operation     `json:"operations,omitempty"` // in order
}

// Operation is one that the plugin asks the host for, with its answer. The bytes behind
// the answer are Text, or Base64 where they are not UTF-8.
type Operation struct {
	Op      string          `json:"op"`
	Request json.RawMessage `json:"request"`
	Answer  json.RawMessage `json:"answer"`
	Text    string          `json:"text,omitempty"`
	Base64  string          `json:"base64,omitempty"`
}

// SetRaw sets the bytes behind the answer.
func (o *Operation) SetRaw(raw []byte) {
	o.Text, o.Base64 = "", ""
	if utf8.Valid(raw) {
		o.Text = string(raw)
	} else {
		o.Base64 = base64.StdEncoding.EncodeToString(raw)
	}
}
