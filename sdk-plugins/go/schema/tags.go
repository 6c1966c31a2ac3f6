package schema

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// described is a property with what the field's tags say of it.
func described(property object, f reflect.StructField, at string) object {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	list := t.Kind() == reflect.Slice || t.Kind() == reflect.Array
	limits, values := limitsOf(f, t, at), object{}
	element := t
	if list {
		element = t.Elem()
	}
	if text, ok := f.Tag.Lookup("enum"); ok {
		values.set("enum", valuesOf(text, element, at))
	}
	if text, ok := f.Tag.Lookup("pattern"); ok {
		if _, err := regexp.Compile(text); err != nil || element.Kind() != reflect.String {
			panic(fmt.Sprintf("schema of %s: the tag pattern:%q wants a text and a regular expression", at, text))
		}
		values.set("pattern", text)
	}
	if list && len(values) > 0 {
		for i, m := range property {
			if items, ok := m.value.(object); ok && m.name == "items" {
				property[i].value = append(items, values...)
			}
		}
	} else {
		limits = append(limits, values...)
	}
	for _, limit := range limits {
		property = replaced(property, limit)
	}
	if doc := f.Tag.Get("doc"); doc != "" {
		property.set("description", doc)
	}
	return property
}

// replaced sets a member, in the place of the one that the type gave.
func replaced(o object, m member) object {
	for i := range o {
		if o[i].name == m.name {
			o[i].value = m.value
			return o
		}
	}
	return append(o, m)
}

// limitsOf reads the tags min and max.
func limitsOf(f reflect.StructField, t reflect.Type, at string) (limits object) {
	for _, tag := range []string{"min", "max"} {
		text, ok := f.Tag.Lookup(tag)
		if !ok {
			continue
		}
		var name string
		whole := true
		switch kind := t.Kind(); {
		case kind >= reflect.Int && kind <= reflect.Uintptr:
			name = tag + "imum"
		case kind == reflect.Float32 || kind == reflect.Float64:
			name, whole = tag+"imum", false
		case kind == reflect.String:
			name = tag + "Length"
		case kind == reflect.Slice || kind == reflect.Array:
			name = tag + "Items"
		case kind == reflect.Map:
			name = tag + "Properties"
		}
		number, err := strconv.ParseFloat(text, 64)
		if name == "" || err != nil || whole && number != float64(int64(number)) {
			panic(fmt.Sprintf("schema of %s: the tag %s:%q is no limit of a %s", at, tag, text, t))
		}
		limits.set(name, number)
	}
	return limits
}

// valuesOf reads the tag enum: values between commas.
func valuesOf(text string, t reflect.Type, at string) []any {
	values := []any{}
	for value := range strings.SplitSeq(text, ",") {
		switch kind := t.Kind(); {
		case kind == reflect.String:
			values = append(values, value)
		case kind >= reflect.Int && kind <= reflect.Float64:
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				panic(fmt.Sprintf("schema of %s: %q of the tag enum is no number", at, value))
			}
			values = append(values, number)
		default:
			panic(fmt.Sprintf("schema of %s: the tag enum is for texts and numbers, not for a %s", at, t))
		}
	}
	return values
}
