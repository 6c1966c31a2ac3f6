package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
)

// stopsEach is how often every hostile guest is stopped in a round.
const stopsEach = 12

// crowd is hostile guests that keep processors busy.
type crowd struct {
	engine  *wasm.Engine
	running []running
}

// gather starts an engine that runs so many guests at a time in the lane of tools,
// and loads all hostile guests into it.
func gather(ctx context.Context, tools int) (*crowd, []*wasm.Module, error) {
	options := engineOptions(writtenContract())
	options.Tools = tools
	engine, err := wasm.New(options)
	if err != nil {
		return nil, nil, err
	}
	var modules []*wasm.Module
	for _, h := range hostiles() {
		module, err := h.load(ctx, engine)
		if err != nil {
			return nil, nil, errors.Join(err, engine.Close())
		}
		modules = append(modules, module)
	}
	return &crowd{engine: engine}, modules, nil
}

func (c *crowd) join(ctx context.Context, lane wasm.Lane, modules ...*wasm.Module) {
	for _, module := range modules {
		c.running = append(c.running, begin(ctx, module, lane))
	}
}

// leave stops all guests that joined.
func (c *crowd) leave() error {
	var err error
	for _, r := range c.running {
		_, failed := r.stop()
		err = errors.Join(err, failed)
	}
	c.running = nil
	return err
}

func (c *crowd) close() error { return errors.Join(c.leave(), c.engine.Close()) }

// measureStop cancels each hostile guest while others keep every processor busy,
// and subtracts how late an idle goroutine runs when goroutines of plain Go do so.
// It does with the places that the engine has by itself, where guests wait for
// turns, and, for information, with so many that Go's scheduler alone shares the
// processors out.
func measureStop(ctx context.Context, _ *bench) error {
	cores := runtime.GOMAXPROCS(0)
	var wakes []float64
	stopped, err := stopDelay(ctx, 0, stopsEach, func() { wakes = append(wakes, percentile(busyWakes(cores), 99)) })
	if err != nil {
		return err
	}
	figure("machine.wake_busy_ms_p99", median(wakes), "ms")
	figure("engine.stop_raw_ms_p99", stopped, "ms")
	figure("engine.stop_ms_p99", max(0, stopped-median(wakes)), "ms")
	stopped, err = stopDelay(ctx, cores+1, stopsEach/2, func() {})
	figure("engine.stop_crowded_raw_ms_p99", stopped, "ms")
	return err
}

// busyWakes is wakeDelays while plain goroutines keep the cores busy that give way
// as often as guests do.
func busyWakes(cores int) []float64 {
	var spinning sync.WaitGroup
	var over atomic.Bool
	for range cores {
		spinning.Go(func() {
			for began := time.Now(); !over.Load(); {
				if time.Since(began) > breath {
					runtime.Gosched()
					began = time.Now()
				}
			}
		})
	}
	defer spinning.Wait()
	defer over.Store(true)
	return wakeDelays(200)
}

// stopDelay is the 99th percentile of the milliseconds from a cancel to the call's
// return, the median of rounds that begin with before.
func stopDelay(ctx context.Context, tools, each int, before func()) (p99 float64, err error) {
	c, modules, err := gather(ctx, tools)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	worst := make([]float64, len(modules))
	p99, err = overRounds(func() (float64, error) {
		before()
		for i := range runtime.GOMAXPROCS(0) {
			c.join(ctx, wasm.LaneTool, modules[i%2])
		}
		c.join(ctx, wasm.LaneQuick, modules[0])
		var stops []float64
		for n := range each * len(modules) {
			module := modules[n%len(modules)]
			target := begin(ctx, module, wasm.LaneTool)
			time.Sleep(time.Duration(rand.Int64N(int64(10 * time.Millisecond))))
			delay, err := target.stop()
			if err != nil {
				return 0, fmt.Errorf("%s: %w", module.Name(), err)
			}
			stops = append(stops, milliseconds(delay))
			worst[n%len(modules)] = max(worst[n%len(modules)], milliseconds(delay))
		}
		note("stop with Tools %d: median %.2f ms, p99 %.2f", tools, median(stops), percentile(stops, 99))
		return percentile(stops, 99), c.leave()
	})
	for i, h := range hostiles() {
		note("stop with Tools %d, %s: at most %.2f ms", tools, h.name, worst[i])
	}
	return p99, err
}
