// Command session measures sessions on this machine and prints one line for each
// figure: "figure NAME VALUE UNIT". Arguments select groups of figures; none selects
// all. What a ratio compares ran in turns within this run, and every value but a size
// is the median of five rounds. PLINTH_BENCH_DIR names the disk to work on; without it,
// that of temporary files. It builds the host, so it needs go on PATH.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

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
		{"replay", measureReplay},
		{"history", measureHistory},
		{"idle", measureIdle},
		{"streams", measureStreams},
		{"burst", measureBurst},
		{"host", measureHostBurst},
		{"observe", measureObserve},
		{"prefix", measurePrefix},
		{"compact", measureCompact},
		{"fork", measureFork},
		{"delete", measureDelete},
	}
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-session:", err)
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
