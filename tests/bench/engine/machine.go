package main

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plinthhost/plinth/tests/bench/measure"
)

// measureMachine is what the machine does without any guest: how late a goroutine
// runs that was idle, and how long the collector stops the world.
func measureMachine(context.Context, *bench) error {
	var delays, pauses []float64
	for range rounds {
		delays = append(delays, percentile(measure.WakeDelays(200), 99))
		pauses = append(pauses, longestPause(200*time.Millisecond))
	}
	figure("machine.wake_ms_p99", median(delays), "ms")
	figure("machine.gc_pause_ms_max", median(pauses), "ms")
	return nil
}

// besideSpinning runs fn while as many plain goroutines spin, which give way as
// often as guests do.
func besideSpinning(goroutines int, fn func()) {
	var spinning sync.WaitGroup
	var over atomic.Bool
	for range goroutines {
		spinning.Go(func() {
			for began := time.Now(); !over.Load(); {
				if time.Since(began) > breath {
					runtime.Gosched()
					began = time.Now()
				}
			}
		})
	}
	fn()
	over.Store(true)
	spinning.Wait()
}

// pauseMetric is the time from the decision to stop the world for the collector
// until it goes on again. It contains what guests can cause, the time until all of
// them stand still (/sched/pauses/stopping), and is what others feel.
const pauseMetric = "/sched/pauses/total/gc:seconds"

// longestPause has the collector work for the time and answers the longest pause
// in milliseconds, as the upper bound of its bucket.
func longestPause(work time.Duration) float64 {
	before := pauses()
	for until := time.Now().Add(work); time.Now().Before(until); {
		runtime.GC()
	}
	after := pauses()
	for i, count := range slices.Backward(after.Counts) {
		if count > before.Counts[i] {
			bound := after.Buckets[i+1]
			if math.IsInf(bound, 1) {
				bound = after.Buckets[i]
			}
			return bound * 1000
		}
	}
	return 0
}

func pauses() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: pauseMetric}}
	metrics.Read(sample)
	return sample[0].Value.Float64Histogram() // which a later read into another sample leaves alone
}
