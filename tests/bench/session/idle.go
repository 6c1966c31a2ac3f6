package main

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
)

const (
	idleSessions = 10_000
	idleAtOnce   = 64
)

// measureIdle is what a session costs in memory that nobody works on or follows: the
// heap of a kernel with ten thousand of them against the same one before. Each has
// had a turn. It runs once: sizes repeat where times do not.
func measureIdle(ctx context.Context, dir string) error {
	bytes, err := idleBytes(ctx, dir)
	if err != nil {
		return err
	}
	figure("idle_bytes", bytes, "bytes")
	return nil
}

func idleBytes(ctx context.Context, dir string) (float64, error) {
	k, err := openKernel(ctx, dir, say("It is as it was."))
	if err != nil {
		return 0, err
	}
	defer k.close()
	// As many at once as later, so that pools and connections are there before.
	if err := k.haveTurns(ctx, 4*idleAtOnce); err != nil {
		return 0, err
	}
	before := heap()
	if err := k.haveTurns(ctx, idleSessions); err != nil {
		return 0, err
	}
	after := heap()
	if running := k.coordinator.Active(); len(running) > 0 {
		return 0, fmt.Errorf("%d sessions are not idle", len(running))
	}
	return max(0, float64(after)-float64(before)) / idleSessions, nil
}

// haveTurns creates sessions and runs a turn in each.
func (k *kernel) haveTurns(ctx context.Context, sessions int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(idleAtOnce)
	for range sessions {
		group.Go(func() error {
			id, err := k.create(ctx)
			if err != nil {
				return err
			}
			if err := k.turn(ctx, id, func() {}); err != nil {
				return err
			}
			return k.coordinator.Settle(ctx, id)
		})
	}
	return group.Wait()
}

// heap is what is reachable now, in bytes.
func heap() uint64 {
	var stats runtime.MemStats
	for range 3 { // what finalizers and pools let go is gone by the third
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
