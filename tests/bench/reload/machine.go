package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// measureMachine is what the machine does without any plugin: how long a page takes to
// the disk, and how late a goroutine runs that was idle.
func measureMachine(_ context.Context, dir string) error {
	fsync, err := overRounds(func(int) (float64, error) { return syncTime(dir) })
	if err != nil {
		return err
	}
	figure("reload.machine_fsync_us_p50", fsync, "us")
	late, err := overRounds(func(int) (float64, error) { return percentile(wakeDelays(200), 99), nil })
	if err != nil {
		return err
	}
	figure("reload.machine_wake_ms_p99", late, "ms")
	return nil
}

// syncTime is the median time of appending a page to a file and syncing it, in µs.
func syncTime(dir string) (float64, error) {
	file, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	page := make([]byte, 4096)
	times := make([]float64, 100)
	for i := range times {
		began := time.Now()
		if _, err := file.Write(page); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		times[i] = milliseconds(time.Since(began)) * 1000
	}
	return median(times), nil
}

// wakeDelays answers n times how many milliseconds passed from when an idle goroutine
// was to run until it ran.
func wakeDelays(n int) []float64 {
	delays := make([]float64, n)
	for i := range delays {
		due := time.Now().Add(time.Millisecond)
		time.Sleep(time.Until(due))
		delays[i] = milliseconds(time.Since(due))
	}
	return delays
}

// usage is what this process holds of the machine.
type usage struct {
	resident    int64  // bytes
	heap        uint64 // of Go, in bytes
	goroutines  int
	descriptors int
}

func (u usage) String() string {
	return fmt.Sprintf("%.1f MiB, of which %.1f in Go's heap, %d goroutines, %d descriptors", float64(u.resident)/(1<<20), float64(u.heap)/(1<<20), u.goroutines, u.descriptors)
}

// used collects garbage, gives all memory back that nobody uses, and looks.
func used() (usage, error) {
	for range 2 { // what has a finaliser goes with the second
		debug.FreeOSMemory()
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return usage{}, err
	}
	var kib, shared int64
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d", &kib)
		_, _ = fmt.Sscanf(line, "RssShmem: %d", &shared)
	}
	if kib == 0 {
		return usage{}, errors.New("/proc/self/status has no VmRSS")
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	open, err := os.ReadDir("/proc/self/fd")
	return usage{resident: (kib - shared) << 10, heap: memory.HeapAlloc, goroutines: runtime.NumGoroutine(), descriptors: len(open)}, err
}
