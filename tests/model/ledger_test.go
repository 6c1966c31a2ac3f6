package model

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// ledger is a log that remembers all it took, also what was removed and pruned since:
// a process can die behind any of its appends.
type ledger struct {
	*sqlite.Store
	appending sync.RWMutex // held by appends for reading
	mu        sync.Mutex
	entries   []entry // in no order while anything is appended
	ends      []int64 // of appends, positions
	told      map[string]*told
}

// entry is an event, or what became of earlier ones when the log ended at its position.
type entry struct {
	position int64
	event    store.Event
	removed  []string // aggregates
	pruned   string   // an aggregate, which begins with seq from then on
	seq      int64
}

// Append appends.
func (l *ledger) Append(ctx context.Context, batch store.Batch) ([]store.Event, error) {
	l.appending.RLock()
	defer l.appending.RUnlock()
	events, err := l.Store.Append(ctx, batch)
	if err != nil {
		return events, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends = append(l.ends, events[len(events)-1].Position)
	return events, l.takeAll(events)
}

// takeAll remembers events.
func (l *ledger) takeAll(events []store.Event) error {
	for _, event := range events {
		l.entries = append(l.entries, entry{position: event.Position, event: event})
		payload, err := session.Decode(event)
		if err != nil {
			return err
		}
		if l.told[event.Aggregate] == nil {
			l.told[event.Aggregate] = newTold()
		}
		l.told[event.Aggregate].take(event.Seq, payload)
	}
	return nil
}

// Delete deletes.
func (l *ledger) Delete(ctx context.Context, aggregates ...string) error {
	return l.mark(func() error { return l.Store.Delete(ctx, aggregates...) }, entry{removed: slices.Clone(aggregates)})
}

// Prune prunes.
func (l *ledger) Prune(ctx context.Context, aggregate string, seq int64) error {
	return l.mark(func() error { return l.Store.Prune(ctx, aggregate, seq) }, entry{pruned: aggregate, seq: seq})
}

func (l *ledger) mark(change func() error, e entry) error {
	l.appending.Lock()
	defer l.appending.Unlock()
	if err := change(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.position = l.last()
	l.entries = append(l.entries, e)
	return nil
}

func (l *ledger) last() int64 {
	last := int64(0)
	for _, end := range l.ends {
		last = max(last, end)
	}
	return last
}

// position is where the log ends, with everything that somebody may have seen of it: an
// append is seen before it returns.
func (l *ledger) position() int64 {
	l.appending.Lock()
	defer l.appending.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last()
}

// snapshot answers what there is, in order.
func (l *ledger) snapshot() (entries []entry, ends []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries, ends = slices.Clone(l.entries), slices.Clone(l.ends)
	slices.SortStableFunc(entries, func(a, b entry) int { return int(a.position - b.position) })
	slices.Sort(ends)
	return entries, ends
}

// events are those of entries, whatever became of them.
func events(entries []entry) (all []store.Event) {
	for _, e := range entries {
		if e.event.Type != "" {
			all = append(all, e.event)
		}
	}
	return all
}

// left are the events of entries without those that were removed and pruned.
func left(entries []entry) (all []store.Event) {
	gone, first := map[string]bool{}, map[string]int64{}
	for _, e := range entries {
		for _, id := range e.removed {
			gone[id] = true
		}
		if e.pruned != "" {
			first[e.pruned] = max(first[e.pruned], e.seq)
		}
	}
	return slices.DeleteFunc(events(entries), func(e store.Event) bool { return gone[e.Aggregate] || e.Seq < first[e.Aggregate] })
}

// inherit takes over what a log had, whose events were replayed into this one: those
// entries at their new positions.
func (l *ledger) inherit(ctx context.Context, old []entry, ends []int64, now func(int64) int64) error {
	again, err := feed(ctx, l.Store)
	if err != nil {
		return err
	}
	if n := len(events(old)); n != len(again) {
		return fmt.Errorf("%d events were replayed, there are %d", n, len(again))
	}
	for _, end := range ends {
		l.ends = append(l.ends, now(end))
	}
	if err := l.takeAll(again); err != nil {
		return err
	}
	for _, e := range old {
		if e.event.Type != "" {
			continue
		}
		e.position = now(e.position)
		l.entries = append(l.entries, e)
		if e.pruned != "" {
			err = l.Store.Prune(ctx, e.pruned, e.seq)
		} else {
			err = l.Store.Delete(ctx, e.removed...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// feed answers all events that can be read.
func feed(ctx context.Context, log store.Log) ([]store.Event, error) {
	var all []store.Event
	for after := int64(0); ; {
		page, err := log.Feed(ctx, after, 1000)
		if err != nil {
			return nil, err
		}
		for _, event := range page.Events {
			all, after = append(all, event), event.Position
		}
		if !page.More {
			return all, nil
		}
	}
}

// replay takes events into an empty log, in the order of the store.
func replay(ctx context.Context, log store.Log, events []store.Event) error {
	from := map[string]int64{}
	for len(events) > 0 {
		id := events[0].Aggregate
		n := slices.IndexFunc(events, func(e store.Event) bool { return e.Aggregate != id })
		if n < 0 {
			n = len(events)
		}
		if _, known := from[id]; !known {
			from[id] = events[0].Seq
		}
		if err := log.Replay(ctx, events[:n], store.ReplayOptions{From: from[id]}); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		events = events[n:]
	}
	return nil
}
