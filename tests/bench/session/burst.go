package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plinthhost/plinth/tests/bench/measure"
	"github.com/plinthhost/plinth/tests/chat"
)

const (
	burst = 200 // requests at once
	// An answer has three pieces: the role, the text and the finish.
	burstPiece = 88 * time.Millisecond
)

// measureBurst compares two hundred sessions that are prompted at once with a bare
// client that makes the same requests: the median time to the end of a session's
// activity and of a request. None may fail.
func measureBurst(ctx context.Context, dir string) error {
	server, err := burstServer()
	if err != nil {
		return err
	}
	defer server.Close()
	provider := newCompletions(server.URL)
	defer provider.close()
	k, err := openKernel(ctx, filepath.Join(dir, "kernel"), provider)
	if err != nil {
		return err
	}
	defer k.close()
	ratio, err := measure.OverRounds(func(int) (float64, error) {
		bare, err := bareBurst(ctx, server.URL)
		if err != nil {
			return 0, err
		}
		sessions, err := createAll(ctx, burst, k.create)
		if err != nil {
			return 0, err
		}
		provider.close() // as new as the bare client
		whole, err := atOnce(ctx, func(ctx context.Context, i int, begin func()) error { return k.turn(ctx, sessions[i], begin) })
		if err != nil {
			return 0, err
		}
		measure.Note("burst: bare %.0f ms, kernel %.0f ms", bare, whole)
		return whole / bare, nil
	})
	if err != nil {
		return err
	}
	figure("burst_200_over_bare", ratio, "ratio")
	return nil
}

// burstServer takes 264 ms for an answer, whatever else it does.
func burstServer() (*chat.Server, error) {
	return chat.Start(func(chat.Request) chat.Turn {
		return chat.Turn{Text: "It is as it was.", Deltas: 1, Delay: burstPiece}
	}, chat.Options{})
}

// bareBurst makes all requests at once and answers their median time in milliseconds.
func bareBurst(ctx context.Context, url string) (float64, error) {
	client := newCompletions(url)
	defer client.close()
	return atOnce(ctx, func(ctx context.Context, _ int, begin func()) error {
		begin()
		return client.ask(ctx, "hello", func(string) bool { return true })
	})
}

// atOnce does all of a burst at the same time and answers the median time of one in
// milliseconds. do calls begin once it is ready; begin returns when all are.
func atOnce(ctx context.Context, do func(ctx context.Context, i int, begin func()) error) (float64, error) {
	times := make([]float64, burst)
	var ready sync.WaitGroup
	ready.Add(burst)
	group, ctx := errgroup.WithContext(ctx)
	for i := range burst {
		group.Go(func() error {
			var began time.Time
			arrive := sync.OnceFunc(ready.Done)
			defer arrive() // one that fails before holds up nobody
			err := do(ctx, i, func() {
				arrive()
				ready.Wait()
				began = time.Now()
			})
			if err != nil {
				return fmt.Errorf("request %d of %d at once: %w", i+1, burst, err)
			}
			times[i] = measure.Milliseconds(time.Since(began))
			return nil
		})
	}
	err := group.Wait()
	return measure.Median(times), err
}

func createAll(ctx context.Context, n int, create func(context.Context) (string, error)) ([]string, error) {
	ids := make([]string, n)
	for i := range ids {
		var err error
		if ids[i], err = create(ctx); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
