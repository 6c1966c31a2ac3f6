package docs

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
)

const abiPage = "docs/reference/abi.md"

// abiSections are the files of abi/v1 in the order in which the page tells of their
// types. Those of the manifest have a page of their own.
var abiSections = []struct{ file, heading string }{
	{"call.go", "Every call"},
	{"tool.go", "Tools"},
	{"context.go", "Context sources"},
	{"provider.go", "Providers"},
	{"transform.go", "Transforms"},
	{"message.go", "References to bytes"},
	{"operation.go", "Operations: log, progress, batch"},
	{"files.go", "Operations: files"},
	{"kv.go", "Operations: the store"},
	{"process.go", "Operations: programs"},
	{"http.go", "Operations: requests over HTTP"},
	{"permission.go", "Operations: permissions and questions"},
	{"session.go", "Operations: the session"},
	{"doc.go", "Names"},
}

// exchanged says what an export takes and answers.
func exchanged() map[string]messages {
	return map[string]messages{
		abi.ExportInit:             {abi.Init{}, abi.None{}},
		abi.ExportTool:             {abi.ToolExecute{}, abi.ToolOutput{}},
		abi.ExportContext:          {abi.ContextObserve{}, abi.ContextObserved{}},
		abi.ExportProviderEncode:   {abi.ProviderEncode{}, abi.ProviderEncoded{}},
		abi.ExportProviderDecode:   {abi.ProviderDecode{}, abi.ProviderDecoded{}},
		abi.ExportProviderClassify: {abi.ProviderClassify{}, abi.ProviderError{}},
		abi.ExportTransform:        {abi.TransformApply{}, abi.TransformEdits{}},
	}
}

// TestABI makes docs/reference/abi.md of the sources of abi/v1: every exported type
// and constant, every field, with what their comments say. One without a comment is
// an error.
func TestABI(t *testing.T) {
	reference := readABI(t)
	exports := table{head: []string{"export", "type", "takes", "answers", "what it does"}, written: 1}
	entries := exchanged()
	for _, c := range constants(t, "abi/v1") {
		if !named("Export")(c) {
			continue
		}
		row := []string{code(c.value), code(signatures[c.value]), "–", "–"}
		if entry, ok := entries[c.value]; ok {
			row = []string{code(c.value), code("(i32, i32) -> i64"), typeLink(entry.request), typeLink(entry.answer)}
		} else if signatures[c.value] == "" {
			t.Errorf("%s: say in this test what the type of the export is, or what it takes and answers", c.value)
		}
		exports.rows = append(exports.rows, row)
	}
	operations := table{head: []string{"operation", "request", "answer"}}
	described := operationMessages()
	for _, name := range bridge.Offered() {
		operations.rows = append(operations.rows, []string{"[" + name + "](operations.md#" + sectionOf(name) + ")",
			typeLink(described[name].request), typeLink(described[name].answer)})
	}
	hold(t, abiPage, map[string]table{"exports": exports, "operations": operations})
	holdMade(t, abiPage, map[string]string{"kinds": reference.kinds(), "types": reference.types(), "examples": examples(t)})
}

// signatures are the types of the exports that no call is made to.
var signatures = map[string]string{
	abi.ExportMemory: "memory",
	abi.ExportMarker: "any function",
	abi.ExportAlloc:  "(i32) -> i32",
	abi.ExportFree:   "(i32, i32) -> ()",
	abi.ExportReseed: "() -> ()",
}

// sectionOf is the anchor of an operation in the page of the operations, where some
// share a heading.
func sectionOf(operation string) string {
	shared := map[string]string{"kv": "kvget-kvset-kvdelete-kvlist", "todo": "todoget-todoset", "skill": "skilllist-skillget"}
	group, _, _ := strings.Cut(operation, ".")
	if anchor, ok := shared[group]; ok {
		return anchor
	}
	return strings.ReplaceAll(operation, ".", "")
}

func typeLink(value any) string {
	name := reflect.TypeOf(value).Name()
	return "[" + name + "](#" + strings.ToLower(name) + ")"
}

// abiReference is the documentation of abi/v1.
type abiReference struct {
	t       *testing.T
	files   *token.FileSet
	pkg     *doc.Package
	printer *comment.Printer
}

func readABI(t *testing.T) *abiReference {
	t.Helper()
	r := &abiReference{t: t, files: token.NewFileSet()}
	entries, err := os.ReadDir(filepath.Join(root, "abi/v1"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, entry := range entries {
		name := entry.Name()
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if name != "manifest.go" && !slices.ContainsFunc(abiSections, func(s struct{ file, heading string }) bool { return s.file == name }) {
			t.Errorf("abi/v1/%s: say in this test under which heading its types stand", name)
		}
		file, err := parser.ParseFile(r.files, filepath.Join(root, "abi/v1", name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if r.pkg, err = doc.NewFromFiles(r.files, files, "github.com/plinthhost/plinth/abi/v1"); err != nil {
		t.Fatal(err)
	}
	r.printer = r.pkg.Printer()
	r.printer.DocLinkURL = func(link *comment.DocLink) string { return "#" + strings.ToLower(link.Name) }
	return r
}

// markdown is a comment as text of a page.
func (r *abiReference) markdown(text string) string {
	return string(r.printer.Markdown(r.pkg.Parser().Parse(text)))
}

// cell is a comment in one line.
func (r *abiReference) cell(texts ...string) string {
	joined := strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
	return strings.ReplaceAll(strings.TrimSpace(r.markdown(joined)), "|", `\|`)
}

func (r *abiReference) fileOf(at token.Pos) string {
	return filepath.Base(r.files.Position(at).Filename)
}

// types is the part with every type and every group of constants, but for the kinds.
func (r *abiReference) types() string {
	var b strings.Builder
	for _, section := range abiSections {
		b.WriteString("\n## " + section.heading + "\n")
		type part struct {
			at   token.Pos
			text string
		}
		var parts []part
		add := func(at token.Pos, text string) {
			if r.fileOf(at) == section.file && text != "" {
				parts = append(parts, part{at, text})
			}
		}
		for _, group := range r.pkg.Consts {
			add(group.Decl.Pos(), r.constants(group))
		}
		for _, of := range r.pkg.Types {
			add(of.Decl.Pos(), r.typeText(of))
		}
		slices.SortFunc(parts, func(a, b part) int { return int(a.at - b.at) })
		for _, part := range parts {
			b.WriteString("\n" + part.text)
		}
	}
	return b.String() + "\n"
}

// kinds is the table of the kinds of error.
func (r *abiReference) kinds() string {
	for _, of := range r.pkg.Types {
		if of.Name == "Kind" {
			return r.constants(of.Consts[0])
		}
	}
	r.t.Fatal("abi/v1 has no type Kind")
	return ""
}

func (r *abiReference) constants(group *doc.Value) string {
	if strings.TrimSpace(group.Doc) == "" {
		r.t.Errorf("%s: the constants have no comment", r.files.Position(group.Decl.Pos()))
	}
	var b strings.Builder
	b.WriteString(r.markdown(group.Doc))
	b.WriteString("\n| value | Go | meaning |\n|---|---|---|\n")
	for _, spec := range group.Decl.Specs {
		values := spec.(*ast.ValueSpec)
		for i, name := range values.Names {
			literal, ok := values.Values[i].(*ast.BasicLit)
			if !ok {
				r.t.Fatalf("%s: %s has no literal value", r.files.Position(name.Pos()), name.Name)
			}
			value := literal.Value
			if text, err := strconv.Unquote(value); err == nil {
				value = text
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", code(value), code(name.Name), orNone(r.cell(values.Doc.Text(), values.Comment.Text())))
		}
	}
	return b.String()
}

// typeText is the section of one type; nothing for those of the manifest.
func (r *abiReference) typeText(of *doc.Type) string {
	if of.Name == "Kind" {
		return ""
	}
	spec := of.Decl.Specs[0].(*ast.TypeSpec)
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		r.t.Errorf("%s is no struct; say in this test how it is told", of.Name)
		return ""
	}
	if slices.ContainsFunc(fields.Fields.List, func(f *ast.Field) bool { return f.Tag != nil && strings.Contains(f.Tag.Value, "toml:") }) {
		return ""
	}
	if strings.TrimSpace(of.Doc) == "" {
		r.t.Errorf("%s: %s has no comment", r.files.Position(spec.Pos()), of.Name)
	}
	var b strings.Builder
	b.WriteString("### " + of.Name + "\n\n" + r.markdown(of.Doc))
	if len(fields.Fields.List) == 0 || slices.ContainsFunc(of.Methods, func(m *doc.Func) bool { return m.Name == "MarshalJSON" }) {
		return b.String() // an empty object, or a form of its own, which the comment tells
	}
	b.WriteString("\n| field | JSON | Go | always | meaning |\n|---|---|---|---|---|\n")
	for _, field := range fields.Fields.List {
		b.WriteString(r.field(of.Name, field))
	}
	return b.String()
}

func (r *abiReference) field(of string, field *ast.Field) string {
	meaning := r.cell(field.Doc.Text(), field.Comment.Text())
	if len(field.Names) == 0 {
		if meaning == "" {
			meaning = "its fields stand among these"
		}
		return fmt.Sprintf("| all of %s | | `%s` | | %s |\n", jsonType(field.Type), goType(field.Type), meaning)
	}
	where := r.files.Position(field.Pos())
	if field.Tag == nil {
		r.t.Errorf("%s: %s.%s has no json tag", where, of, field.Names[0].Name)
		return ""
	}
	name, options, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
	if meaning == "" {
		r.t.Errorf("%s: %s.%s has no comment; say what it is, its unit, and what its zero value means", where, of, field.Names[0].Name)
	}
	always := "yes"
	if strings.Contains(options, "omit") {
		always = "–"
	}
	return fmt.Sprintf("| `%s` | %s | `%s %s` | %s | %s |\n", name, jsonType(field.Type), field.Names[0].Name, goType(field.Type), always, meaning)
}

// goType is a type as it is written in Go.
func goType(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + goType(e.X)
	case *ast.ArrayType:
		return "[]" + goType(e.Elt)
	case *ast.MapType:
		return "map[" + goType(e.Key) + "]" + goType(e.Value)
	case *ast.SelectorExpr:
		return goType(e.X) + "." + e.Sel.Name
	}
	return fmt.Sprintf("%T", expression)
}

// jsonType is the JSON of a Go type.
func jsonType(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return jsonType(e.X)
	case *ast.ArrayType:
		return "array of " + jsonType(e.Elt)
	case *ast.MapType:
		return "object of " + jsonType(e.Value)
	case *ast.SelectorExpr: // json.RawMessage
		return "any"
	case *ast.Ident:
		switch e.Name {
		case "string":
			return "string"
		case "bool":
			return "boolean"
		case "int", "int64", "uint32":
			return "integer"
		case "float64":
			return "number"
		case "T":
			return "object"
		case "Kind":
			return "[string](#kinds-of-error)"
		}
		return "[" + e.Name + "](#" + strings.ToLower(e.Name) + ")"
	}
	return goType(expression)
}
