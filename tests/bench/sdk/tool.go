package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	abi "github.com/plinthhost/plinth/abi/v1"
	author "github.com/plinthhost/plinth/host/author/build"
	"github.com/plinthhost/plinth/host/author/scaffold"
	"github.com/plinthhost/plinth/host/plugin"
)

// tool is a built plugin with the call that is measured.
type tool struct {
	language string
	plugin   plugin.Candidate
	size     int64 // bytes of the module as the compiler wrote it
	golden   plugin.Golden
}

// write makes the folder that plinth plugin new makes.
func write(folder, language string) error {
	files, err := scaffold.Files(scaffold.Plugin{Language: language, Kind: "tool", ID: "bench/word-count", Version: "bench"})
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, content, 0o644)
		}
	}
	return err
}

// build builds the plugin in a folder as its manifest says.
func build(ctx context.Context, folder, language string) (*tool, error) {
	path := filepath.Join(folder, plugin.ManifestName)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	manifest, err := plugin.DecodeManifest(path, text, os.DirFS(folder))
	if err != nil {
		return nil, err
	}
	var output bytes.Buffer
	built, err := author.Run(ctx, folder, manifest, &output)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, bytes.TrimSpace(output.Bytes()))
	}
	made := &tool{language: language, plugin: built.Candidate}
	modules, err := filepath.Glob(filepath.Join(folder, "*.wasm"))
	if err != nil || len(modules) != 1 {
		return nil, fmt.Errorf("the build left %d modules: %w", len(modules), err)
	}
	info, err := os.Stat(modules[0])
	if err != nil {
		return nil, err
	}
	made.size = info.Size()
	goldens, err := built.Candidate.Goldens()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(goldens, func(g plugin.Golden) bool { return g.Entry == abi.ExportTool })
	if at < 0 {
		return nil, fmt.Errorf("the plugin has no golden of its tool")
	}
	made.golden = goldens[at]
	return made, nil
}

// preferWasmCargo has "cargo" be a cargo that has Rust's target for Wasm, where that is
// installed beside another, as for tests/conformance/guests/build.
func preferWasmCargo(folder string) error {
	program, err := exec.LookPath("cargo-wasm")
	if err != nil {
		return nil // the one on PATH it is
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	// It calls a cargo itself, the one that it finds on the PATH as it was.
	script := fmt.Sprintf("#!/bin/sh\nPATH='%s' exec '%s' \"$@\"\n", os.Getenv("PATH"), program)
	if err := os.WriteFile(filepath.Join(folder, "cargo"), []byte(script), 0o755); err != nil {
		return err
	}
	return os.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}
