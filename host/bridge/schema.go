package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Limits of what a *MismatchError says.
const (
	maxProblems     = 8
	maxProblemBytes = 300
)

// Schema is a compiled JSON Schema of a manifest. It is safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// CompileSchema compiles a JSON Schema: draft 2020-12, or the draft that its
// $schema names. References must stay inside it.
func CompileSchema(text []byte) (*Schema, error) {
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
		return nil, schemaError(err)
	}
	return &Schema{compiled}, nil
}

// refuseLoader keeps a schema from reading anything.
type refuseLoader struct{}

// Load refuses.
func (refuseLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s; put what it needs under $defs", url)
}

// schemaError leaves out the library's own names and the address.
func schemaError(err error) error {
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

// MismatchError is JSON that does not fit its schema.
type MismatchError struct {
	// Problems say what is expected, each as "/path/in/it: reason", sorted; what
	// concerns the whole has no path.
	Problems []string
	// More is how many were left out.
	More int
}

func (e *MismatchError) Error() string {
	text := strings.Join(e.Problems, "; ")
	if e.More > 0 {
		text += fmt.Sprintf("; and %d more", e.More)
	}
	return text
}

// Check holds JSON to the schema. The error is a *MismatchError. A key that an
// object has twice fits no schema: which of the two counts is for every reader to
// choose.
func (s *Schema) Check(document []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return &MismatchError{Problems: []string{"it is not JSON: " + err.Error()}}
	}
	if at := duplicateKey(json.NewDecoder(bytes.NewReader(document))); at != "" {
		return &MismatchError{Problems: []string{clipTo(at, maxProblemBytes) + ": the key is there twice"}}
	}
	if err := s.compiled.Validate(value); err != nil {
		return mismatch(err)
	}
	return nil
}

// mismatch makes one line of every reason, in an order of its own: the library's
// changes from run to run.
func mismatch(err error) error {
	failed, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	problems := reasons(failed)
	slices.Sort(problems)
	problems = slices.Compact(problems)
	for i, problem := range problems {
		problems[i] = clipTo(problem, maxProblemBytes)
	}
	shown := min(len(problems), maxProblems)
	return &MismatchError{Problems: problems[:shown], More: len(problems) - shown}
}

// reasons are the leaves of a validation error. Alternatives belong together: each
// alone would contradict the others.
func reasons(failed *jsonschema.ValidationError) []string {
	if len(failed.Causes) == 0 {
		return []string{located(failed, failed.BasicOutput().Error.String())}
	}
	_, any := failed.ErrorKind.(*kind.AnyOf)
	_, one := failed.ErrorKind.(*kind.OneOf)
	var all []string
	for _, cause := range failed.Causes {
		all = append(all, reasons(cause)...)
	}
	if any || one {
		slices.Sort(all)
		return []string{located(failed, "no alternative fits: "+strings.Join(slices.Compact(all), ", or "))}
	}
	return all
}

func located(failed *jsonschema.ValidationError, reason string) string {
	if at := failed.BasicOutput().InstanceLocation; at != "" {
		return at + ": " + reason
	}
	return reason
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

// clipTo shortens text to at most limit bytes and an ellipsis, between characters.
func clipTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
