package main

import (
	"encoding/json"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// project puts a tool's input schema into the words that the protocol knows: a request
// with any other is refused. What cannot be said is left out, which lets the model
// write more than the tool takes, never less. Nil is for a tool without input: the
// protocol knows no empty objects.
func project(input json.RawMessage) ([]byte, error) {
	input, err := wire.ObjectSchema(input)
	if err != nil {
		return nil, err
	}
	p := &projector{}
	s, err := p.read(input)
	if err != nil {
		return nil, err
	}
	p.definitions = s.definitions
	if len(s.properties) == 0 {
		return nil, nil
	}
	return p.append(make([]byte, 0, len(input)), s, 0)
}

// References may go round, so they are followed so deep, and in a tool's schema so many
// schemas are read. What lies beyond is a text.
const (
	deepest = 12
	most    = 1000
)

// projector projects the schemas of one tool.
type projector struct {
	definitions []named // what references name
	count       int     // of the schemas that were read
}

type named struct {
	name  string
	value json.RawMessage
}

// schema is what of a JSON Schema has a counterpart.
type schema struct {
	types       []string // without null
	nullable    bool
	description string
	format      string
	minLength   json.RawMessage
	enum        []json.RawMessage
	required    []string
	properties  []named
	items       json.RawMessage
	any         []json.RawMessage
	all         []json.RawMessage
	reference   string
	definitions []named
}

func (p *projector) read(input json.RawMessage) (s schema, err error) {
	p.count++
	r := jsonscan.NewReader(input)
	if r.Kind() == 't' || r.Kind() == 'f' { // true takes anything
		return s, nil
	}
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		s.member(key, &r)
	}
	if !r.End() {
		return s, plinth.Errorf(abi.KindInvalidInput, "%v", r.Err())
	}
	return s, nil
}

func (s *schema) member(key string, r *jsonscan.Reader) { //nolint:cyclop // a table
	switch key {
	case "type":
		s.readTypes(r)
	case "nullable":
		s.nullable = r.Bool()
	case "description":
		s.description = r.String()
	case "format":
		s.format = r.String()
	case "minLength":
		s.minLength = r.Raw()
	case "enum":
		s.enum = list(r)
	case "const":
		s.enum = []json.RawMessage{r.Raw()}
	case "required":
		for r.Array(); r.More(); {
			s.required = append(s.required, r.String())
		}
	case "properties":
		s.properties = members(r)
	case "items", "prefixItems":
		if r.Kind() == '[' {
			s.items = append(append([]byte(`{"anyOf":`), r.Raw()...), '}')
		} else {
			s.items = r.Raw()
		}
	case "anyOf", "oneOf":
		s.any = append(s.any, list(r)...)
	case "allOf":
		s.all = list(r)
	case "$ref":
		s.reference = r.String()
	case "$defs", "definitions":
		s.definitions = append(s.definitions, members(r)...)
	default:
		r.Skip()
	}
}

func (s *schema) readTypes(r *jsonscan.Reader) {
	if r.Kind() == '"' {
		s.addType(r.String())
		return
	}
	for r.Array(); r.More(); {
		s.addType(r.String())
	}
}

func (s *schema) addType(name string) {
	if name == "null" {
		s.nullable = true
	} else {
		s.types = append(s.types, name)
	}
}

func list(r *jsonscan.Reader) (values []json.RawMessage) {
	for r.Array(); r.More(); {
		values = append(values, r.Raw())
	}
	return values
}

func members(r *jsonscan.Reader) (out []named) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return out
		}
		out = append(out, named{strings.Clone(key), r.Raw()})
	}
}

// append writes a schema and all below it.
func (p *projector) append(dst []byte, s schema, depth int) (_ []byte, err error) {
	if s, err = p.whole(s, depth); err != nil {
		return nil, err
	}
	dst = append(dst, '{')
	switch {
	case len(s.types) == 1:
		dst = jsonscan.AppendStringField(dst, "type", s.types[0])
	case len(s.types) == 0 && len(s.properties) > 0:
		dst = jsonscan.AppendStringField(dst, "type", "object")
	case len(s.types) == 0 && len(s.enum) > 0 && s.enum[0][0] == '"':
		dst = jsonscan.AppendStringField(dst, "type", "string")
	}
	dst = s.appendWords(dst)
	if len(s.properties) > 0 {
		if dst, err = p.appendProperties(dst, s, depth); err != nil {
			return nil, err
		}
	}
	if s.items != nil || len(s.types) == 1 && s.types[0] == "array" {
		if dst, err = p.appendOne(jsonscan.AppendField(dst, "items"), s.items, depth+1); err != nil {
			return nil, err
		}
	}
	if len(s.any) > 0 {
		dst = append(jsonscan.AppendField(dst, "anyOf"), '[')
		for i, one := range s.any {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = p.appendOne(dst, one, depth+1); err != nil {
				return nil, err
			}
		}
		dst = append(dst, ']')
	}
	return append(dst, '}'), nil
}

// whole is a schema with what it refers to and is made of, and with several types as
// alternatives.
func (p *projector) whole(s schema, depth int) (schema, error) {
	parts := s.all
	if s.reference != "" {
		parts = append(parts, p.lookup(s.reference))
	}
	for _, part := range parts {
		if depth > deepest || p.count > most {
			break
		}
		other, err := p.read(part)
		if err == nil {
			other, err = p.whole(other, depth+1)
		}
		if err != nil {
			return s, err
		}
		s.add(other)
	}
	if len(s.types) > 1 {
		for _, name := range s.types {
			s.any = append(s.any, json.RawMessage(`{"type":"`+name+`"}`))
		}
		s.types = nil
	}
	kept := s.any[:0:0]
	for _, one := range s.any {
		if string(one) == `{"type":"null"}` {
			s.nullable = true
		} else {
			kept = append(kept, one)
		}
	}
	s.any = kept
	return s, nil
}

// lookup is what a reference within the schema names; anything where it names nothing.
func (p *projector) lookup(reference string) json.RawMessage {
	name := reference[strings.LastIndexByte(reference, '/')+1:]
	for _, one := range p.definitions {
		if one.name == name && (reference == "#/$defs/"+name || reference == "#/definitions/"+name) {
			return one.value
		}
	}
	return json.RawMessage("{}")
}

// add takes in what another schema asks for beside this one.
func (s *schema) add(other schema) {
	if len(s.types) == 0 {
		s.types = other.types
	}
	if s.description == "" {
		s.description = other.description
	}
	if s.format == "" {
		s.format = other.format
	}
	if s.minLength == nil {
		s.minLength = other.minLength
	}
	if s.enum == nil {
		s.enum = other.enum
	}
	if s.items == nil {
		s.items = other.items
	}
	s.nullable = s.nullable || other.nullable
	s.properties = append(s.properties, other.properties...)
	s.required = append(s.required, other.required...)
	s.any = append(s.any, other.any...)
}

// appendWords writes what has no schemas below it. Values to choose from are texts
// only; others are named in the description.
func (s schema) appendWords(dst []byte) []byte {
	texts, others := []json.RawMessage{}, []string{}
	for _, value := range s.enum {
		switch {
		case value[0] == '"':
			texts = append(texts, value)
		case string(value) == "null":
			s.nullable = true
		default:
			others = append(others, string(value))
		}
	}
	if len(others) > 0 {
		texts = nil
		s.description = strings.TrimPrefix(s.description+"; one of "+strings.Join(others, ", "), "; ")
	}
	dst = jsonscan.AppendStringField(dst, "description", s.description)
	switch s.format {
	case "date-time", "enum", "float", "double", "int32", "int64":
		dst = jsonscan.AppendStringField(dst, "format", s.format)
	}
	if len(texts) > 0 {
		dst = wire.AppendList(jsonscan.AppendField(dst, "enum"), texts, appendRaw)
	}
	dst = jsonscan.AppendRawField(dst, "minLength", s.minLength)
	if s.nullable {
		dst = append(jsonscan.AppendField(dst, "nullable"), "true"...)
	}
	return dst
}

// appendProperties writes each property once, and which of them are required.
func (p *projector) appendProperties(dst []byte, s schema, depth int) (_ []byte, err error) {
	seen := map[string]bool{}
	dst = append(jsonscan.AppendField(dst, "properties"), '{')
	for _, one := range s.properties {
		if seen[one.name] {
			continue
		}
		if len(seen) > 0 {
			dst = append(dst, ',')
		}
		seen[one.name] = true
		dst = append(jsonscan.AppendString(dst, one.name), ':')
		if dst, err = p.appendOne(dst, one.value, depth+1); err != nil {
			return nil, err
		}
	}
	dst = append(dst, '}')
	var required []string
	for _, name := range s.required {
		if seen[name] {
			required = append(required, name)
			seen[name] = false
		}
	}
	if len(required) > 0 {
		dst = wire.AppendList(jsonscan.AppendField(dst, "required"), required, jsonscan.AppendString)
	}
	return dst, nil
}

// appendOne writes a schema below another; what is too deep, or missing, is a text.
func (p *projector) appendOne(dst []byte, input json.RawMessage, depth int) ([]byte, error) {
	if len(input) == 0 || depth > deepest || p.count > most {
		return append(dst, `{"type":"string"}`...), nil
	}
	s, err := p.read(input)
	if err != nil {
		return nil, err
	}
	return p.append(dst, s, depth)
}
