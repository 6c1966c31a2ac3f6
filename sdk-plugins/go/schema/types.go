package schema

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// maker makes one schema.
type maker struct {
	recursive map[reflect.Type]bool
	names     map[reflect.Type]string // in $defs
	defs      object
}

// of is the schema of a type; at is where it stands, for errors.
func (m *maker) of(t reflect.Type, at string) object {
	if m.recursive[t] {
		return object{{"$ref", "#/$defs/" + m.define(t, at)}}
	}
	return m.inline(t, at)
}

// define puts a struct that contains itself into $defs, once, and answers its name.
func (m *maker) define(t reflect.Type, at string) string {
	if name, ok := m.names[t]; ok {
		return name
	}
	base, _, _ := strings.Cut(t.Name(), "[") // without the arguments of a generic type
	name := base
	for taken := 2; m.taken(name); taken++ {
		name = fmt.Sprintf("%s%d", base, taken)
	}
	m.names[t] = name
	i := len(m.defs)
	m.defs.set(name, nil) // before its fields, which may name it
	m.defs[i].value = m.inline(t, at)
	return name
}

func (m *maker) taken(name string) bool {
	for _, known := range m.names {
		if known == name {
			return true
		}
	}
	return false
}

func (m *maker) inline(t reflect.Type, at string) object {
	if known, ok := special(t, at); ok {
		return known
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.String:
		return object{{"type", "string"}}
	case reflect.Int, reflect.Int64:
		return object{{"type", "integer"}}
	case reflect.Int8, reflect.Int16, reflect.Int32:
		half := int64(1) << (t.Bits() - 1)
		return object{{"type", "integer"}, {"minimum", -half}, {"maximum", half - 1}}
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return object{{"type", "integer"}, {"minimum", 0}}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return object{{"type", "integer"}, {"minimum", 0}, {"maximum", int64(1)<<t.Bits() - 1}}
	case reflect.Float32, reflect.Float64:
		return object{{"type", "number"}}
	case reflect.Interface:
		return object{}
	case reflect.Pointer:
		return m.of(t.Elem(), at)
	case reflect.Slice:
		return object{{"type", "array"}, {"items", m.of(t.Elem(), at+"[]")}}
	case reflect.Array: // encoding/json drops what is more and leaves zero what is less
		return object{{"type", "array"}, {"items", m.of(t.Elem(), at+"[]")}, {"minItems", t.Len()}, {"maxItems", t.Len()}}
	case reflect.Map:
		return object{{"type", "object"}, {"additionalProperties", m.of(t.Elem(), at+"{}")}}
	case reflect.Struct:
		return m.structure(t, at)
	}
	panic(fmt.Sprintf("schema of %s: JSON has nothing for a %s; leave it out with json:\"-\"", at, t.Kind()))
}

func (m *maker) structure(t reflect.Type, at string) object {
	properties := object{}
	required := []string{}
	for _, f := range fieldsOf(t) {
		place := at + "." + f.name
		property := object{{"type", "string"}} // of a number or a boolean under the option string
		if !f.quoted {
			property = m.of(f.Type, place)
		}
		properties.set(f.name, described(property, f.StructField, place))
		if !f.optional {
			required = append(required, f.name)
		}
	}
	made := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		made.set("required", required)
	}
	made.set("additionalProperties", false)
	return made
}

// special is the schema of a type that encoding/json does not take apart.
func special(t reflect.Type, at string) (object, bool) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{{"type", "string"}, {"format", "date-time"}}, true
	case reflect.TypeFor[json.Number]():
		return object{{"type", "number"}}, true
	case reflect.TypeFor[json.RawMessage]():
		return object{}, true
	}
	pointer := reflect.PointerTo(t)
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface:
		return nil, false
	case pointer.Implements(reflect.TypeFor[Schemer]()):
		return written(reflect.New(t).Interface().(Schemer).JSONSchema(), at), true
	case pointer.Implements(reflect.TypeFor[json.Unmarshaler]()):
		panic(fmt.Sprintf("schema of %s: %s decodes itself, so its schema cannot be told; give it a method JSONSchema() json.RawMessage", at, t))
	case pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return object{{"type", "string"}}, true
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return object{{"type", "string"}, {"contentEncoding", "base64"}}, true
	}
	return nil, false
}

// isSpecial reports whether a struct has no fields in JSON.
func isSpecial(t reflect.Type) bool {
	decoders := []reflect.Type{reflect.TypeFor[Schemer](), reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}
	return slices.ContainsFunc(decoders, reflect.PointerTo(t).Implements)
}

// written is a schema that a type gives itself.
func written(text json.RawMessage, at string) object {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		panic(fmt.Sprintf("schema of %s: what JSONSchema answers is no JSON object: %v", at, err))
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	_, _ = decoder.Token() // the brace, which was read above
	made := object{}
	for range members {
		name, _ := decoder.Token()
		var value json.RawMessage
		_ = decoder.Decode(&value)
		made.set(name.(string), value)
	}
	return made
}

// recursiveIn finds the structs below a type that contain themselves.
func recursiveIn(root reflect.Type) map[reflect.Type]bool {
	found := map[reflect.Type]bool{}
	done := map[reflect.Type]bool{}
	var path []reflect.Type
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			if t.Name() == "" {
				walk(t.Elem())
				return
			}
		case reflect.Struct:
		default:
			return
		}
		for i, above := range path {
			if above == t {
				found[path[i]] = true
				return
			}
		}
		if done[t] {
			return
		}
		path = append(path, t)
		if t.Kind() == reflect.Struct {
			if !isSpecial(t) {
				for _, f := range fieldsOf(t) {
					walk(f.Type)
				}
			}
		} else {
			walk(t.Elem())
		}
		path = path[:len(path)-1]
		done[t] = true
	}
	walk(root)
	return found
}
