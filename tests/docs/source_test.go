package docs

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// parseFolder parses the files of a package, without its tests.
func parseFolder(t *testing.T, folder string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		t.Fatalf("%s has no Go files", folder)
	}
	return files
}

// constant is one constant with a literal value.
type constant struct {
	name    string
	kind    string // its named type, or empty
	value   string // of a string: without quotes
	comment string // at the end of its line
}

// constants lists the constants of a package in the order of its files.
func constants(t *testing.T, folder string) (found []constant) {
	t.Helper()
	for _, file := range parseFolder(t, folder) {
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				found = append(found, constantsOf(spec.(*ast.ValueSpec))...)
			}
		}
	}
	return found
}

func constantsOf(spec *ast.ValueSpec) (found []constant) {
	kind := ""
	if ident, ok := spec.Type.(*ast.Ident); ok {
		kind = ident.Name
	}
	for i, name := range spec.Names {
		if i >= len(spec.Values) {
			continue
		}
		literal, ok := spec.Values[i].(*ast.BasicLit)
		if !ok {
			continue
		}
		value := literal.Value
		if literal.Kind == token.STRING {
			value, _ = strconv.Unquote(value)
		}
		found = append(found, constant{name.Name, kind, value, strings.TrimSpace(spec.Comment.Text())})
	}
	return found
}

// rowsOfConstants makes a row of each constant that fits: its value as code.
func rowsOfConstants(t *testing.T, folder string, fits func(constant) bool) (rows [][]string) {
	t.Helper()
	for _, c := range constants(t, folder) {
		if fits(c) {
			rows = append(rows, []string{code(c.value)})
		}
	}
	if len(rows) == 0 {
		t.Fatalf("no constant of %s fits", folder)
	}
	return rows
}

// named fits constants whose name begins with prefix.
func named(prefix string) func(constant) bool {
	return func(c constant) bool { return strings.HasPrefix(c.name, prefix) }
}

// typed fits constants of a type.
func typed(kind string) func(constant) bool {
	return func(c constant) bool { return c.kind == kind }
}

// shapes describes Go types as JSON.
type shapes struct {
	values map[string][]string      // of closed sets, by the type's name
	link   func(name string) string // to the table of a struct
	seen   []reflect.Type           // the structs that were mentioned
}

// newShapes reads the closed sets of the packages that the types are from.
func newShapes(t *testing.T, folders ...string) *shapes {
	t.Helper()
	s := &shapes{values: map[string][]string{}}
	for _, folder := range folders {
		for _, c := range constants(t, folder) {
			if c.kind != "" {
				s.values[c.kind] = append(s.values[c.kind], c.value)
			}
		}
	}
	s.link = func(name string) string { return "[" + name + "](#" + strings.ToLower(name) + ")" }
	return s
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	timeType = reflect.TypeFor[time.Time]()
)

func (s *shapes) of(t reflect.Type) string {
	switch {
	case t == rawType:
		return "JSON"
	case t == timeType:
		return "RFC 3339 time"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		if values := s.values[t.Name()]; len(values) > 0 {
			return "`" + strings.Join(values, "`, `") + "`"
		}
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "array of " + s.of(t.Elem())
	case reflect.Map:
		return "object of " + s.of(t.Elem())
	case reflect.Struct:
		s.mention(t)
		return s.link(t.Name())
	}
	return "any JSON"
}

func (s *shapes) mention(t reflect.Type) {
	if !slices.Contains(s.seen, t) {
		s.seen = append(s.seen, t)
	}
}

// fields is the table of a struct's JSON fields, embedded ones among them.
func (s *shapes) fields(t reflect.Type, skip ...string) table {
	w := table{head: []string{"field", "type", "always", "meaning"}, written: 1}
	s.add(&w, t, skip)
	return w
}

func (s *shapes) add(w *table, t reflect.Type, skip []string) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous:
			s.add(w, field.Type, skip)
			continue
		case name == "-", len(skip) > 0 && skip[0] == name:
			continue
		}
		always := "yes"
		if strings.Contains(options, "omit") {
			always = "–"
		}
		w.rows = append(w.rows, []string{code(name), s.of(field.Type), always})
	}
}

// mentioned adds the tables of the structs that tables mention, and of those that
// these mention.
func (s *shapes) mentioned(tables map[string]table) {
	for i := 0; i < len(s.seen); i++ {
		tables[s.seen[i].Name()] = s.fields(s.seen[i])
	}
}
