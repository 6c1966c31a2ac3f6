package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plinthhost/plinth/tests/bench/measure"
)

const (
	callers = 4                    // that call all the time
	pace    = 5 * time.Millisecond // from one call of a caller to its next
	// blockedReloads are of one round. Each makes two dozen calls slower at most, of some
	// hundreds.
	blockedReloads = 10
)

// measureBlocked calls a plugin all the time, first without reloads and then over some:
// the 99th percentile of a call's time over reloads, less that without any.
func measureBlocked(ctx context.Context, dir string) error {
	tiny, err := os.ReadFile(tinyGoGuest)
	if err != nil {
		return fmt.Errorf("%w; run it in the repository", err)
	}
	folder := filepath.Join(dir, "plugins")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	k, err := openKernel(ctx, dir, engineOptions(filepath.Join(dir, "cache")), folder)
	if err != nil {
		return err
	}
	n := 0
	save := func() error {
		n++
		packed, err := fresh(tiny, n)
		if err != nil {
			return err
		}
		before := k.current()
		if err := os.WriteFile(filepath.Join(folder, "guest.wasm"), packed, 0o600); err != nil {
			return err
		}
		return k.called(ctx, before)
	}
	extra, err := 0.0, save()
	if err == nil {
		extra, err = measure.OverRounds(func(int) (float64, error) { return k.blockedRound(ctx, save) })
	}
	if err = errors.Join(err, k.close()); err != nil {
		return err
	}
	figure("reload.blocked_calls_ms_p99", extra, "ms")
	return nil
}

func (k *kernel) blockedRound(ctx context.Context, save func() error) (float64, error) {
	var took time.Duration
	over, err := k.times(ctx, func() error {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		for range blockedReloads {
			if err := save(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	without, err := k.times(ctx, func() error { time.Sleep(took); return nil })
	if err != nil {
		return 0, err
	}
	measure.Note("blocked: %d calls over %d reloads, p99 %.2f ms; %d without, p99 %.2f ms", len(over), blockedReloads, measure.Percentile(over, 99),
		len(without), measure.Percentile(without, 99))
	return max(0, measure.Percentile(over, 99)-measure.Percentile(without, 99)), nil
}

// times calls the plugin all the time while something else is done, and answers how many
// milliseconds each call took.
func (k *kernel) times(ctx context.Context, meanwhile func() error) ([]float64, error) {
	var over atomic.Bool
	var mu sync.Mutex
	var all []float64
	group, ctx := errgroup.WithContext(ctx)
	for range callers {
		group.Go(func() error {
			for !over.Load() {
				began := time.Now()
				if _, err := k.call(ctx); err != nil {
					return fmt.Errorf("a call during a reload: %w", err)
				}
				took := time.Since(began)
				mu.Lock()
				all = append(all, measure.Milliseconds(took))
				mu.Unlock()
				time.Sleep(pace - took)
			}
			return nil
		})
	}
	group.Go(func() error { defer over.Store(true); return meanwhile() })
	err := group.Wait()
	return all, err
}
