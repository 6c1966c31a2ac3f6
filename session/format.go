package session

import (
	"bytes"
	"errors"

	"github.com/plinthhost/plinth/session/schema"
)

// FormatTool is the tool by which a model gives a structured answer. It is offered with
// the prompt's format as its input, and its settlement carries the answer.
const FormatTool = "structured_output"

// checkFormat refuses what is no JSON Schema of an object: draft 2020-12, or the
// draft that its $schema names, without references that leave it.
func checkFormat(format []byte) error {
	if trimmed := bytes.TrimSpace(format); len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("it is not an object")
	}
	_, err := schema.Compile(format)
	return err
}
