package schema

import (
	"reflect"
	"slices"
	"strings"
)

// field is a member of a struct's object.
type field struct {
	reflect.StructField
	name     string
	optional bool
	quoted   bool // by the option string
	tagged   bool // the name stands in the tag
	depth    int  // of the embedding
}

// fieldsOf lists what encoding/json reads into a struct, in the order of the source:
// embedded structs give their fields, and of several of one name the outermost wins,
// then the only one with a tag, then none.
func fieldsOf(t reflect.Type) []field {
	all := collect(t, nil, 0, false)
	byName := map[string][]field{}
	for _, f := range all {
		byName[f.name] = append(byName[f.name], f)
	}
	kept := []field{}
	for _, f := range all {
		if dominant, ok := choose(byName[f.name]); ok && slices.Equal(dominant.Index, f.Index) {
			kept = append(kept, f)
		}
	}
	return kept
}

// choose answers the field that a name stands for.
func choose(same []field) (field, bool) {
	least := slices.MinFunc(same, func(a, b field) int { return a.depth - b.depth }).depth
	var top, tagged []field
	for _, f := range same {
		if f.depth == least {
			top = append(top, f)
			if f.tagged {
				tagged = append(tagged, f)
			}
		}
	}
	switch {
	case len(top) == 1:
		return top[0], true
	case len(tagged) == 1:
		return tagged[0], true
	}
	return field{}, false
}

// collect walks a struct and what it embeds. Below an embedded pointer all is optional.
func collect(t reflect.Type, index []int, depth int, optional bool, above ...reflect.Type) (found []field) {
	if slices.Contains(above, t) {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		f.Index = append(slices.Clone(index), i)
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			if f.Type.Kind() == reflect.Pointer && !f.IsExported() {
				continue // encoding/json cannot set it
			}
			if !isSpecial(inner) {
				pointer := f.Type.Kind() == reflect.Pointer
				found = append(found, collect(inner, f.Index, depth+1, optional || pointer, append(above, t)...)...)
				continue
			}
		}
		if !f.IsExported() {
			continue
		}
		one := field{StructField: f, name: name, tagged: name != "", depth: depth}
		if name == "" {
			one.name = f.Name
		}
		chosen := strings.Split(options, ",")
		one.optional = optional || f.Type.Kind() == reflect.Pointer || slices.Contains(chosen, "omitempty") || slices.Contains(chosen, "omitzero")
		one.quoted = slices.Contains(chosen, "string") && quotable(inner.Kind())
		found = append(found, one)
	}
	return found
}

// quotable reports whether the option string concerns a kind.
func quotable(kind reflect.Kind) bool {
	return kind == reflect.Bool || kind == reflect.String || kind >= reflect.Int && kind <= reflect.Float64
}
