// Command builtins measures the builtin plugins: what a call of a tool takes through
// WebAssembly and with permissions, against the same work in plain Go. It prints lines
// "figure NAME VALUE UNIT". Arguments name the parts to measure; none is all.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/plinthhost/plinth/tests/bench/measure"
)

// A part measures something and prints its figures.
type part struct {
	name    string
	measure func(ctx context.Context) error
}

func parts() []part {
	return []part{
		{"files", measureFiles},
		{"changes", measureChanges},
		{"commands", measureCommands},
		{"pages", measurePages},
	}
}

func main() {
	for _, p := range parts() {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], p.name) {
			continue
		}
		if err := p.measure(context.Background()); err != nil {
			fmt.Fprintf(os.Stderr, "builtins bench: %s: %v\n", p.name, err)
			os.Exit(1)
		}
	}
}

func figure(name string, value float64, unit string) {
	fmt.Printf("figure builtins.%s %.3g %s\n", name, value, unit)
}

// A comparison is one thing that a tool does and plain Go does too. Both answer what
// must be the same, so that nothing is compared with something else.
type comparison struct {
	name  string // of the figure, before "_over_go"
	ours  func(ctx context.Context) (int, error)
	plain func() (int, error)
	calls int // of a round, on each side
}

// run measures in turns, after one that warms the caches, and prints the figure: the
// median time of ours over that of plain Go.
func (c comparison) run(ctx context.Context) error {
	var ours, plain []float64
	for round := range measure.Rounds + 1 {
		mine, first, err := timed(c.calls, func() (int, error) { return c.ours(ctx) })
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		other, second, err := timed(c.calls, c.plain)
		if err != nil {
			return fmt.Errorf("%s in plain Go: %w", c.name, err)
		}
		if first != second {
			return fmt.Errorf("%s answers %d, plain Go %d", c.name, first, second)
		}
		if round > 0 {
			ours, plain = append(ours, mine), append(plain, other)
		}
	}
	measure.Note("%s: %.0f µs a call, plain Go %.0f µs", c.name, measure.Median(ours), measure.Median(plain))
	figure(c.name+"_over_go", measure.Median(ours)/measure.Median(plain), "ratio")
	figure(c.name+"_us", measure.Median(ours), "us")
	return nil
}
