// Package measure has what the benchmarks share: how values become figures, and what the
// machine does by itself.
package measure

import (
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// Rounds is how often everything is measured; figures are medians of them.
const Rounds = 5

// Note tells a person who watches what stands behind the figures.
func Note(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Median is the middle one.
func Median(values []float64) float64 { return Percentile(values, 50) }

// Percentile is the nearest rank: of 140 values the 99th is the second largest.
func Percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// OverRounds is the median of what measure answers in each round.
func OverRounds(measure func(round int) (float64, error)) (float64, error) {
	values := make([]float64, Rounds)
	for i := range values {
		var err error
		if values[i], err = measure(i); err != nil {
			return 0, err
		}
	}
	return Median(values), nil
}

// Milliseconds are those of a time, with their fraction.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
