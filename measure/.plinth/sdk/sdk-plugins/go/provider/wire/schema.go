package wire

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// schema is a JSON Schema's top level; what lies below is passed on as it is.
type schema map[string]json.RawMessage

// ObjectSchema makes a tool's input schema one of an object at its top level,
// which is all that some protocols take: alternatives are merged into one object, null
// is taken out of the types. A schema that is one already is not touched.
func ObjectSchema(input json.RawMessage) (json.RawMessage, error) {
	if len(input) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	if isObject(input) {
		return input, nil
	}
	var top schema
	if err := json.Unmarshal(input, &top); err != nil || top == nil {
		return nil, plinth.Errorf(abi.KindInvalidInput, "a JSON Schema of an input is an object")
	}
	alternatives := top["anyOf"]
	if alternatives == nil {
		alternatives = top["oneOf"]
	}
	if alternatives != nil {
		if err := top.merge(alternatives); err != nil {
			return nil, err
		}
	}
	top["type"] = json.RawMessage(`"object"`)
	if top["properties"] == nil {
		top["properties"] = json.RawMessage(`{}`)
	}
	return json.Marshal(top)
}

// isObject reports whether a schema is one of an object already.
func isObject(input json.RawMessage) bool {
	object := false
	r := jsonscan.NewReader(input)
	if r.Kind() != '{' {
		return false
	}
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return r.End() && object
		}
		switch key {
		case "anyOf", "oneOf":
			return false
		case "type":
			object = string(r.Raw()) == `"object"`
		default:
			r.Skip()
		}
	}
}

// merge takes the alternatives into one object: every property any of them has,
// required what all of them require.
func (s schema) merge(alternatives json.RawMessage) error {
	var list []schema
	if err := json.Unmarshal(alternatives, &list); err != nil {
		return plinth.Errorf(abi.KindInvalidInput, "anyOf and oneOf are lists of schemas")
	}
	delete(s, "anyOf")
	delete(s, "oneOf")
	list = slices.DeleteFunc(list, func(one schema) bool { return string(one["type"]) == `"null"` })
	properties, err := members(s["properties"])
	if err != nil {
		return err
	}
	var common []string
	for i, one := range list {
		own, err := members(one["properties"])
		if err != nil {
			return err
		}
		for name, property := range own {
			if known, taken := properties[name]; taken && !bytes.Equal(known, property) {
				property = either(known, property)
			}
			properties[name] = property
		}
		required, err := names(one["required"])
		if err != nil {
			return err
		}
		if i == 0 {
			common = required
		} else {
			common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(required, name) })
		}
	}
	required, err := names(s["required"])
	if err != nil {
		return err
	}
	for _, name := range common {
		if !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	return s.set(properties, required)
}

func (s schema) set(properties schema, required []string) (err error) {
	if s["properties"], err = json.Marshal(properties); err != nil {
		return err
	}
	if len(required) == 0 {
		return nil
	}
	s["required"], err = json.Marshal(required)
	return err
}

// either is the schema of what fits one of two.
func either(a, b json.RawMessage) json.RawMessage {
	return slices.Concat([]byte(`{"anyOf":[`), a, []byte(","), b, []byte("]}"))
}

func members(properties json.RawMessage) (schema, error) {
	out := schema{}
	if len(properties) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(properties, &out); err != nil || out == nil {
		return nil, plinth.Errorf(abi.KindInvalidInput, "properties is an object of schemas")
	}
	return out, nil
}

func names(required json.RawMessage) (out []string, err error) {
	if len(required) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(required, &out); err != nil {
		return nil, plinth.Errorf(abi.KindInvalidInput, "required is a list of names")
	}
	return out, nil
}
