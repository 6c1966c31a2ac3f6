// Command engine measures the Wasm engine on this machine and prints one line for
// each figure: "figure NAME VALUE UNIT". Arguments select groups of figures; none
// selects all. What a ratio compares ran in turns within this run, and every value
// is the median of five rounds.
//
// It builds its guests, so it needs go and, for some figures, tinygo on PATH or in
// TINYGO. When a figure cannot be measured here it ends with status 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
)

// What this program is when it was started by itself or by an engine.
const (
	asCompiler = "child:compile"
	asDrift    = "child:drift"
)

// group is figures that are measured together.
type group struct {
	name    string
	measure func(ctx context.Context, b *bench) error
}

func groups() []group {
	return []group{
		{"machine", measureMachine},
		{"metering", measureMetering},
		{"calls", measureCalls},
		{"extism", measureExtism},
		{"isolation", measureIsolation},
		{"stop", measureStop},
		{"pauses", measurePauses},
		{"codec", measureCodec},
		{"bombs", measureBombs},
		{"drift", measureDrift},
	}
}

// bench is what the groups share.
type bench struct {
	folder  string  // for guests and caches, gone at the end
	guests  []guest // one for each toolchain; Go's comes first
	missing []string
}

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 1 && args[0] == asCompiler:
		os.Exit(wasm.Compile(os.Stdin, os.Stdout))
	case len(args) == 2 && args[0] == asDrift:
		err = driftChild(args[1])
	default:
		err = run(args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-engine:", err)
		os.Exit(1)
	}
}

func run(only []string) error {
	selected, err := choose(only)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "plinth-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	b := &bench{folder: folder}
	for _, g := range selected {
		began := time.Now()
		if err := g.measure(context.Background(), b); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		note("%s took %s", g.name, time.Since(began).Round(time.Second/10))
	}
	if len(b.missing) > 0 {
		return errors.New("these figures are missing: " + strings.Join(b.missing, ", "))
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

// note tells a person who watches what stands behind the figures.
func note(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
