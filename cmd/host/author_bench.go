package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
)

// benchedGolden is what plinth plugin bench tells of a golden. Times are in nanoseconds.
type benchedGolden struct {
	Input          string  `json:"input"`
	Export         string  `json:"export"`
	Calls          int     `json:"calls"`
	MedianNS       int64   `json:"median_ns"`
	P95NS          int64   `json:"p95_ns"`
	CallsPerSecond float64 `json:"calls_per_second"`
	Fuel           int64   `json:"fuel"`
	Memory         uint32  `json:"memory"`   // bytes of the instance
	StartNS        int64   `json:"start_ns"` // of the first instance
}

// benching says what is measured. Without a count it is as many calls as fit.
type benching struct {
	golden string
	count  int
	asJSON bool
}

// What is measured when no count is given, and how many calls may be asked for.
const (
	usualCalls = 1000
	usualTime  = 3 * time.Second
	mostCalls  = 1_000_000
)

func (c *cli) authorBench() *cobra.Command {
	var how benching
	command := &cobra.Command{
		Use:   "bench [FOLDER|FILE]",
		Short: "Measure the calls of a plugin's goldens",
		Long: `Make the calls of a plugin's goldens again and again, one after the other, in the engine
that serves it: the time of a call as its caller sees it, in the middle and for 95 of a
hundred, how many a second one processor makes, the fuel, the memory of the instance and
the time that its first one took to start. What is asked of the host is answered from
the golden, and takes no time.`,
		Example: `  plinth plugin bench ./weather --golden oslo --count 10000`,
		Args:    usage(cobra.MaximumNArgs(1)),
		RunE:    func(command *cobra.Command, args []string) error { return c.bench(command.Context(), args, how) },
	}
	command.Flags().StringVar(&how.golden, "golden", "", "only this one, by its input file or that file's name (default: all)")
	command.Flags().IntVar(&how.count, "count", 0, "calls of each golden, up to a million (default: 1000, or as many as fit in 3 s)")
	jsonFlag(command, &how.asJSON)
	return command
}

func (c *cli) bench(ctx context.Context, args []string, how benching) (err error) {
	if how.count < 0 || how.count > mostCalls {
		return &exitError{exitUsage, fmt.Errorf("--count is %d; it must be from 1 to %d", how.count, mostCalls)}
	}
	where := "."
	if len(args) > 0 {
		where = args[0]
	}
	candidate, err := given(where)
	if err != nil {
		return err
	}
	goldens, err := chosen(candidate, how.golden)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	engine, err := c.authorEngine()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	results := make([]benchedGolden, 0, len(goldens))
	for _, golden := range goldens {
		one, err := benched(ctx, engine, candidate, golden, how.count)
		if err != nil {
			return err
		}
		results = append(results, one)
	}
	if how.asJSON {
		return c.printJSON(results)
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "golden\tmedian\tp95\tcalls/s\tfuel\tmemory\tstart")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%s\t%s\t%.0f\t%d\t%s\t%s\n", oneLine(r.Input, 200), briefly(time.Duration(r.MedianNS)), briefly(time.Duration(r.P95NS)),
			r.CallsPerSecond, r.Fuel, mebibytes(int64(r.Memory)), briefly(time.Duration(r.StartNS)))
	}
	return table.Flush()
}

// chosen are the goldens that are named; all for no name.
func chosen(candidate plugin.Candidate, name string) ([]plugin.Golden, error) {
	goldens, err := candidate.Goldens()
	if err != nil {
		return nil, err
	}
	if len(goldens) == 0 {
		return nil, fmt.Errorf("%s has no goldens to measure; plinth plugin record makes one of a call", candidate.Origin)
	}
	if name == "" {
		return goldens, nil
	}
	only := slices.DeleteFunc(slices.Clone(goldens), func(golden plugin.Golden) bool {
		return golden.Input != name && strings.TrimSuffix(path.Base(golden.Input), ".json") != name
	})
	if len(only) == 0 {
		var all []string
		for _, golden := range goldens {
			all = append(all, golden.Input)
		}
		return nil, fmt.Errorf("there is no golden %q; there are %s", name, oneLine(strings.Join(all, ", "), 1000))
	}
	return only, nil
}

func benched(ctx context.Context, engine *wasm.Engine, candidate plugin.Candidate, golden plugin.Golden, count int) (benchedGolden, error) {
	most := time.Duration(0)
	if count == 0 {
		count, most = usualCalls, usualTime
	}
	measured, err := plugin.Measure(ctx, engine, candidate, golden, count, most)
	if err != nil {
		return benchedGolden{}, err
	}
	slices.Sort(measured.Calls)
	rank := func(percent float64) int64 {
		return int64(measured.Calls[int(math.Ceil(percent/100*float64(len(measured.Calls))))-1])
	}
	return benchedGolden{Input: golden.Input, Export: plugin.GoldenExport(golden.Entry), Calls: len(measured.Calls), MedianNS: rank(50), P95NS: rank(95),
		CallsPerSecond: float64(len(measured.Calls)) / measured.Elapsed.Seconds(), Fuel: measured.Fuel, Memory: measured.Memory, StartNS: int64(measured.Start)}, nil
}
