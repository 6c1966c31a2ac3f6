// Package schema makes the JSON Schema of a Go type, by the rules of encoding/json: what
// the schema allows is what decodes into the type. It is for native programs and tests,
// as plinthtest.Schemas; a plugin's module never imports it, for it needs reflection.
//
// Tags of a field say what its type cannot:
//
//	json:"place,omitempty"  its name; omitempty or omitzero make it optional, and so does a pointer
//	doc:"City or street"    its description
//	enum:"celsius,kelvin"   the values it may have; of a list, those of its elements
//	min:"1" max:"10"        of a number; of a text its characters, of a list or a map its entries
//	pattern:"^[a-z]+$"      what a text must match; of a list, each of its elements
package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Schemer is a type that says what its JSON is like, because it decodes itself. The
// answer is a schema as JSON; the method is called on a zero value.
type Schemer interface{ JSONSchema() json.RawMessage }

// Of is the schema of T, draft 2020-12: indented JSON that ends in a line break, with the
// properties in the order of the fields. Objects of structs allow no other property,
// since the SDK refuses them. A struct that contains itself stands in $defs. It panics
// when T has no schema, such as a channel, or a tag cannot be read, and says at which
// field.
func Of[T any]() []byte {
	t := reflect.TypeFor[T]()
	m := &maker{recursive: recursiveIn(t), names: map[reflect.Type]string{}}
	root := m.inline(t, t.String()) // never a reference: providers want to see an object
	if len(m.defs) > 0 {
		root.set("$defs", m.defs)
	}
	encoded, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("schema of %s: %v", t, err))
	}
	return append(encoded, '\n')
}

// member is a name with its value; an object keeps the order in which they were set.
type member struct {
	name  string
	value any
}

type object []member

func (o *object) set(name string, value any) { *o = append(*o, member{name, value}) }

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}
