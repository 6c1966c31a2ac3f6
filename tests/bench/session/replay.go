package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

const (
	replaySessions = 40
	replayPrompts  = 50 // of each session
)

// measureReplay is how fast an empty store takes the logs of sessions, with all that
// the kernel's tables hold of them.
func measureReplay(ctx context.Context, dir string) error {
	stories := make([]*story, replaySessions)
	events, bytes := 0, 0
	for i := range stories {
		stories[i] = newStory(newEncoder())
		for range replayPrompts {
			stories[i].work()
		}
		events += len(stories[i].events)
		for _, event := range stories[i].events {
			bytes += len(event.Data)
		}
	}
	measure.Note("replay: %d events of %d bytes on average", events, bytes/events)
	rate, err := measure.OverRounds(func(round int) (float64, error) {
		took, err := replayAll(ctx, filepath.Join(dir, fmt.Sprint(round)), stories)
		return float64(events) / took.Seconds(), err
	})
	if err != nil {
		return err
	}
	figure("replay_events_per_s", rate, "1/s")
	return nil
}

func replayAll(ctx context.Context, dir string, stories []*story) (took time.Duration, err error) {
	log, err := openLog(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	began := time.Now()
	for _, s := range stories {
		if err := s.replay(ctx, log); err != nil {
			return 0, err
		}
	}
	took = time.Since(began)
	return took, checkReplayed(ctx, log, stories)
}

// checkReplayed holds the store to having made the tables.
func checkReplayed(ctx context.Context, log store.Log, stories []*story) error {
	return log.View(ctx, func(tx store.Tx) error {
		for _, s := range stories {
			messages, err := session.LoadMessages(ctx, tx, s.id, -1, 10*replayPrompts)
			if err != nil {
				return err
			}
			if want := 3 * replayPrompts; len(messages) != want {
				return fmt.Errorf("%s was replayed with %d messages, not %d", s.id, len(messages), want)
			}
		}
		return nil
	})
}
