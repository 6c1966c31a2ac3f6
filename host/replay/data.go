package replay

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Data is bytes that a file shows as readably as they allow: a framed message (the
// length of its JSON in four bytes, the JSON, and raw bytes behind it) as
// {"json": …, "raw": base64}, text as {"text": …}, anything else as
// {"base64": …}. Nil is null.
type Data []byte

// dataJSON has exactly one of JSON, Text and Base64.
type dataJSON struct {
	JSON   json.RawMessage `json:"json,omitempty"`
	Raw    []byte          `json:"raw,omitempty"`
	Text   *string         `json:"text,omitempty"`
	Base64 *[]byte         `json:"base64,omitempty"`
}

// MarshalJSON writes the form from which the same bytes are read.
func (d Data) MarshalJSON() ([]byte, error) {
	if d == nil {
		return []byte("null"), nil
	}
	var form dataJSON
	if body, raw, ok := framed(d); ok && embeddable(body) {
		form.JSON, form.Raw = body, raw
	} else if text := string(d); printable(text) {
		form.Text = &text
	} else {
		form.Base64 = (*[]byte)(&d)
	}
	return marshal(form)
}

// UnmarshalJSON reads any of the forms.
func (d *Data) UnmarshalJSON(text []byte) error {
	*d = nil
	if string(text) == "null" {
		return nil
	}
	var form dataJSON
	if err := strictly(text, &form); err != nil {
		return &dataError{err}
	}
	switch {
	case form.JSON != nil && form.Text == nil && form.Base64 == nil:
		var body bytes.Buffer
		if err := json.Compact(&body, form.JSON); err != nil {
			return &dataError{err}
		}
		*d = frame(body.Bytes(), form.Raw)
	case form.JSON == nil && form.Raw == nil && form.Text != nil && form.Base64 == nil:
		*d = Data(*form.Text)
	case form.JSON == nil && form.Raw == nil && form.Text == nil && form.Base64 != nil:
		*d = *form.Base64
	default:
		return &dataError{errors.New("one of json, text and base64 has to be there")}
	}
	if *d == nil {
		*d = Data{}
	}
	return nil
}

// dataError is a value that is no Data.
type dataError struct{ err error }

func (e *dataError) Error() string {
	reason := e.err.Error()
	if refusal, ok := errors.AsType[*FormatError](e.err); ok {
		reason = refusal.Field + ": " + refusal.Err.Error()
	}
	return `bytes are {"json": …} with or without "raw", {"text": "…"} or {"base64": "…"}: ` + reason
}

func (e *dataError) Unwrap() error { return e.err }

// blamed finds the field of a line whose value is no Data.
func blamed(line []byte) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch name {
		case "init", "input", "request", "answer", "output":
			if new(Data).UnmarshalJSON(fields[name]) != nil {
				return name
			}
		case "operation", "end":
			if inner := blamed(fields[name]); inner != "" {
				return name + "." + inner
			}
		}
	}
	return ""
}

func frame(body, raw []byte) Data {
	message := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(body)+len(raw)), uint32(len(body)))
	return append(append(message, body...), raw...)
}

func framed(message []byte) (body, raw []byte, ok bool) {
	if len(message) < 4 {
		return nil, nil, false
	}
	length := uint64(binary.LittleEndian.Uint32(message))
	if length > uint64(len(message)-4) {
		return nil, nil, false
	}
	return message[4 : 4+length], message[4+length:], true
}

// nesting is by how much more than enough a value is nested in a file.
const nesting = "[[[[[[[[[[[[[[[["

// embeddable says whether JSON comes back byte for byte from inside of a line.
func embeddable(body []byte) bool {
	if len(body) == 0 || !utf8.Valid(body) {
		return false
	}
	var nested, compact bytes.Buffer
	nested.WriteString(nesting)
	nested.Write(body)
	nested.WriteString(strings.Repeat("]", len(nesting)))
	return json.Compact(&compact, nested.Bytes()) == nil && bytes.Equal(compact.Bytes(), nested.Bytes())
}

// printable keeps to base64 what a JSON string would show as escapes, mostly.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f || r == '\u2028' || r == '\u2029'
	})
}
