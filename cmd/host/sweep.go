package main

import (
	"context"
	"sync"
	"time"

	"github.com/plinthhost/plinth/store/sqlite"
)

// The blobs that nothing names are swept once a day, for the first time when a host has
// been up for a while.
const (
	firstSweep  = 10 * time.Minute
	sweepPeriod = 24 * time.Hour
)

// startSweeping begins to remove blobs that nothing names, unless the host lives for one
// command only.
func (a *app) startSweeping(ctx context.Context) {
	if !a.wakes {
		return
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var sweeping sync.WaitGroup
	sweeping.Go(func() {
		timer := time.NewTimer(firstSweep)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
				a.sweep(ctx)
				timer.Reset(sweepPeriod)
			}
		}
	})
	a.closers = append(a.closers, func() error {
		stop()
		sweeping.Wait()
		return nil
	})
}

func (a *app) sweep(ctx context.Context) {
	swept, err := a.store.Sweep(ctx, sqlite.SweepGrace)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		a.logger.Warn("blobs that nothing names were not removed; it is tried again tomorrow", "error", err)
	case swept.Removed > 0:
		a.logger.Info("removed blobs that nothing names", "blobs", swept.Removed, "bytes", swept.Bytes)
	}
}
