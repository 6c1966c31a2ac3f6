package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// restart ends the host in order and opens another one over its folder.
func (w *world) restart(ctx context.Context, s step) (string, error) {
	grace := time.Duration(0)
	if s.Flag {
		grace = time.Minute
	}
	old := w.host
	words, err := timely(func() (string, error) {
		if s.Item%2 == 1 { // somebody lets a call end meanwhile
			go func() {
				time.Sleep(time.Second)
				w.release(s.Other)
			}()
		}
		old.close(grace)
		return fmt.Sprintf("after %v", grace), old.faults.first()
	})
	if err != nil {
		return words, err
	}
	w.host = newHost(w, old.dir)
	w.host.log.ends = old.log.ends
	if err := w.catchUp(); err != nil {
		return words, err
	}
	w.history.rested(func(string) bool { return false })
	return words, w.host.start(ctx)
}

// crash leaves what a process leaves that died after one of the last appends: another
// host goes on from there, and what came later did not happen.
func (w *world) crash(ctx context.Context, s step) (string, error) {
	old := w.host
	old.dead.Store(true)
	ends := slices.DeleteFunc(slices.Clone(old.log.snapshot()), func(end int64) bool { return end < w.base })
	back := min(s.Item*(1+s.Other), len(ends)-1)
	until := ends[len(ends)-1-back]
	events, err := feed(ctx, old.log, until)
	if err != nil {
		return "", err
	}
	tables := ""
	if back == 0 {
		tables = sessiontest.Tables(w.t, old.log)
	}
	if _, err := timely(func() (string, error) { old.close(0); return "", nil }); err != nil {
		return "", fmt.Errorf("the host that dies: %w", err)
	}
	w.host = newHost(w, w.t.TempDir())
	if err := replay(ctx, w.host.log, events); err != nil {
		return "", err
	}
	if back == 0 {
		if diff := cmp.Diff(tables, sessiontest.Tables(w.t, w.host.log)); diff != "" {
			return "", errors.New("the tables of a replay differ (-had +has):\n" + diff)
		}
	}
	if err := w.rewind(ctx, ends, events); err != nil {
		return "", err
	}
	words := fmt.Sprintf("%d appends ago, %d events left", back, len(events))
	if err := w.catchUp(); err != nil {
		return words, err
	}
	w.history.rested(func(string) bool { return false })
	return words, w.host.start(ctx)
}

func (l *ledger) snapshot() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	ends := slices.Clone(l.ends)
	slices.Sort(ends)
	return ends
}

// rewind forgets what happened after the events, and finds their positions in the new
// log.
func (w *world) rewind(ctx context.Context, ends []int64, events []store.Event) error {
	again, err := feed(ctx, w.host.log, 1<<62)
	if err != nil {
		return err
	}
	if len(again) != len(events) {
		return fmt.Errorf("%d events were replayed, there are %d", len(events), len(again))
	}
	last := events[len(events)-1].Position
	now := func(position int64) int64 {
		at, _ := slices.BinarySearchFunc(events, position, func(e store.Event, position int64) int { return int(e.Position - position) })
		return again[at].Position
	}
	for _, end := range ends {
		if end <= last {
			w.host.log.ends = append(w.host.log.ends, now(end))
		}
	}
	w.base = now(w.base)
	w.mu.Lock()
	defer w.mu.Unlock()
	var kept []effect
	for _, e := range w.effects {
		if e.position <= last {
			e.position = now(e.position)
			kept = append(kept, e)
		}
	}
	w.effects = kept
	w.history, w.read = newHistory(), 0
	return nil
}
