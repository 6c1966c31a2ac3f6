package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// stopsEach is how often every hostile guest is stopped in a round.
const stopsEach = 12

// measureStop cancels each hostile guest while others keep every processor busy,
// and subtracts how late an idle goroutine runs when goroutines of plain Go do so:
// what a busy machine costs is not the engine's.
func measureStop(ctx context.Context, _ *bench) (err error) {
	c, err := gather(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	cores := runtime.GOMAXPROCS(0)
	worst := make([]float64, len(c.modules))
	var wakes []float64
	stopped, err := overRounds(func() (float64, error) {
		besideSpinning(cores, func() { wakes = append(wakes, percentile(measure.WakeDelays(200), 99)) })
		for i := range cores {
			c.join(ctx, wasm.LaneTool, c.modules[i%2])
		}
		c.join(ctx, wasm.LaneQuick, c.modules[0])
		delays, err := c.stopAll(ctx, worst)
		if err != nil {
			return 0, err
		}
		note("stop: median %.2f ms, p99 %.2f ms", median(delays), percentile(delays, 99))
		return percentile(delays, 99), c.leave()
	})
	if err != nil {
		return err
	}
	for i, module := range c.modules {
		note("stop %s: at most %.2f ms", module.Name(), worst[i])
	}
	figure("machine.wake_busy_ms_p99", median(wakes), "ms")
	figure("engine.stop_raw_ms_p99", stopped, "ms")
	figure("engine.stop_ms_p99", max(0, stopped-median(wakes)), "ms")
	return nil
}

// stopAll answers the milliseconds from each cancel to the call's return.
func (c *crowd) stopAll(ctx context.Context, worst []float64) ([]float64, error) {
	var delays []float64
	for n := range stopsEach * len(c.modules) {
		at := n % len(c.modules)
		target := begin(ctx, c.modules[at], wasm.LaneTool)
		time.Sleep(time.Duration(rand.Int64N(int64(10 * time.Millisecond))))
		delay, err := target.stop()
		if err != nil {
			return nil, fmt.Errorf("stop %s: %w", c.modules[at].Name(), err)
		}
		delays = append(delays, milliseconds(delay))
		worst[at] = max(worst[at], milliseconds(delay))
	}
	return delays, nil
}
