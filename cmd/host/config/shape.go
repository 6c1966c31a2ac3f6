package config

import (
	"reflect"
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"
)

// typeAt answers the type that the document has at a key, nil for none. The number
// of a list's element may be left out.
func typeAt(key []string) reflect.Type {
	at := reflect.TypeFor[document]()
	for _, part := range key {
		if at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		if at.Kind() == reflect.Slice {
			at = at.Elem()
			if _, err := strconv.Atoi(part); err == nil {
				continue
			}
		}
		switch at.Kind() {
		case reflect.Map:
			at = at.Elem()
		case reflect.Struct:
			field, ok := fieldOf(at, part)
			if !ok {
				return nil
			}
			at = field.Type
		default:
			return nil
		}
	}
	return at
}

func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for field := range t.Fields() {
		if field.Tag.Get("toml") == name {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

// keysAt answers the keys that the table at key may have.
func keysAt(key []string) []string {
	at := typeAt(key)
	for at != nil && (at.Kind() == reflect.Slice || at.Kind() == reflect.Pointer) {
		at = at.Elem()
	}
	if at == nil || at.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for field := range at.Fields() {
		names = append(names, field.Tag.Get("toml"))
	}
	return names
}

// kindAt says in words what the value at key must be.
func kindAt(key []string) string {
	at := typeAt(key)
	if len(key) == 0 || at == nil {
		return ""
	}
	if at.Kind() == reflect.Pointer {
		at = at.Elem()
	}
	switch at.Kind() {
	case reflect.String:
		return "a string in quotes"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		if at.Elem().Kind() == reflect.String {
			return "a list of strings"
		}
		return "a list of tables"
	case reflect.Map, reflect.Struct:
		return "a table"
	}
	return ""
}

// positions answers the line of every key in the file; elements of lists of tables
// have their number from 0 as a part of the key.
func positions(path string, data []byte) map[string]origin {
	p := &positioner{path: path, at: map[string]origin{}, count: map[string]int{}}
	p.parser.Reset(data)
	var table []string
	for p.parser.NextExpression() {
		node := p.parser.Expression()
		switch node.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = p.table(node)
		case unstable.KeyValue:
			p.value(table, node)
		}
	}
	return p.at
}

type positioner struct {
	parser unstable.Parser
	path   string
	at     map[string]origin
	count  map[string]int // elements of a list of tables so far
}

// table answers the key of a table's header.
func (p *positioner) table(node *unstable.Node) []string {
	var key []string
	for keys := node.Key(); keys.Next(); {
		key = append(key, string(keys.Node().Data))
		if n := p.count[join(key...)]; n > 0 && !keys.IsLast() {
			key = append(key, strconv.Itoa(n-1))
		}
		p.mark(key, keys.Node())
	}
	if node.Kind == unstable.ArrayTable {
		name := join(key...)
		p.count[name]++
		key = append(key, strconv.Itoa(p.count[name]-1))
		p.at[join(key...)] = p.at[name]
	}
	return key
}

// value marks a key and, where its value is a table or a list, what is in it.
func (p *positioner) value(table []string, node *unstable.Node) {
	key := append([]string(nil), table...)
	for keys := node.Key(); keys.Next(); {
		key = append(key, string(keys.Node().Data))
		p.mark(key, keys.Node())
	}
	p.inside(key, node.Value())
}

func (p *positioner) inside(key []string, value *unstable.Node) {
	children := value.Children()
	switch value.Kind {
	case unstable.InlineTable:
		for children.Next() {
			p.value(key, children.Node())
		}
	case unstable.Array:
		for i := 0; children.Next(); i++ {
			p.inside(append(append([]string(nil), key...), strconv.Itoa(i)), children.Node())
		}
	}
}

func (p *positioner) mark(key []string, node *unstable.Node) {
	p.at[join(key...)] = origin{source: p.path, line: p.parser.Shape(node.Raw).Start.Line}
}
