package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/session"
)

// The tree that is searched: folders of two levels, with files of Go.
const (
	packages       = 40
	filesOfPackage = 25
	linesOfFile    = 120
	// callsOfFiles is how many calls a round makes on each side.
	callsOfFiles = 20
)

// measureFiles compares the tools of core/files with what a program does that just
// wants the same lines: no rules, no ignore files, no bounds.
func measureFiles(ctx context.Context) error {
	folder, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err = plantPackages(folder); err != nil {
		return fmt.Errorf("make the tree: %w", err)
	}
	bench, err := newWorkbench(ctx, "core/files", folder, &bridge.Reach{Services: &bridge.Services{Clock: session.SystemClock{}},
		Grants: bridge.Grants{Roots: map[string]bridge.Access{bridge.RootLocation: bridge.AccessRead}}})
	if err != nil {
		return err
	}
	err = comparisons(ctx, bench)
	return errors.Join(err, bench.engine.Close())
}

func comparisons(ctx context.Context, bench *workbench) error {
	p := plainly{bench.folder}
	for _, c := range []struct {
		tool, input string
		plain       func() (string, error)
	}{
		{"read", `{"path":"p07/file12.go"}`, func() (string, error) { return p.read("p07/file12.go") }},
		{"list", `{"depth":1}`, p.list},
		{"glob", `{"pattern":"**/file1*.go","limit":1000}`, func() (string, error) { return p.glob("file1*.go") }},
		{"grep", `{"pattern":"func Needle\\d+\\(","limit":1000}`, func() (string, error) { return p.grep(`func Needle\d+\(`) }},
	} {
		if err := bench.compare(ctx, c.tool, callsOfFiles, c.input, c.plain); err != nil {
			return err
		}
	}
	return nil
}

// lines counts those that are answers: no headings, no notes, nothing empty.
func lines(text string) (n int) {
	for line := range strings.Lines(text) {
		switch trimmed := strings.TrimRight(line, "\n"); {
		case trimmed == "", strings.HasPrefix(trimmed, "("), strings.HasPrefix(trimmed, "Found "):
		default:
			n++
		}
	}
	return n
}

func plantPackages(folder string) error {
	for p := range packages {
		at := filepath.Join(folder, fmt.Sprintf("p%02d", p))
		if err := os.Mkdir(at, 0o755); err != nil {
			return err
		}
		for f := range filesOfPackage {
			if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("file%02d.go", f)), goText(p, f), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func goText(p, f int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "package p%02d\n\n", p)
	for line := range linesOfFile {
		if line == 60 && f%5 == 0 {
			fmt.Fprintf(&b, "func Needle%d(ctx context.Context) error {\n", p)
		} else {
			fmt.Fprintf(&b, "\tresult%d, err := call(ctx, %q, %d) // and so on\n", line, "name", p*f)
		}
	}
	return b.Bytes()
}
