package docs

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/cmd/host/config"
)

// TestConfiguration holds docs/reference/configuration.md to the file's keys, their
// types and defaults, the variables and flags that give them, and what is said of a
// wrong value.
func TestConfiguration(t *testing.T) {
	const name = "docs/reference/configuration.md"
	variables, flags := layered(t)
	defaults := defaultValues(t)
	keys := table{head: []string{"key", "type", "default", "variable", "flag", "meaning and limit"}, written: 1}
	for _, key := range documentKeys(t) {
		value, ok := defaults[squeezed(key.name)]
		if !ok {
			value = orNone(key.preset)
		}
		keys.rows = append(keys.rows, []string{code(key.name), key.kind, value, orNone(code(variables[key.name])), orNone(flags[key.name])})
	}
	other := table{head: []string{"variable", "means"}, written: 1}
	for _, variable := range otherVariables(t) {
		other.rows = append(other.rows, []string{code(variable)})
	}
	hold(t, name, map[string]table{"keys": keys, "other variables": other, "mistakes": mistakes(t, name, keys.rows)})
}

// keyOf is one key of config.toml.
type keyOf struct {
	name, kind string
	preset     string // where the type has no default to ask
}

// documentKeys lists the keys of config.toml in the order of the type that it is
// decoded into. Of the table of plugins, whose keys are names, the loader says which
// there are.
func documentKeys(t *testing.T) []keyOf {
	t.Helper()
	structs := map[string]*ast.StructType{}
	for _, file := range parseFolder(t, "cmd/host/config") {
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.TypeSpec); ok {
				if fields, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = fields
				}
			}
			return true
		})
	}
	if structs["document"] == nil {
		t.Fatal("cmd/host/config has no type document")
	}
	var keys []keyOf
	var walk func(above string, fields *ast.StructType)
	walk = func(above string, fields *ast.StructType) {
		for _, field := range fields.Fields.List {
			key := above + reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("toml")
			inner, kind := unwrap(structs, field.Type)
			switch {
			case key == "plugins":
				keys = append(keys, keyOf{"plugins.folders", "list of strings", ""}, keyOf{"plugins.files", "list of strings", ""},
					keyOf{"plugins.development", "true or false", ""})
				for _, setting := range known(t, "[plugins.\"a/b\"]\nzz = 1\n") {
					keys = append(keys, keyOf{`plugins."OWNER/NAME".` + setting, pluginKinds[setting].kind, pluginKinds[setting].preset})
				}
			case key == "models":
				walk(`models."PROVIDER/MODEL".`, inner)
			case inner == nil && kind == "map":
				keys = append(keys, keyOf{key, "table", ""})
			case inner == nil:
				keys = append(keys, keyOf{key, kind, ""})
			case kind == "map":
				walk(key+".NAME.", inner)
			case kind == "list":
				walk(key+"[].", inner)
			default:
				walk(key+".", inner)
			}
		}
	}
	walk("", structs["document"])
	return keys
}

// pluginKinds are the settings of one plugin, which the loader takes apart by hand.
var pluginKinds = map[string]keyOf{
	"enabled":  {kind: "true or false", preset: "`true`"},
	"required": {kind: "true or false", preset: "`false`"},
	"order":    {kind: "whole number", preset: "`0`"},
	"config":   {kind: "table", preset: "–"},
	"limits":   {kind: "table", preset: "–"},
	"secrets":  {kind: "table", preset: "–"},
}

// unwrap answers the struct in a type, or nil and the kind of value.
func unwrap(structs map[string]*ast.StructType, expression ast.Expr) (fields *ast.StructType, kind string) {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return unwrap(structs, e.X)
	case *ast.StructType:
		return e, "table"
	case *ast.MapType:
		if inner, _ := unwrap(structs, e.Value); inner != nil {
			return inner, "map"
		}
		return nil, "table"
	case *ast.ArrayType:
		if inner, _ := unwrap(structs, e.Elt); inner != nil {
			return inner, "list"
		}
		return nil, "list of strings"
	case *ast.Ident:
		switch {
		case structs[e.Name] != nil:
			return structs[e.Name], "table"
		case e.Name == "int", e.Name == "int64":
			return nil, "whole number"
		case e.Name == "float64":
			return nil, "number"
		case e.Name == "any":
			return nil, "string or number"
		case e.Name == "bool":
			return nil, "true or false"
		case e.Name == "float64":
			return nil, "number"
		case e.Name == "any":
			return nil, "number or string"
		}
	}
	return nil, "string"
}

// load loads a file's text with an empty environment and replaces its path by FILE.
func load(t *testing.T, text string, environ ...string) (config.Config, string) {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, ".config/plinth/config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(config.Sources{Environ: append([]string{"HOME=" + folder}, environ...)})
	if err == nil {
		return loaded, ""
	}
	if _, ok := errors.AsType[*config.Error](err); !ok {
		t.Fatal(err)
	}
	return loaded, strings.ReplaceAll(strings.ReplaceAll(err.Error(), file, "FILE"), folder, "HOME")
}

// known answers the keys that the loader names beside an unknown one.
func known(t *testing.T, text string) []string {
	t.Helper()
	_, said := load(t, text)
	_, list, ok := strings.Cut(said, "known here: ")
	if !ok {
		t.Fatalf("%s: %s", text, said)
	}
	return strings.Split(list, ", ")
}

// otherVariables lists the variables that are no settings: PLINTH_CONFIG and those
// of the command line.
func otherVariables(t *testing.T) []string {
	t.Helper()
	found := []string{"PLINTH_CONFIG"}
	for _, c := range constants(t, "cmd/host") {
		if named("variable")(c) {
			found = append(found, c.value)
		}
	}
	if _, said := load(t, "", "PLINTH_NONSENSE=1"); !strings.Contains(said, "known are PLINTH_CONFIG, ") {
		t.Errorf("an unknown variable: %s", said)
	}
	return found
}

// layered answers the variable and the flag of each key, as layers.go pairs them. A
// flag counts when a command takes it into the configuration.
func layered(t *testing.T) (variables, flags map[string]string) {
	t.Helper()
	variables, flags = map[string]string{}, map[string]string{}
	bound := boundFlags(t)
	for _, file := range parseFolder(t, "cmd/host/config") {
		ast.Inspect(file, func(node ast.Node) bool {
			literal, ok := node.(*ast.CompositeLit)
			if !ok || literal.Type != nil || len(literal.Elts) != 4 {
				return true
			}
			variable := text(literal.Elts[1])
			if !strings.HasPrefix(variable, "PLINTH_") {
				return true
			}
			key := text(literal.Elts[0])
			variables[key] = variable
			flags[key] = bound[text(literal.Elts[2])]
			return true
		})
	}
	if len(variables) == 0 {
		t.Fatal("layers.go pairs no key with a variable")
	}
	return variables, flags
}

// text is a string literal, or the parts of a join with dots between.
func text(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			value, _ := strconv.Unquote(e.Value)
			return value
		}
	case *ast.CallExpr:
		var parts []string
		for _, argument := range e.Args {
			parts = append(parts, text(argument))
		}
		return strings.Join(parts, ".")
	}
	return ""
}

// boundFlags answers, by flag, the commands whose flag sets a field of c.flags.
func boundFlags(t *testing.T) map[string]string {
	t.Helper()
	bound := map[string]string{}
	for _, file := range parseFolder(t, "cmd/host") {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			ast.Inspect(function.Body, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok || len(call.Args) < 2 || !isOverride(call.Args[0]) {
					return true
				}
				flag := "--" + text(call.Args[1])
				where := strings.TrimSuffix(function.Name.Name, "Command")
				if where == "command" || where == "" {
					bound[flag] = code(flag)
				} else {
					bound[flag] = code(flag) + " of " + where
				}
				return true
			})
		}
	}
	if len(bound) == 0 {
		t.Fatal("no flag of cmd/host sets the configuration")
	}
	return bound
}

// isOverride reports whether the expression is &c.flags.SOMETHING.
func isOverride(expression ast.Expr) bool {
	address, ok := expression.(*ast.UnaryExpr)
	if !ok || address.Op != token.AND {
		return false
	}
	field, ok := address.X.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	inner, ok := field.X.(*ast.SelectorExpr)
	return ok && inner.Sel.Name == "flags"
}

// defaultValues answers what an empty configuration has, by the field's name.
func defaultValues(t *testing.T) map[string]string {
	t.Helper()
	loaded, said := load(t, "")
	if said != "" {
		t.Fatal(said)
	}
	found := map[string]string{}
	var walk func(above string, value reflect.Value)
	walk = func(above string, value reflect.Value) {
		for i := range value.NumField() {
			name := above + strings.ToLower(value.Type().Field(i).Name)
			switch field := value.Field(i); {
			case field.Kind() == reflect.Struct && field.Type().Name() == "ModelRef":
				found[name] = code(`"` + loaded.Model.String() + `"`)
			case field.Kind() == reflect.Struct:
				walk(name, field)
			case field.Kind() == reflect.String && name == "data":
				found[name] = "`$XDG_DATA_HOME/plinth`"
				if !strings.HasSuffix(field.String(), "/.local/share/plinth") {
					t.Errorf("the default data folder is %s", field)
				}
			case field.Kind() == reflect.Slice, field.Kind() == reflect.String && field.Len() == 0:
				found[name] = "none"
			case field.Kind() == reflect.String:
				found[name] = code(strconv.Quote(field.String()))
			case field.Kind() == reflect.Bool:
				found[name] = code(strconv.FormatBool(field.Bool()))
			case field.CanInt():
				found[name] = code(fmt.Sprint(field.Int()))
			}
		}
	}
	walk("", reflect.ValueOf(loaded))
	return found
}

// squeezed is a key as the fields' names are: without dots and underscores.
func squeezed(key string) string {
	return strings.NewReplacer(".", "", "_", "").Replace(key)
}

// mistakes makes the table of wrong values from its own first column: what the loader
// says of each. Every key has at least one.
func mistakes(t *testing.T, name string, keys [][]string) table {
	t.Helper()
	w := table{head: []string{"wrong", "is answered with"}}
	covered := ""
	for _, match := range marked.FindAllStringSubmatch(readPage(t, name).text, -1) {
		if match[1] != "mistakes" {
			continue
		}
		for _, row := range rowsOf(match[2]) {
			text := strings.NewReplacer("⏎ ", "\n", `\|`, "|").Replace(strings.Trim(row[0], "`"))
			_, said := load(t, text)
			if said == "" {
				t.Errorf("%s: nothing is wrong with %s", name, row[0])
			}
			covered += said + "\n"
			w.rows = append(w.rows, []string{strings.ReplaceAll(row[0], `\|`, "|"), code(said)})
		}
	}
	for _, row := range keys {
		key := strings.Trim(row[0], "`")
		key = strings.NewReplacer("NAME.", "p.", "[].", ".0.", `"OWNER/p.`, `"OWNER/NAME".`).Replace(key)
		pattern := regexp.QuoteMeta(strings.NewReplacer(`"OWNER/NAME"`, `"a/b"`, `"PROVIDER/MODEL"`, `"p/m"`).Replace(key))
		if !regexp.MustCompile(`(?m)FILE:\d+: ` + pattern + `[ :.]`).MatchString(covered) {
			t.Errorf("%s: the table of mistakes has none of the key %s (%s)", name, row[0], pattern)
		}
	}
	return w
}
