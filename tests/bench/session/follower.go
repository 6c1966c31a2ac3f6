package main

import (
	"context"
	"fmt"
	"time"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// mergeFor is the shortest time between two looks at the streaming parts, as it is for
// a client of the host.
const mergeFor = 16 * time.Millisecond

// follower looks at one session as the host does for a client: it reads the log, and
// between events what the part that streams has grown by.
type follower struct {
	live  *session.Live
	id    string
	epoch time.Time
	tail  *store.Tail
	wake  *store.Wake
	dirty bool // something grew since the last look
	due   time.Time
	sent  int       // bytes of the one part
	late  []float64 // milliseconds, for each look that found something
}

func newFollower(k *kernel, id string, epoch time.Time) *follower {
	return &follower{live: k.live, id: id, epoch: epoch, tail: store.NewTail(k.log, id, 0), wake: k.live.Watch(id)}
}

// follow follows one turn to its end, and holds it to have brought every byte.
func (f *follower) follow(ctx context.Context) error {
	defer f.tail.Close()
	defer f.wake.Close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if f.dirty {
			timer.Reset(time.Until(f.due))
		}
		select {
		case <-f.wake.C():
			f.dirty = true
		case <-timer.C:
			if err := f.look(time.Now()); err != nil {
				return err
			}
		case <-f.tail.C():
			if ended, err := f.read(ctx); ended || err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// look takes what the open part has grown by. The longer that takes, the longer until
// the next look.
func (f *follower) look(now time.Time) error {
	if !f.dirty || now.Before(f.due) {
		return nil
	}
	f.dirty = false
	for _, part := range f.live.Open(f.id) {
		if err := f.take(part.Text); err != nil {
			return err
		}
	}
	done := time.Now()
	f.due = done.Add(max(mergeFor, 2*done.Sub(now)))
	return nil
}

// take takes the text of the part so far.
func (f *follower) take(text string) error {
	if len(text) <= f.sent {
		return nil
	}
	due, err := dueAt(text[f.sent:])
	if err != nil {
		return err
	}
	f.late = append(f.late, measure.Milliseconds(time.Since(f.epoch)-due))
	f.sent = len(text)
	return nil
}

// read reads the log on, whose text is whole.
func (f *follower) read(ctx context.Context) (ended bool, err error) {
	page, err := f.tail.Poll(ctx, 100)
	if err != nil {
		return false, err
	}
	for _, event := range page.Events {
		payload, err := session.Decode(event)
		if err != nil {
			return false, err
		}
		if whole, ok := payload.(session.TextEnded); ok {
			if err := f.take(whole.Text); err != nil {
				return false, err
			}
		}
		if ended, err = completed(event); err != nil {
			return false, err
		}
	}
	if ended && f.sent != deltas*deltaBytes {
		err = fmt.Errorf("%s brought %d bytes of %d", f.id, f.sent, deltas*deltaBytes)
	}
	return ended, err
}
