package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/plinthhost/plinth/tests/bench/measure"
)

// rounds is how often everything is measured; figures are medians of them.
const rounds = 5

func figure(name string, value float64, unit string) {
	fmt.Printf("figure %s %.4g %s\n", name, value, unit)
}

func median(values []float64) float64 { return percentile(values, 50) }

// percentile is the nearest rank: of 140 values the 99th is the second largest.
func percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

func geometricMean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

// overRounds is the median of what measure answers in each round.
func overRounds(measure func() (float64, error)) (float64, error) {
	values := make([]float64, rounds)
	for i := range values {
		var err error
		if values[i], err = measure(); err != nil {
			return 0, err
		}
	}
	return median(values), nil
}

// side is one of two or more that are compared: run does it once, in calls calls.
type side struct {
	run   func() error
	calls int
}

// inTurns runs the sides one after the other, repeat times, and answers for each
// the median time of a call, in nanoseconds of its thread's processor time.
func inTurns(repeat int, sides ...side) ([]float64, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	times := make([][]float64, len(sides))
	for range repeat {
		for i, s := range sides {
			began := measure.ProcessorTime()
			if err := s.run(); err != nil {
				return nil, err
			}
			times[i] = append(times[i], float64(measure.ProcessorTime()-began)/float64(s.calls))
		}
	}
	medians := make([]float64, len(sides))
	for i := range sides {
		medians[i] = median(times[i])
	}
	return medians, nil
}

// times makes a side of a call that is made n times at a go.
func times(n int, call func() error) side {
	return side{calls: n, run: func() error {
		for range n {
			if err := call(); err != nil {
				return err
			}
		}
		return nil
	}}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
