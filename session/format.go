package session

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checkFormat refuses what is no JSON Schema of an object: draft 2020-12, or the
// draft that its $schema names, without references that leave it.
func checkFormat(schema []byte) error {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	if _, ok := document.(map[string]any); !ok {
		return errors.New("it is not an object")
	}
	const address = "plinth:///format"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(refuseLoader{})
	if err := compiler.AddResource(address, document); err != nil {
		return err
	}
	_, err = compiler.Compile(address)
	if loading, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return loading.Err
	}
	return err
}

// refuseLoader keeps a schema from reading anything.
type refuseLoader struct{}

// Load refuses.
func (refuseLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s; put what it needs under $defs", url)
}
