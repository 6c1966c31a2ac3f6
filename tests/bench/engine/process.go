package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

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

// tidyUp collects garbage and gives all memory back that nobody uses.
func tidyUp() { debug.FreeOSMemory() }

// descriptors is how many files this process has open.
func descriptors() (int, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	return len(entries), err
}
