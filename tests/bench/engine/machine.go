package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
)

// measureMachine is what the machine does without any guest: how late a goroutine
// runs that was idle, and how long the collector stops the world.
func measureMachine(context.Context, *bench) error {
	var delays, pauses []float64
	for range rounds {
		delays = append(delays, percentile(wakeDelays(200), 99))
		pauses = append(pauses, longestPause(time.Now().Add(200*time.Millisecond)))
	}
	figure("machine.wake_ms_p99", median(delays), "ms")
	figure("machine.gc_pause_ms_max", median(pauses), "ms")
	return nil
}

// wakeDelays answers n times how many milliseconds passed from when an idle
// goroutine was to run until it ran.
func wakeDelays(n int) []float64 {
	delays := make([]float64, n)
	for i := range delays {
		due := time.Now().Add(time.Millisecond)
		time.Sleep(time.Until(due))
		delays[i] = milliseconds(time.Since(due))
	}
	return delays
}

// pauseMetric is the time from the decision to stop the world for the collector
// until it goes on again. It contains what guests cause, the time until all of
// them stand still (/sched/pauses/stopping), and is what others feel.
const pauseMetric = "/sched/pauses/total/gc:seconds"

// longestPause has the collector work until the time and answers the longest
// pause in milliseconds, as the upper bound of its bucket.
func longestPause(until time.Time) float64 {
	before := pauseCounts()
	for time.Now().Before(until) {
		runtime.GC()
	}
	after := pauseCounts()
	for i := len(after.Counts) - 1; i >= 0; i-- {
		if after.Counts[i] > before.Counts[i] {
			bound := after.Buckets[i+1]
			if math.IsInf(bound, 1) {
				bound = after.Buckets[i]
			}
			return bound * 1000
		}
	}
	return 0
}

func pauseCounts() metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: pauseMetric}}
	metrics.Read(sample)
	found := sample[0].Value.Float64Histogram()
	return metrics.Float64Histogram{Counts: append([]uint64(nil), found.Counts...), Buckets: found.Buckets}
}

// resident is the memory of this process, in bytes: now, and the most since
// forgetPeak.
func resident() (now, most int64, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d", &now)
		_, _ = fmt.Sscanf(line, "VmHWM: %d", &most)
	}
	if now == 0 || most == 0 {
		return 0, 0, errors.New("/proc/self/status has no VmRSS and VmHWM")
	}
	return now << 10, most << 10, nil
}

func forgetPeak() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// tidyUp gives all memory back that nobody uses.
func tidyUp() {
	runtime.GC()
	debug.FreeOSMemory()
}

// descriptors is how many files this process has open.
func descriptors() (int, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	return len(entries), err
}
