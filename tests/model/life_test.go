package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

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
			defer time.AfterFunc(time.Second, func() { w.release(s.Other) }).Stop()
		}
		old.close(grace)
		return fmt.Sprintf("after %v", grace), old.faults.first()
	})
	if err != nil {
		return words, err
	}
	w.host = newHost(w, old.dir)
	w.host.log.entries, w.host.log.ends, w.host.log.told = old.log.entries, old.log.ends, old.log.told
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
	entries, ends := old.log.snapshot()
	ends = slices.DeleteFunc(ends, func(end int64) bool { return end < w.base })
	back := min(s.Item*(1+s.Other), len(ends)-1)
	until := ends[len(ends)-1-back]
	entries = without(entries, func(e entry) bool {
		return e.position > until || e.position == until && e.event.Type == "" && back > 0 && s.Flag
	})
	tables := ""
	var err error
	if back == 0 {
		if tables, err = w.dump(ctx, old.log, false); err != nil {
			return "", err
		}
	}
	if _, err := timely(func() (string, error) { old.close(0); return "", nil }); err != nil {
		return "", fmt.Errorf("the host that dies: %w", err)
	}
	w.host = newHost(w, w.t.TempDir())
	if err := replay(ctx, w.host.log, events(entries)); err != nil {
		return "", err
	}
	if err := w.rewind(ctx, ends, entries); err != nil {
		return "", err
	}
	if back == 0 {
		again, err := w.dump(ctx, w.host.log, false)
		if err != nil {
			return "", err
		}
		if diff := cmp.Diff(tables, again); diff != "" {
			return "", errors.New("the tables of a replay differ (-had +has):\n" + diff)
		}
	}
	words := fmt.Sprintf("%d appends ago, %d events left", back, len(events(entries)))
	if err := w.catchUp(); err != nil {
		return words, err
	}
	w.history.rested(func(string) bool { return false })
	return words, w.host.start(ctx)
}

// rewind forgets what happened after the entries, and finds their positions in the new
// log.
func (w *world) rewind(ctx context.Context, ends []int64, entries []entry) error {
	replayed := events(entries)
	last := replayed[len(replayed)-1].Position
	again, err := feed(ctx, w.host.log)
	if err != nil {
		return err
	}
	now := func(position int64) int64 {
		at, _ := slices.BinarySearchFunc(replayed, position, func(e store.Event, position int64) int { return int(e.Position - position) })
		return again[at].Position
	}
	ends = slices.DeleteFunc(ends, func(end int64) bool { return end > last })
	if err := w.host.log.inherit(ctx, entries, ends, now); err != nil {
		return err
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
