package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/plinthhost/plinth/tests/bench/measure"
)

// measureMachine is what the machine does without any plugin: how long a page takes to
// the disk, and how late a goroutine runs that was idle.
func measureMachine(_ context.Context, dir string) error {
	fsync, err := measure.OverRounds(func(int) (float64, error) { return measure.SyncTime(dir) })
	if err != nil {
		return err
	}
	figure("reload.machine_fsync_us_p50", fsync, "us")
	late, err := measure.OverRounds(func(int) (float64, error) { return measure.Percentile(measure.WakeDelays(200), 99), nil })
	if err != nil {
		return err
	}
	figure("reload.machine_wake_ms_p99", late, "ms")
	return nil
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
