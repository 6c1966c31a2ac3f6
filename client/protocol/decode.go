package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Decode reads one JSON value into v and refuses unknown fields and anything
// after the value. Error: bad_request that names the field.
func Decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return Errorf(BadRequest, "%s", explain(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Errorf(BadRequest, "there is more than one JSON value")
	}
	return nil
}

// explain says what is wrong with a JSON text without Go's type names.
func explain(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return "there is no JSON value"
	case errors.Is(err, io.ErrUnexpectedEOF), err.Error() == "unexpected end of JSON input":
		return "the JSON value is cut off"
	case errors.As(err, &syntax):
		return fmt.Sprintf("not JSON at byte %d: %s", syntax.Offset, strings.TrimPrefix(syntax.Error(), "json: "))
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("field %q cannot be a JSON %s", fieldPath(kind.Field), kind.Value)
	case errors.As(err, &kind):
		return "expected another JSON value than " + kind.Value
	default:
		return strings.TrimPrefix(err.Error(), "json: ")
	}
}

// fieldPath is the path of a field as the sender wrote it: embedded Go structs,
// whose names begin with an upper-case letter, are no part of it.
func fieldPath(path string) string {
	names := slices.DeleteFunc(strings.Split(path, "."), func(name string) bool {
		return name != "" && name[0] >= 'A' && name[0] <= 'Z'
	})
	return strings.Join(names, ".")
}

// Encode answers v as one line of JSON, with <, > and & as they are.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := EncodeTo(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// EncodeTo appends v to the buffer as Encode writes it.
func EncodeTo(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode %T: %w", v, err)
	}
	b.Truncate(b.Len() - 1) // Encode ends with a newline
	return nil
}
