// Command dev measures what plinth plugin dev adds to the compiler's own time, and prints
// one line for each figure: "figure NAME VALUE UNIT". Arguments select groups of figures;
// none selects all. It runs in the repository, builds the program, and needs go, tinygo and
// cargo on PATH, with Rust's target wasm32-unknown-unknown. PLINTH_BENCH_DIR names the disk
// to work on; without it, that of temporary files.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/plinthhost/plinth/tests/bench/measure"
)

// group is figures that are measured together.
type group struct {
	name    string
	measure func(ctx context.Context, dir, program string) error
}

func groups() []group {
	return []group{
		{"machine", measureMachine},
		{"tinygo", func(ctx context.Context, dir, program string) error { return measureSaves(ctx, dir, program, tinygo()) }},
		{"rust", func(ctx context.Context, dir, program string) error { return measureSaves(ctx, dir, program, rust()) }},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-dev:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only []string) error {
	all := groups()
	for _, name := range only {
		if !slices.ContainsFunc(all, func(g group) bool { return g.name == name }) {
			return fmt.Errorf("there is no group %q", name)
		}
	}
	dir, err := os.MkdirTemp(os.Getenv("PLINTH_BENCH_DIR"), "plinth-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "plinth")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/host")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the program: %w; run it in the repository", err)
	}
	for _, g := range all {
		if len(only) > 0 && !slices.Contains(only, g.name) {
			continue
		}
		began := time.Now()
		own := filepath.Join(dir, g.name)
		if err := os.Mkdir(own, 0o700); err != nil {
			return err
		}
		if err := g.measure(ctx, own, program); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		measure.Note("%s took %s", g.name, time.Since(began).Round(time.Second/10))
	}
	return nil
}

func figure(name string, value float64, unit string) {
	fmt.Printf("figure %s %.4g %s\n", name, value, unit)
}

// measureMachine is what the machine does without any plugin: how long a page takes to the
// disk, and how long a process to start and end.
func measureMachine(ctx context.Context, dir, program string) error {
	fsync, err := measure.OverRounds(func(int) (float64, error) { return measure.SyncTime(dir) })
	if err != nil {
		return err
	}
	figure("dev.machine_fsync_us_p50", fsync, "us")
	start, err := measure.OverRounds(func(int) (float64, error) {
		began := time.Now()
		err := exec.CommandContext(ctx, program, "--version").Run()
		return measure.Milliseconds(time.Since(began)), err
	})
	if err != nil {
		return err
	}
	figure("dev.machine_process_ms_p50", start, "ms")
	return nil
}
