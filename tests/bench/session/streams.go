package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plinthhost/plinth/tests/bench/measure"
)

const (
	streams       = 1000
	deltas        = 80 // of one stream
	deltaInterval = 50 * time.Millisecond
	spread        = time.Second // over which the streams begin
	deltaBytes    = 24
)

// measureStreams is how late a follower sees what a model says while a thousand
// sessions stream twenty fragments a second each: from the time that the oldest byte
// of a look was due to the look. They begin and end within a second each.
func measureStreams(ctx context.Context, dir string) error {
	late, err := measure.OverRounds(func(round int) (float64, error) {
		seen, err := stream(ctx, filepath.Join(dir, fmt.Sprint(round)))
		if err != nil {
			return 0, err
		}
		measure.Note("streams: %d looks, p50 %.1f ms, p99 %.1f ms, longest %.1f ms", len(seen),
			measure.Percentile(seen, 50), measure.Percentile(seen, 99), measure.Percentile(seen, 100))
		return measure.Percentile(seen, 99), nil
	})
	if err != nil {
		return err
	}
	figure("streams_1000_delta_ms_p99", late, "ms")
	return nil
}

// stream runs a round and answers how late, in milliseconds, each look was.
func stream(ctx context.Context, dir string) ([]float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	provider := &metronome{epoch: began, ready: make(chan struct{}, streams), start: make(chan time.Time, streams)}
	k, err := openKernel(ctx, dir, provider)
	if err != nil {
		return nil, err
	}
	defer k.close()
	var all delays
	group, ctx := errgroup.WithContext(ctx)
	for range streams {
		id, err := k.create(ctx)
		if err != nil {
			return nil, err
		}
		f := newFollower(k, id, began)
		group.Go(func() error {
			err := f.follow(ctx)
			all.add(f.late)
			return err
		})
		if err := k.prompt(ctx, id); err != nil {
			return nil, err
		}
	}
	if err := provider.release(ctx); err != nil {
		return nil, err
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return all.values, nil
}

// delays gathers what followers saw.
type delays struct {
	mu     sync.Mutex
	values []float64 // milliseconds
}

func (d *delays) add(values []float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.values = append(d.values, values...)
}
