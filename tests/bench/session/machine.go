package main

import (
	"context"

	"github.com/plinthhost/plinth/tests/bench/measure"
)

// measureMachine is what the machine does without any session: how long a page takes
// to the disk, and how late a goroutine runs that was idle.
func measureMachine(_ context.Context, dir string) error {
	fsync, err := measure.OverRounds(func(int) (float64, error) { return measure.SyncTime(dir) })
	if err != nil {
		return err
	}
	figure("fsync_us_p50", fsync, "us")
	delay, err := measure.OverRounds(func(int) (float64, error) { return measure.Percentile(measure.WakeDelays(200), 99), nil })
	if err != nil {
		return err
	}
	figure("wake_ms_p99", delay, "ms")
	return nil
}
