package docs

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// behaviourPage is made of the tables of cases in the tests. Above the areas stands
// what a person wrote.
const behaviourPage = "docs/reference/behaviour.md"

// areas are the titles of the cases' areas.
var areas = map[string]string{
	"A": "Event log", "B": "Projection", "C": "Inbox", "D": "Coordinator", "E": "Runner", "F": "Context", "G": "Compaction",
	"H": "Tools and output", "I": "Builtin tools", "J": "Permissions", "K": "Plugins", "L": "Providers",
}

// markedAreas is the part of the page that is made.
var markedAreas = regexp.MustCompile(`(?s)<!-- areas -->\n.*<!-- end of areas -->`)

// TestBehaviour holds docs/reference/behaviour.md to the numbered cases.
func TestBehaviour(t *testing.T) {
	cases, err := allCases(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 50 {
		t.Fatalf("only %d cases were found", len(cases))
	}
	p := readPage(t, behaviourPage)
	if !markedAreas.MatchString(p.text) {
		t.Fatalf("%s has no part between <!-- areas --> and <!-- end of areas -->", behaviourPage)
	}
	text := "<!-- areas -->\n" + behaviourText(t, cases) + "<!-- end of areas -->"
	made := markedAreas.ReplaceAllLiteralString(p.text, text)
	switch {
	case made == p.text:
	case !*update:
		t.Errorf("%s differs from the cases; run: go test ./tests/docs -update\n%s", behaviourPage, gocmp.Diff(p.text, made))
	default:
		if err := os.WriteFile(filepath.Join(root, behaviourPage), []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// behaviourText is a section with a table for each area.
func behaviourText(t *testing.T, cases []numberedCase) string {
	t.Helper()
	slices.SortFunc(cases, func(a, b numberedCase) int {
		return cmp.Or(cmp.Compare(a.area, b.area), cmp.Compare(a.number, b.number))
	})
	tables := map[string]*table{}
	var order []string
	last := numberedCase{}
	for _, c := range cases {
		if c.number <= last.number {
			t.Errorf("the case %s%d of %s and the case %s%d of %s: a number is used once, and those of an area follow those of the area before",
				last.area, last.number, last.file, c.area, c.number, c.file)
		}
		last = c
		if tables[c.area] == nil {
			tables[c.area] = &table{head: []string{"number", "case", "tested in", "ours"}}
			order = append(order, c.area)
		}
		where := "[" + path.Base(c.file) + "](" + path.Join("../..", c.file) + ")"
		tables[c.area].rows = append(tables[c.area].rows, []string{strconv.Itoa(c.number), c.text, where, orNone(c.ours)})
	}
	var text strings.Builder
	for _, area := range order {
		if areas[area] == "" {
			t.Errorf("the area %s has no title", area)
		}
		fmt.Fprintf(&text, "\n## %s %s\n\n%s", area, areas[area], tables[area].text(t, behaviourPage+": area "+area, ""))
	}
	return text.String() + "\n"
}

// numberedCase is a case as its table says it.
type numberedCase struct {
	area, text, ours string
	number           int
	file             string // from the repository's root
}

// allCases reads the tables of cases in all tests below a folder.
func allCases(folder string) (all []numberedCase, err error) {
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		switch base := filepath.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != folder && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(base, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		found, err := casesOf(filepath.ToSlash(relative), source)
		all = append(all, found...)
		return err
	})
	return all, err
}

// casesOf reads the tables of one test file: the calls Cases(t, "AREA", []Case{…}).
func casesOf(name string, source []byte) (found []numberedCase, err error) {
	if !strings.Contains(string(source), "Cases(t, ") {
		return nil, nil
	}
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || called(call.Fun) != "Cases" || len(call.Args) != 3 || err != nil {
			return err == nil
		}
		var rows []numberedCase
		if rows, err = casesOfCall(call); err != nil {
			err = fmt.Errorf("%s: %w", positions.Position(call.Pos()), err)
		}
		for _, row := range rows {
			row.file = name
			found = append(found, row)
		}
		return err == nil
	})
	return found, err
}

// called is the name of a function, without its package.
func called(function ast.Expr) string {
	switch f := function.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func casesOfCall(call *ast.CallExpr) (rows []numberedCase, err error) {
	area, err := folded(call.Args[1])
	if err != nil {
		return nil, fmt.Errorf("the area: %w", err)
	}
	list, ok := call.Args[2].(*ast.CompositeLit)
	if !ok {
		return nil, fmt.Errorf("the table of area %s is no literal; write []sessiontest.Case{…} into the call", area)
	}
	for _, element := range list.Elts {
		row := numberedCase{area: area}
		literal, ok := element.(*ast.CompositeLit)
		if !ok {
			return nil, fmt.Errorf("a case of area %s is no literal", area)
		}
		for _, field := range literal.Elts {
			if err := row.take(field); err != nil {
				return nil, fmt.Errorf("a case of area %s after %d: %w", area, row.number, err)
			}
		}
		if row.number == 0 || row.text == "" {
			return nil, fmt.Errorf("the case %s%d needs a Number and a Text", area, row.number)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// take reads one field of a case.
func (c *numberedCase) take(field ast.Expr) (err error) {
	pair, ok := field.(*ast.KeyValueExpr)
	if !ok {
		return errors.New("its fields need their names")
	}
	switch name := called(pair.Key); name {
	case "Number":
		literal, ok := pair.Value.(*ast.BasicLit)
		if !ok {
			return errors.New("its Number is no literal")
		}
		c.number, err = strconv.Atoi(literal.Value)
	case "Text":
		c.text, err = folded(pair.Value)
	case "Ours":
		c.ours, err = folded(pair.Value)
	}
	return err
}

// folded is the text of a string literal, or of several with + between them.
func folded(expression ast.Expr) (string, error) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.ParenExpr:
		return folded(e.X)
	case *ast.BinaryExpr:
		left, err := folded(e.X)
		if err != nil || e.Op != token.ADD {
			return "", cmp.Or(err, fmt.Errorf("a text with the operator %s; join literals with +", e.Op))
		}
		right, err := folded(e.Y)
		return left + right, err
	}
	return "", errors.New("a text that is no constant; write it as literals")
}

func TestCasesAreRead(t *testing.T) {
	const table = "package x\nfunc TestX(t *testing.T) { Cases(t, \"A\", []Case{\n" +
		"{Number: 2, Text: \"a \" + (`b` + \"c\"), Run: nil}, {Ours: \"o\", Number: 1, Text: \"d\", Run: func(t *testing.T) { other.Cases(t, \"B\", []other.Case{{Number: 7, Text: \"e\"}}) }},\n}) }"
	got, err := casesOf("x_test.go", []byte(table))
	if err != nil {
		t.Fatal(err)
	}
	want := []numberedCase{{area: "A", number: 2, text: "a bc", file: "x_test.go"}, {area: "A", number: 1, text: "d", ours: "o", file: "x_test.go"},
		{area: "B", number: 7, text: "e", file: "x_test.go"}}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(numberedCase{})); diff != "" {
		t.Error(diff)
	}
	for from, wrong := range map[string]string{
		"Cases(t, \"A\", []Case{\n": "Cases(t, \"A\", made()); Cases(t, \"A\", []Case{\n", "Number: 2, ": "", "Number: 2": "Number: two",
		"`b`": "b", "(`b` + \"c\")": "(`b` - \"c\")", "Text: \"d\"": "Text: \"\"", "{Number: 2, Text: ": "{2, ",
	} {
		if got, err := casesOf("x_test.go", []byte(strings.Replace(table, from, wrong, 1))); err == nil {
			t.Errorf("with %q for %q it is read: %+v", wrong, from, got)
		}
	}
}
