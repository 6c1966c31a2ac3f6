package main

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// measureMachine is what the machine does without any session: how long a page takes
// to the disk, and how late a goroutine runs that was idle.
func measureMachine(_ context.Context, dir string) error {
	fsync, err := overRounds(func(int) (float64, error) { return syncTime(dir) })
	if err != nil {
		return err
	}
	figure("fsync_us_p50", fsync, "us")
	delay, err := overRounds(func(int) (float64, error) { return percentile(wakeDelays(200), 99), nil })
	if err != nil {
		return err
	}
	figure("wake_ms_p99", delay, "ms")
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
