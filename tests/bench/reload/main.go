// Command reload replaces plugins while sessions use them, and prints one line for each
// figure: "figure NAME VALUE UNIT". Arguments select groups of figures; none selects all.
// Every time is the median of five rounds. It runs in the repository, and builds a guest,
// so it needs go on PATH. PLINTH_BENCH_DIR names the disk to work on; without it, that of
// temporary files.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// group is figures that are measured together.
type group struct {
	name    string
	measure func(ctx context.Context, dir string) error
}

func groups() []group {
	return []group{
		{"machine", measureMachine},
		{"save", measureSave},
		{"blocked", measureBlocked},
		{"soak", measureSoak},
	}
}

// asCompiler is the argument that makes this program the child that compiles.
const asCompiler = "compile"

func compiler(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, os.Args[0], asCompiler) }

func main() {
	if len(os.Args) == 2 && os.Args[1] == asCompiler {
		os.Exit(wasm.Compile(os.Stdin, os.Stdout))
	}
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-reload:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only []string) error {
	selected, err := choose(only)
	if err != nil {
		return err
	}
	for _, g := range selected {
		began := time.Now()
		if err := inFolder(func(dir string) error { return g.measure(ctx, dir) }); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		measure.Note("%s took %s", g.name, time.Since(began).Round(time.Second/10))
	}
	return nil
}

func choose(only []string) ([]group, error) {
	all := groups()
	if len(only) == 0 {
		return all, nil
	}
	var selected []group
	for _, name := range only {
		at := slices.IndexFunc(all, func(g group) bool { return g.name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no group %q", name)
		}
		selected = append(selected, all[at])
	}
	return selected, nil
}

// inFolder works in a new folder and removes it.
func inFolder(work func(dir string) error) error {
	dir, err := os.MkdirTemp(os.Getenv("PLINTH_BENCH_DIR"), "plinth-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return work(dir)
}
