package main

import (
	"context"
	"fmt"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// historyBytes is what a model would be sent of the session that is condensed.
const historyBytes = 1 << 20

// measureCompact condenses a history of a megabyte with a provider that answers at once,
// so what it takes is the host's share: from the request to the event that ends it.
func measureCompact(ctx context.Context, dir string) error {
	k, err := openKernel(ctx, dir, say(words(400)))
	if err != nil {
		return err
	}
	defer k.close()
	took, err := measure.OverRounds(func(int) (float64, error) { return k.condense(ctx) })
	if err != nil {
		return err
	}
	contextFigure("compact_1mb_ms", took, "ms")
	return nil
}

func (k *kernel) condense(ctx context.Context) (float64, error) {
	s := newStory(k.encoder)
	for told := 0; told < historyBytes; told += promptBytes {
		s.work()
	}
	if err := s.replay(ctx, k.log); err != nil {
		return 0, err
	}
	tail := store.NewTail(k.log, s.id, s.next()-1)
	defer tail.Close()
	began := time.Now()
	if _, err := k.sessions.Compact(ctx, session.System(), s.id); err != nil {
		return 0, err
	}
	for {
		page, err := tail.Next(ctx, 100)
		if err != nil {
			return 0, err
		}
		for _, event := range page.Events {
			switch event.Type {
			case (session.CompactionEnded{}).EventType():
				return measure.Milliseconds(time.Since(began)), nil
			case (session.CompactionFailed{}).EventType():
				return 0, fmt.Errorf("the compaction failed: %s", event.Data)
			}
		}
	}
}
