package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// language is a plugin that is edited and built again and again.
type language struct {
	name   string
	folder string // of the plugin, in the repository
	source string // the file that is edited
	text   string // in it, of a message that the goldens do not see; an edit numbers it
	// standalone makes a copy of the folder build where it lies.
	standalone map[string]string // by text in the copy's build files, what stands there instead
	files      []string          // those files
}

func tinygo() language {
	return language{name: "tinygo", folder: "plugins/examples/house-rules", source: "main.go", text: "write a rule or take it out",
		files: []string{"go.mod"}, standalone: map[string]string{
			"=> ../../../sdk-plugins/go": "=> ROOT/sdk-plugins/go", "=> ../../..\n": "=> ROOT\n"}}
}

func rust() language {
	return language{name: "rust", folder: "tests/bench/dev/testdata/rust", source: "src/lib.rs", text: "there is no name",
		files: []string{"Cargo.toml"}, standalone: map[string]string{"GLUE": "ROOT/tests/conformance/guests/rust/plinth"}}
}

// copyTo makes a plugin of its own that builds anywhere.
func (l language) copyTo(folder string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := os.CopyFS(folder, os.DirFS(l.folder)); err != nil {
		return fmt.Errorf("copy the plugin: %w; run it in the repository", err)
	}
	for _, name := range l.files {
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed := string(text)
		for from, to := range l.standalone {
			changed = strings.ReplaceAll(changed, from, strings.ReplaceAll(to, "ROOT", root))
		}
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// edit saves the source with another message: the module is another one afterwards.
func (l language) edit(folder string, n int) error {
	original, err := os.ReadFile(filepath.Join(l.folder, l.source))
	if err != nil {
		return err
	}
	if !strings.Contains(string(original), l.text) {
		return fmt.Errorf("%s has no text %q to edit", l.source, l.text)
	}
	changed := strings.Replace(string(original), l.text, fmt.Sprintf("%s, %d", l.text, n), 1)
	return os.WriteFile(filepath.Join(folder, l.source), []byte(changed), 0o600)
}

// environment is this process's, without the repository's workspace. Where the cargo of
// PATH cannot build for the sandbox and a cargo-wasm is there, builds find that one.
func environment(dir string) ([]string, error) {
	environ := append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
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
