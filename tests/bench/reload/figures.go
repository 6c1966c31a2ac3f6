package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// rounds is how often a time is measured; figures are medians of them.
const rounds = 5

func figure(name string, value float64, unit string) {
	fmt.Printf("figure %s %.4g %s\n", name, value, unit)
}

// note tells a person who watches what stands behind the figures.
func note(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func median(values []float64) float64 { return percentile(values, 50) }

// percentile is the nearest rank.
func percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// overRounds is the median of what measure answers in each round.
func overRounds(measure func(round int) (float64, error)) (float64, error) {
	values := make([]float64, rounds)
	for i := range values {
		var err error
		if values[i], err = measure(i); err != nil {
			return 0, err
		}
	}
	return median(values), nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
