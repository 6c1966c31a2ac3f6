package main

import (
	"context"
	"fmt"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

const (
	shortEvents = 100
	longEvents  = 100_000
	firstPage   = 50 // messages, what the API answers when nobody says
	roundTurns  = 10
	roundOpens  = 40
)

// measureHistory compares sessions of a hundred and of a hundred thousand events in one
// store: a turn of each, and the first page of messages. They begin alike, with a page
// of messages, and end alike, with a summary of all but the last prompt: a page and a
// model's window are the same in both.
func measureHistory(ctx context.Context, dir string) error {
	k, err := openKernel(ctx, dir, say("It is as it was."))
	if err != nil {
		return err
	}
	defer k.close()
	long := beginning(k.encoder)
	for len(long.events) < longEvents-ending-promptEvents {
		long.work()
	}
	if err := k.tellEnding(ctx, long, longEvents); err != nil {
		return err
	}
	if n := len(long.events); n != longEvents {
		return fmt.Errorf("the long session has %d events, not %d", n, longEvents)
	}
	c := comparison{kernel: k, long: long}
	for range measure.Rounds {
		if err := c.round(ctx); err != nil {
			return err
		}
	}
	figure("turn_100k_over_100", measure.Median(c.turns), "ratio")
	figure("turn_100k_ms_p50", measure.Median(c.times), "ms")
	figure("open_100k_over_100", measure.Median(c.opens), "ratio")
	figure("open_last_100k_over_100", measure.Median(c.lasts), "ratio")
	return nil
}

// comparison has a value for each round.
type comparison struct {
	*kernel
	short, long                *story
	turns, times, opens, lasts []float64
}

// round compares the long session with a new short one.
func (c *comparison) round(ctx context.Context) error {
	c.short = beginning(c.encoder)
	if err := c.tellEnding(ctx, c.short, shortEvents); err != nil {
		return err
	}
	if n := len(c.short.events); n != shortEvents {
		return fmt.Errorf("the short session has %d events, not %d", n, shortEvents)
	}
	open, err := c.comparePages(ctx, func(*story) int64 { return -1 }, firstPage)
	if err != nil {
		return err
	}
	last, err := c.comparePages(ctx, func(s *story) int64 { return s.next() - ending - 1 }, endingMessages)
	if err != nil {
		return err
	}
	short, long, err := c.compareTurns(ctx)
	if err != nil {
		return err
	}
	c.turns, c.times = append(c.turns, long/short), append(c.times, long)
	c.opens, c.lasts = append(c.opens, open), append(c.lasts, last)
	// What the turns added to the long one makes room for what it ended with.
	head, err := c.head(ctx, c.long.id)
	if err != nil {
		return err
	}
	c.long = goOn(c.encoder, c.long.id, head+1)
	return c.tellEnding(ctx, c.long, 0)
}

// beginning tells a page of messages and the work of one prompt among them, in fewer
// than a hundred events.
func beginning(encoder session.Encoder) *story {
	s := newStory(encoder)
	s.work()
	messages := 3
	for range 10 {
		s.command()
		messages++
	}
	for ; messages < firstPage; messages++ {
		s.remark()
	}
	return s
}

// An ending is a summary of everything before it, and one prompt.
const (
	ending         = 1 + promptEvents
	endingMessages = 1 + 3
)

// tellEnding makes a story at least so long, ends it, and takes it into the log.
func (k *kernel) tellEnding(ctx context.Context, s *story, events int) error {
	s.pad(events - ending)
	s.fold()
	s.work()
	return s.replay(ctx, k.log)
}

// comparePages answers how many times longer the long session takes for the messages
// after a sequence.
func (c *comparison) comparePages(ctx context.Context, after func(*story) int64, want int) (float64, error) {
	var took [2][]float64
	for range roundOpens {
		for i, s := range []*story{c.short, c.long} {
			began := time.Now()
			n, err := c.page(ctx, s.id, after(s))
			if err != nil {
				return 0, err
			}
			took[i] = append(took[i], measure.Milliseconds(time.Since(began)))
			if n != want {
				return 0, fmt.Errorf("a page of %s has %d messages, not %d", s.id, n, want)
			}
		}
	}
	return measure.Median(took[1]) / measure.Median(took[0]), nil
}

// page reads what the API answers for a page: the head for its cursor, then the
// messages and one more. It answers how many there are.
func (k *kernel) page(ctx context.Context, id string, after int64) (int, error) {
	if _, err := k.head(ctx, id); err != nil {
		return 0, err
	}
	messages, err := k.sessions.Messages(ctx, id, after, firstPage+1)
	return min(len(messages), firstPage), err
}

// compareTurns runs turns in both, one after the other, and answers the median time
// of each in milliseconds.
func (c *comparison) compareTurns(ctx context.Context) (short, long float64, err error) {
	if err := c.sameWindow(ctx); err != nil {
		return 0, 0, err
	}
	var took [2][]float64
	for range roundTurns {
		for i, s := range []*story{c.short, c.long} {
			var began time.Time
			if err := c.turn(ctx, s.id, func() { began = time.Now() }); err != nil {
				return 0, 0, err
			}
			took[i] = append(took[i], measure.Milliseconds(time.Since(began)))
		}
	}
	return measure.Median(took[0]), measure.Median(took[1]), nil
}

// sameWindow holds both sessions to sending a model as many messages.
func (c *comparison) sameWindow(ctx context.Context) error {
	return c.log.View(ctx, func(tx store.Tx) error {
		var counts [2]int
		for i, s := range []*story{c.short, c.long} {
			current, err := session.LoadSession(ctx, tx, s.id)
			if err != nil {
				return err
			}
			history, err := session.LoadHistory(ctx, tx, current, 1)
			if err != nil {
				return err
			}
			counts[i] = len(history)
		}
		if counts[0] != endingMessages || counts[1] != endingMessages {
			return fmt.Errorf("the windows have %d and %d messages, not %d", counts[0], counts[1], endingMessages)
		}
		return nil
	})
}
