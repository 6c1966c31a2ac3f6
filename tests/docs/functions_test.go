package docs

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
)

// functionsOfOperations has a row of each operation with the functions of the SDKs that
// ask for it.
func functionsOfOperations(t *testing.T) table {
	t.Helper()
	inGo, inRust := goFunctions(t), rustFunctions(t)
	w := table{head: []string{"operation", "Go", "Rust"}}
	for _, name := range bridge.Offered() {
		for language, found := range map[string][]string{"Go": inGo[name], "Rust": inRust[name]} {
			if len(found) == 0 {
				t.Errorf("the SDK for %s has no function that asks for %s", language, name)
			}
		}
		w.rows = append(w.rows, []string{code(name), codes(inGo[name]), codes(inRust[name])})
	}
	return w
}

// codes is each text as code.
func codes(texts []string) string {
	cells := make([]string, len(texts))
	for i, text := range texts {
		cells[i] = code(text)
	}
	return strings.Join(cells, ", ")
}

// goFunctions finds the exported functions of the package host by the operations that
// stand in them.
func goFunctions(t *testing.T) map[string][]string {
	t.Helper()
	operations := map[string]string{}
	for _, c := range constants(t, "abi/v1") {
		if named("Op")(c) {
			operations[c.name] = c.value
		}
	}
	found := map[string][]string{}
	for _, file := range parseFolder(t, "sdk-plugins/go/host") {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || !function.Name.IsExported() {
				continue
			}
			name, seen := "host."+function.Name.Name, map[string]bool{}
			if function.Recv != nil {
				name = "host." + receiver(function)
			}
			ast.Inspect(function, func(node ast.Node) bool {
				selector, ok := node.(*ast.SelectorExpr)
				if operation := operations[nameOf(selector)]; ok && operation != "" && !seen[operation] {
					seen[operation] = true
					found[operation] = append(found[operation], name)
				}
				return true
			})
		}
	}
	return found
}

func nameOf(selector *ast.SelectorExpr) string {
	if selector == nil {
		return ""
	}
	return selector.Sel.Name
}

// receiver is the type that a method is of.
func receiver(function *ast.FuncDecl) string {
	of := function.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if named, ok := of.(*ast.Ident); ok {
		return named.Name
	}
	return ""
}

// What opens a function or the functions of a type in Rust, and an operation in one.
var (
	rustFunction  = regexp.MustCompile(`^( *)(?:pub )?fn (\w+)`)
	rustOf        = regexp.MustCompile(`^impl (\w+) `)
	rustOperation = regexp.MustCompile(`\bOP_[A-Z_]+`)
)

// rustFunctions is goFunctions for the crate. The functions of log are of its levels.
func rustFunctions(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{abi.OpLog: {"log::debug", "log::info", "log::warn", "log::error"}}
	files, err := filepath.Glob(filepath.Join(root, "sdk-plugins/rust/src/host/*.rs"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the sources of the Rust SDK: %d, %v", len(files), err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		function, of := "", ""
		seen := map[string]bool{}
		for line := range strings.Lines(string(content)) {
			if match := rustOf.FindStringSubmatch(line); match != nil {
				of = match[1]
			}
			if match := rustFunction.FindStringSubmatch(line); match != nil {
				if function = "host::" + match[2]; match[1] != "" {
					function = "host::" + of
				}
			}
			if function == "" || strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			for _, constant := range rustOperation.FindAllString(line, -1) {
				operation := operationOf(constant)
				if !seen[function+operation] {
					seen[function+operation] = true
					found[operation] = append(found[operation], function)
				}
			}
		}
	}
	return found
}

// operationOf is the operation of a constant like OP_FS_READ.
func operationOf(constant string) string {
	return strings.Replace(strings.ToLower(strings.TrimPrefix(constant, "OP_")), "_", ".", 1)
}
