package docs

import (
	"fmt"
	"go/ast"
	goconstant "go/constant"
	"go/token"
	"strings"
	"testing"
	"time"
)

// figures reads numbers out of a package's source, so that a page can be held to
// limits that the package keeps to itself.
type figures struct {
	t     *testing.T
	where string
	files []*ast.File
}

func figuresOf(t *testing.T, folder string) figures {
	return figures{t: t, where: folder, files: parseFolder(t, folder)}
}

// constant answers the value of a constant; a time is in nanoseconds.
func (f figures) constant(name string) int {
	f.t.Helper()
	for _, file := range f.files {
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				values := spec.(*ast.ValueSpec)
				for i, ident := range values.Names {
					if ident.Name == name && i < len(values.Values) {
						return f.number(values.Values[i])
					}
				}
			}
		}
	}
	f.t.Fatalf("%s has no constant %s", f.where, name)
	return 0
}

// argument answers the last argument of a call that a function makes, and field what
// it gives to a field of a composite literal. Both are named by the text in front.
func (f figures) argument(function, first string) int {
	return f.inside(function, first, func(node ast.Node) ast.Expr {
		call, ok := node.(*ast.CallExpr)
		if ok && len(call.Args) > 1 && f.text(call.Args[0]) == first {
			return call.Args[len(call.Args)-1]
		}
		return nil
	})
}

func (f figures) field(function, name string) int {
	return f.inside(function, name, func(node ast.Node) ast.Expr {
		pair, ok := node.(*ast.KeyValueExpr)
		if ok && f.text(pair.Key) == name && f.evaluate(pair.Value) != nil {
			return pair.Value
		}
		return nil
	})
}

// element is what stands behind a name in a composite literal of a function.
func (f figures) element(function, name string) int {
	return f.inside(function, name, func(node ast.Node) ast.Expr {
		literal, ok := node.(*ast.CompositeLit)
		if ok && len(literal.Elts) > 1 && text(literal.Elts[0]) == name {
			return literal.Elts[1]
		}
		return nil
	})
}

func (f figures) inside(function, what string, find func(ast.Node) ast.Expr) int {
	f.t.Helper()
	var found ast.Expr
	for _, file := range f.files {
		for _, declaration := range file.Decls {
			if body, ok := declaration.(*ast.FuncDecl); ok && body.Name.Name == function {
				ast.Inspect(body, func(node ast.Node) bool {
					if found == nil && node != nil {
						found = find(node)
					}
					return found == nil
				})
			}
		}
	}
	if found == nil {
		f.t.Fatalf("%s: %s has no figure for %s", f.where, function, what)
	}
	return f.number(found)
}

// text is a name, or a chain of them.
func (f figures) text(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return f.text(e.X) + "." + e.Sel.Name
	case *ast.UnaryExpr:
		return f.text(e.X)
	}
	return ""
}

func (f figures) number(expression ast.Expr) int {
	f.t.Helper()
	value := f.evaluate(expression)
	if value == nil {
		f.t.Fatalf("%s: the value at %d is no number that this test can read", f.where, expression.Pos())
	}
	n, exact := goconstant.Int64Val(goconstant.ToInt(value))
	if !exact {
		f.t.Fatalf("%s: %s is no whole number", f.where, value)
	}
	return int(n)
}

// evaluate knows literals, times, and what is calculated from them; nil for all else.
func (f figures) evaluate(expression ast.Expr) goconstant.Value {
	switch e := expression.(type) {
	case *ast.BasicLit:
		if e.Kind == token.INT {
			return goconstant.MakeFromLiteral(strings.ReplaceAll(e.Value, "_", ""), token.INT, 0)
		}
	case *ast.SelectorExpr:
		units := map[string]time.Duration{"time.Millisecond": time.Millisecond, "time.Second": time.Second, "time.Minute": time.Minute}
		if unit, ok := units[f.text(e)]; ok {
			return goconstant.MakeInt64(int64(unit))
		}
	case *ast.BinaryExpr:
		left, right := f.evaluate(e.X), f.evaluate(e.Y)
		if left == nil || right == nil {
			return nil
		}
		if e.Op == token.SHL {
			by, _ := goconstant.Uint64Val(right)
			return goconstant.Shift(left, token.SHL, uint(by))
		}
		return goconstant.BinaryOp(left, e.Op, right)
	}
	return nil
}

// The ways to write a figure.
func seconds(n int) string { return fmt.Sprintf("%d s", n/int(time.Second)) }
func kib(n int) string     { return fmt.Sprintf("%d KiB", n>>10) }
func mib(n int) string     { return fmt.Sprintf("%d MiB", n>>20) }

func TestFiguresAreRead(t *testing.T) {
	bridge := figuresOf(t, "host/bridge")
	if got := bridge.constant("searchTime"); got != int(20*time.Second) {
		t.Errorf("searchTime is %d", got)
	}
	if got := bridge.constant("maxSavedOutput"); got != 10<<20 {
		t.Errorf("maxSavedOutput is %d", got)
	}
	egress := figuresOf(t, "host/egress")
	if got := egress.field("NewFetcher", "RequestBody"); got != 8<<20 {
		t.Errorf("RequestBody is %d", got)
	}
	if got := egress.argument("defaults", "l.Redirects"); got != 5 {
		t.Errorf("Redirects is %d", got)
	}
	if got := figuresOf(t, "host/plugin").element("limits", "memory_mib"); got != 512 {
		t.Errorf("memory_mib is %d", got)
	}
}
