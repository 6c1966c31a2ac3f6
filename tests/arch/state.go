package arch

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// CheckState reports every init function and every package variable that
// something writes or could write. Commands, guests, test files and packages
// that serve tests may have them. The graph must have been loaded with export
// data ("-export").
//
// A variable is fine when nothing assigns to it, to a part of it or takes its
// address, when its type holds no state of its own, and, for exported ones, when
// the reader cannot change it either. Tables in unexported maps and slices,
// error sentinels, compiled expressions and embedded files are of that sort.
func CheckState(graph Graph) ([]string, error) {
	fset := token.NewFileSet()
	imported := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		p, ok := graph[path]
		if !ok || p.Export == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(p.Export)
	})
	survey := &survey{fset: fset, written: map[string]token.Position{}}
	for path, p := range ours(graph) {
		if !holdsNoState(path) {
			continue
		}
		if err := survey.add(p, imported); err != nil {
			return nil, fmt.Errorf("check %s: %w", path, err)
		}
	}
	return survey.report(), nil
}

// holdsNoState says whether the package is held to this rule.
func holdsNoState(path string) bool {
	return !guest(path) && !testOnly(path) && !under(path, "cmd")
}

// survey collects the variables of all packages and all writes to them.
type survey struct {
	fset      *token.FileSet
	found     []string
	variables []*types.Var
	written   map[string]token.Position // by import path and name
}

func (s *survey) add(p *Package, imported types.Importer) error {
	var files []*ast.File
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		file, err := parser.ParseFile(s.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	return s.addFiles(p.ImportPath, files, types.Config{Importer: imported, FakeImportC: true})
}

func (s *survey) addFiles(importPath string, files []*ast.File, config types.Config) error {
	info := &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{},
	}
	checked, err := config.Check(importPath, s.fset, files, info)
	if err != nil {
		return err
	}
	for _, name := range checked.Scope().Names() {
		if v, ok := checked.Scope().Lookup(name).(*types.Var); ok {
			s.variables = append(s.variables, v)
		}
	}
	for _, file := range files {
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				s.found = append(s.found, fmt.Sprintf("%s: init function; do it in a constructor that the caller calls", s.fset.Position(f.Pos())))
			}
		}
		s.writes(file, info)
	}
	return nil
}

// report judges the variables once all writes are known.
func (s *survey) report() []string {
	for _, v := range s.variables {
		where := s.fset.Position(v.Pos())
		if at, ok := s.written[variableKey(v)]; ok {
			s.found = append(s.found, fmt.Sprintf("%s: the package variable %s is written at %s; hand the value down instead", where, v.Name(), at))
			continue
		}
		if reason := stateIn(v); reason != "" {
			s.found = append(s.found, fmt.Sprintf("%s: the package variable %s %s", where, v.Name(), reason))
		}
	}
	slices.Sort(s.found)
	return s.found
}

func variableKey(v *types.Var) string { return v.Pkg().Path() + "." + v.Name() }

// writes notes every package variable that the file assigns to, takes the
// address of, or clears.
func (s *survey) writes(file *ast.File, info *types.Info) {
	note := func(target ast.Expr) {
		if v := packageVariable(target, info); v != nil {
			s.written[variableKey(v)] = s.fset.Position(target.Pos())
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, target := range n.Lhs {
				note(target)
			}
		case *ast.IncDecStmt:
			note(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				note(n.Key)
				note(n.Value)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				note(n.X)
			}
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && isWritingBuiltin(info.Uses[name]) && len(n.Args) > 0 {
				note(n.Args[0])
			}
		case *ast.SelectorExpr:
			if takesAddress(info.Selections[n]) {
				note(n.X)
			}
		}
		return true
	})
}

func isWritingBuiltin(object types.Object) bool {
	builtin, ok := object.(*types.Builtin)
	return ok && slices.Contains([]string{"delete", "clear", "copy"}, builtin.Name())
}

// takesAddress says whether the selection is of a method with a pointer
// receiver on something that is not a pointer.
func takesAddress(selection *types.Selection) bool {
	if selection == nil || selection.Kind() != types.MethodVal {
		return false
	}
	signature := selection.Obj().Type().(*types.Signature)
	_, onPointer := signature.Recv().Type().(*types.Pointer)
	_, isPointer := selection.Recv().Underlying().(*types.Pointer)
	return onPointer && !isPointer
}

// packageVariable is the package variable that an expression is or is a part
// of, or nil.
func packageVariable(e ast.Expr, info *types.Info) *types.Var {
	switch e := e.(type) {
	case *ast.Ident:
		v, ok := info.Uses[e].(*types.Var)
		if ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
			return v
		}
		return nil
	case *ast.SelectorExpr:
		if info.Selections[e] == nil {
			return packageVariable(e.Sel, info) // a qualified name
		}
		return packageVariable(e.X, info)
	case *ast.IndexExpr:
		return packageVariable(e.X, info)
	case *ast.SliceExpr:
		return packageVariable(e.X, info)
	case *ast.StarExpr:
		return packageVariable(e.X, info)
	case *ast.ParenExpr:
		return packageVariable(e.X, info)
	default:
		return nil
	}
}
