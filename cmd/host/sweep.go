package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// The blobs that nothing names, and the values of plugins and sessions that are gone, are
// swept once a day, for the first time when a host has
// been up for a while.
const (
	firstSweep  = 10 * time.Minute
	sweepPeriod = 24 * time.Hour
)

// startSweeping begins to sweep, unless the host lives for one
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
	a.sweepValues(ctx, time.Now())
}

// sweepValues removes what removed plugins stored, when its time is over, and what plugins
// stored in sessions that are gone.
func (a *app) sweepValues(ctx context.Context, now time.Time) {
	plugins, err := a.values.Sweep(ctx, now)
	sessions, failed := a.values.SweepSessions(ctx, a.sessionIsGone)
	if err := errors.Join(err, failed); err != nil && ctx.Err() == nil {
		a.logger.Warn("not all values of removed plugins and sessions were removed; it is tried again tomorrow", "error", err)
	}
	if len(plugins) > 0 || sessions > 0 {
		a.logger.Info("removed the values of removed plugins and sessions", "plugins", plugins, "sessions", sessions)
	}
}

func (a *app) sessionIsGone(ctx context.Context, id string) (bool, error) {
	head, err := store.ReadHead(ctx, a.store, id)
	if errors.Is(err, store.ErrDeleted) {
		return true, nil
	}
	return err == nil && head.Seq < 0, err
}

// forgetValues removes what plugins stored in sessions that were just removed. What it
// leaves is swept later.
func (a *app) forgetValues(ctx context.Context, sessions []string) {
	for _, id := range sessions {
		if err := a.values.Forget(ctx, id); err != nil {
			a.logger.Warn("not all that plugins stored in a removed session was removed; it is tried again within a day", "session", id, "error", err)
		}
	}
}
