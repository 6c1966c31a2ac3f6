package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Module is the path of the repository's main module. Import paths in rules
// are relative to it.
const Module = "github.com/plinthhost/plinth"

// Package is what the go command says of one package.
type Package struct {
	ImportPath   string
	Name         string
	Dir          string
	Standard     bool
	Export       string // file of compiled export data, when asked for
	GoFiles      []string
	CgoFiles     []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

// Graph is a set of packages by import path: those asked for and all they
// depend on.
type Graph map[string]*Package

// Load lists the packages that match the patterns, with their dependencies, as
// seen from the folder dir. The environment is added to the process's own.
func Load(dir string, environment []string, arguments ...string) (Graph, error) {
	command := exec.Command("go", append([]string{"list", "-json", "-deps"}, arguments...)...)
	command.Dir = dir
	command.Env = append(os.Environ(), environment...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages in %s: %w\n%s", dir, err, stderr.Bytes())
	}
	graph := Graph{}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p Package
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return graph, nil
		case err != nil:
			return nil, fmt.Errorf("read the list of packages: %w", err)
		}
		graph[p.ImportPath] = &p
	}
}

// relative is the path of a package of ours inside the repository, or false
// for a foreign one.
func relative(importPath string) (string, bool) {
	return strings.CutPrefix(importPath, Module+"/")
}

// under says whether path is the folder or lies in it.
func under(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// guest says whether the package is built for the sandbox: it belongs to a
// module of its own.
func guest(path string) bool {
	return under(path, "sdk-plugins") || under(path, "plugins") && path != "plugins/builtin"
}

// testOnly says whether the package serves tests: its name says so, or it lies
// in tests.
func testOnly(path string) bool {
	return strings.HasSuffix(path, "test") || under(path, "tests")
}

// ours is the packages of this repository by relative path.
func ours(graph Graph) map[string]*Package {
	packages := map[string]*Package{}
	for importPath, p := range graph {
		if path, ok := relative(importPath); ok {
			packages[path] = p
		}
	}
	return packages
}
