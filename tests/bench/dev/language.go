package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// language is one that plugins are written in.
type language struct {
	name   string
	source string // the file that is edited
}

func tinygo() language { return language{name: "tinygo", source: "main.go"} }

func rust() language { return language{name: "rust", source: "src/lib.rs"} }

// edited stands in the sources, in a message that the goldens do not see. An edit numbers it.
const edited = "is larger than 1 MiB"

// project is a plugin that is edited and built again and again.
type project struct {
	folder   string
	source   string // the file that is edited
	original string // its text
}

// newProject makes a tool as its author does, in a folder of its name.
func newProject(ctx context.Context, dir, name, program string, l language) (*project, error) {
	command := exec.CommandContext(ctx, program, "plugin", "new", "--lang", l.name, "--kind", "tool", "bench/"+name)
	command.Dir = dir
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make the plugin: %w\n%s", err, output)
	}
	p := &project{folder: filepath.Join(dir, name)}
	p.source = filepath.Join(p.folder, l.source)
	text, err := os.ReadFile(p.source)
	if err != nil {
		return nil, err
	}
	p.original = string(text)
	if !strings.Contains(p.original, edited) {
		return nil, fmt.Errorf("%s has no text %q to edit", p.source, edited)
	}
	return p, nil
}

// edit saves the source with another message: the module is another one afterwards.
func (p *project) edit(n int) error {
	changed := strings.Replace(p.original, edited, fmt.Sprintf("%s, %d", edited, n), 1)
	return os.WriteFile(p.source, []byte(changed), 0o600)
}

// environment is this process's, with a folder in which cargo builds what both projects need
// once. Where the cargo of PATH cannot build for the sandbox and a cargo-wasm is there, builds
// find that one.
func environment(dir string) ([]string, error) {
	environ := append(os.Environ(), "CARGO_TARGET_DIR="+filepath.Join(dir, "target"))
	wrapper, err := exec.LookPath("cargo-wasm")
	if err != nil {
		return environ, nil
	}
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return nil, err
	}
	// It looks for the real cargo itself.
	script := fmt.Sprintf("#!/bin/sh\nPATH=\"${PATH#%s:}\"\nexport PATH\nexec %s \"$@\"\n", bin, wrapper)
	if err := os.WriteFile(filepath.Join(bin, "cargo"), []byte(script), 0o700); err != nil {
		return nil, err
	}
	return append(environ, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH")), nil
}
