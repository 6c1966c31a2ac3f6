// Package schema holds JSON to JSON Schema: what tools take and answer, what a
// plugin is configured with, what a context source stores. Schemas come from
// strangers, so one reads nothing outside itself, and what it says of a value is
// short and the same every time.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// Compile compiles a JSON Schema: draft 2020-12, or the draft that its
// $schema names. References must stay inside it.
func Compile(text []byte) (*Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	// The address has a path of its own, so that a relative reference leads elsewhere.
	const address = "plinth:///schema"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(refuseLoader{})
	if err := compiler.AddResource(address, document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(address)
	if err != nil {
		return nil, compileError(err)
	}
	return &Schema{compiled}, nil
}

// refuseLoader keeps a schema from reading anything.
type refuseLoader struct{}

// Load refuses.
func (refuseLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s; put what it needs under $defs", url)
}

// compileError leaves out the library's own names and the address.
func compileError(err error) error {
	if loading, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return loading.Err
	}
	if missing, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		_, pointer, _ := strings.Cut(missing.URL, "#")
		return fmt.Errorf("it refers to #%s, which is not in it", pointer)
	}
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		return mismatch(invalid.Err)
	}
	return err
}

// Check holds JSON to the schema. The error is a *MismatchError. A key that an
// object has twice fits no schema: which of the two counts is for every reader to
// choose.
func (s *Schema) Check(value []byte) error {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return &MismatchError{Problems: []string{"it is not JSON: " + err.Error()}}
	}
	if at := duplicateKey(json.NewDecoder(bytes.NewReader(value))); at != "" {
		return &MismatchError{Problems: []string{clip(at) + ": the key is there twice"}}
	}
	if err := s.compiled.Validate(parsed); err != nil {
		return mismatch(err)
	}
	return nil
}

// duplicateKey answers the path of the first key that an object of the next value
// has twice, "" when there is none. The decoder's input is valid JSON.
func duplicateKey(decoder *json.Decoder) (path string) {
	token, _ := decoder.Token()
	open, nested := token.(json.Delim)
	if !nested {
		return ""
	}
	seen := map[string]bool{}
	for i := 0; decoder.More(); i++ {
		var name string
		if open == '{' {
			key, _ := decoder.Token()
			name, _ = key.(string)
			if seen[name] {
				return "/" + name
			}
			seen[name] = true
		}
		if inside := duplicateKey(decoder); inside != "" {
			if open == '[' {
				name = strconv.Itoa(i)
			}
			return "/" + name + inside
		}
	}
	_, _ = decoder.Token() // the closing delimiter
	return ""
}
