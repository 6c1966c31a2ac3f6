// Command store measures the event log on this machine and prints one line for
// each figure: "figure NAME VALUE UNIT". Every value is the median of five runs.
package main

import (
	"fmt"
	"os"
	"slices"
)

const rounds = 5

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "store bench:", err)
		os.Exit(1)
	}
}

func run() error {
	figures := []struct {
		name, unit string
		measure    func(dir string) (float64, error)
	}{
		{"store.fsync_us_p50", "us", syncTime},
		{"store.append_over_raw", "ratio", appendOverRaw},
		{"store.group_over_single", "ratio", groupOverSingle},
		{"store.append_us_p50", "us", appendTime},
		{"store.append_bytes", "bytes", appendBytes},
		{"store.append_bytes_64", "bytes", appendBytesGrouped},
		{"store.open_ms", "ms", openTime},
	}
	for _, f := range figures {
		values := make([]float64, rounds)
		for i := range values {
			value, err := inFolder(f.measure)
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			values[i] = value
		}
		fmt.Printf("figure %s %.4g %s\n", f.name, median(values), f.unit)
	}
	return nil
}

// inFolder measures in a folder of its own, on the disk that PLINTH_BENCH_DIR
// names or the one of temporary files.
func inFolder(measure func(dir string) (float64, error)) (float64, error) {
	dir, err := os.MkdirTemp(os.Getenv("PLINTH_BENCH_DIR"), "plinth-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	return measure(dir)
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
