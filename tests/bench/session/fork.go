package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

const (
	// foldEvery is how many prompts a window takes: about 700 tokens each, of 128,000.
	foldEvery = 150
	// removals are of sessions of longEvents; each is a round.
	removals = measure.Rounds
	// appenders write to sessions of their own, and pause for a moment between appends.
	appenders = 4
	pause     = 2 * time.Millisecond
)

// longStory is a session of longEvents whose history was condensed as often as it was
// too long for a model of 128,000 tokens. It ends with two thirds of a window.
func longStory(encoder session.Encoder) *story {
	s := newStory(encoder)
	for n := 1; len(s.events) < longEvents-foldEvery*promptEvents*2/3; n++ {
		s.work()
		if n%foldEvery == 0 {
			s.fold()
		}
	}
	s.fold()
	for len(s.events) <= longEvents-promptEvents {
		s.work()
	}
	s.pad(longEvents)
	return s
}

// measureFork forks a session of a hundred thousand events at its newest message.
func measureFork(ctx context.Context, dir string) error {
	k, err := openKernel(ctx, dir, say("It is as it was."))
	if err != nil {
		return err
	}
	defer k.close()
	long := longStory(k.encoder)
	if err := long.replay(ctx, k.log); err != nil {
		return err
	}
	messages := 0
	took, err := measure.OverRounds(func(int) (float64, error) {
		began := time.Now()
		forked, _, err := k.sessions.Fork(ctx, session.System(), session.ForkRequest{Session: long.id})
		if err != nil {
			return 0, err
		}
		elapsed := measure.Milliseconds(time.Since(began))
		all, err := k.sessions.Messages(ctx, forked.ID, -1, 10_000)
		messages = len(all)
		return elapsed, err
	})
	if err != nil {
		return err
	}
	measure.Note("the fork has %d messages", messages)
	contextFigure("fork_100k_ms", took, "ms")
	return nil
}

// measureDelete tells how long appends to other sessions take while one of a hundred
// thousand events is deleted, until nothing of it is left, over how long they take for
// as long without.
func measureDelete(ctx context.Context, dir string) error {
	k, err := openKernel(ctx, dir, say("It is as it was."))
	if err != nil {
		return err
	}
	defer k.close()
	var over, busy, whole, longest []float64
	for range removals {
		long := longStory(k.encoder)
		if err := long.replay(ctx, k.log); err != nil {
			return err
		}
		began := time.Now()
		during, err := k.beside(ctx, func() error {
			if _, err := k.sessions.Remove(ctx, session.System(), long.id); err != nil {
				return err
			}
			return k.log.Purge(ctx)
		})
		if err != nil {
			return err
		}
		elapsed := time.Since(began)
		alone, err := k.beside(ctx, func() error { time.Sleep(elapsed); return nil })
		if err != nil {
			return err
		}
		measure.Note("deleted in %s; appends: p99 %.2f ms of %d, alone %.2f ms of %d", elapsed.Round(time.Millisecond),
			measure.Percentile(during, 99), len(during), measure.Percentile(alone, 99), len(alone))
		over = append(over, measure.Percentile(during, 99)-measure.Percentile(alone, 99))
		busy = append(busy, measure.Percentile(during, 99))
		longest = append(longest, measure.Percentile(during, 100))
		whole = append(whole, measure.Milliseconds(elapsed))
	}
	contextFigure("delete_100k_block_ms_p99", measure.Median(over), "ms")
	contextFigure("delete_100k_append_ms_p99", measure.Median(busy), "ms")
	contextFigure("delete_100k_append_ms_max", measure.Median(longest), "ms")
	contextFigure("delete_100k_ms", measure.Median(whole), "ms")
	return nil
}

// beside appends to sessions while work goes on, and answers how long each append took,
// in milliseconds.
func (k *kernel) beside(ctx context.Context, work func() error) ([]float64, error) {
	done := make(chan struct{})
	var mu sync.Mutex
	var all []float64
	var failed error
	var group sync.WaitGroup
	for range appenders {
		group.Go(func() {
			took, err := k.append(ctx, done)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			if err != nil {
				failed = err
			}
		})
	}
	err := work()
	close(done)
	group.Wait()
	if err == nil {
		err = failed
	}
	if err == nil && len(all) < 100 {
		err = fmt.Errorf("only %d appends were made beside it", len(all))
	}
	return all, err
}

// append writes one event at a time to a new session until done is closed.
func (k *kernel) append(ctx context.Context, done <-chan struct{}) (took []float64, err error) {
	id, err := k.create(ctx)
	if err != nil {
		return nil, err
	}
	for {
		select {
		case <-done:
			return took, nil
		case <-time.After(pause):
		}
		events, err := k.encoder.Encode(session.System(), session.Synthetic{Message: k.encoder.IDs.New(session.PrefixMessage), Text: words(20)})
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if _, err := k.log.Append(ctx, store.Batch{Aggregate: id, Mode: store.Any(), Events: events}); err != nil {
			return nil, err
		}
		took = append(took, measure.Milliseconds(time.Since(began)))
	}
}
