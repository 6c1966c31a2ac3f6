package sqllog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/plinthhost/plinth/store"
)

// Replay takes prepared events recorded elsewhere, by the rules of
// store.ReplayOptions. It must run in a savepoint that an error undoes.
func (l *Log) Replay(ctx context.Context, tx Tx, p *Prepared, options store.ReplayOptions) error {
	aggregate := p.events[0].Aggregate
	h, err := readHead(ctx, tx, aggregate)
	if err != nil {
		return err
	}
	foreign := h.Owner != "" && h.Owner != options.Owner
	if foreign && options.Strict {
		return fmt.Errorf("%s belongs to %s, not to %s: %w", aggregate, h.Owner, options.Owner, store.ErrReplayOwner)
	}
	if h.Deleted {
		return store.ErrDeleted
	}
	if err := consecutive(p.events); err != nil {
		return err
	}
	begins := h.Seq < 0 && options.From > 0 && p.events[0].Seq == options.From
	if begins {
		h.Seq = options.From - 1
	}
	known, err := l.compareKnown(ctx, tx, h, p.events)
	if err != nil {
		return err
	}
	if foreign {
		return nil
	}
	if begins {
		if h.num, err = l.ensure(ctx, tx, aggregate, h.num); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, updateFirst, options.From, 0, h.num); err != nil {
			return fmt.Errorf("set the low-water mark: %w", err)
		}
	}
	return l.replayNew(ctx, tx, h, p, known, options.Owner)
}

func consecutive(events []store.Event) error {
	first := events[0]
	for i, e := range events {
		if e.Aggregate != first.Aggregate {
			return &store.ReplayError{Aggregate: first.Aggregate, Seq: e.Seq, Reason: "another event is of " + e.Aggregate}
		}
		if e.Seq != first.Seq+int64(i) || e.Seq < 0 {
			return &store.ReplayError{Aggregate: first.Aggregate, Seq: e.Seq,
				Reason: fmt.Sprintf("the events are not consecutive at index %d", i)}
		}
	}
	return nil
}

// compareKnown checks the events that the log has already and answers how many
// of the first events those are.
func (l *Log) compareKnown(ctx context.Context, tx store.Tx, h head, events []store.Event) (int, error) {
	known := int(min(max(h.Seq-events[0].Seq+1, 0), int64(len(events))))
	for done := 0; done < known; {
		want := events[done:min(known, done+compareChunk)]
		have, _, err := l.events(ctx, tx, len(want), selectEvents, h.num, want[0].Seq-1)
		if err != nil {
			return 0, err
		}
		for i, e := range want {
			if i >= len(have) || have[i].Seq != e.Seq {
				return 0, &store.ReplayError{Aggregate: e.Aggregate, Seq: e.Seq, Reason: "the stored event was pruned and cannot be compared"}
			}
			if !sameEvent(have[i], e) {
				return 0, &store.ReplayError{Aggregate: e.Aggregate, Seq: e.Seq, Reason: "it diverged, another event is stored there"}
			}
		}
		done += len(want)
	}
	return known, nil
}

// compareChunk bounds how many stored events are held while comparing.
const compareChunk = 256

func (l *Log) replayNew(ctx context.Context, tx Tx, h head, p *Prepared, known int, owner string) (err error) {
	fresh := p.events[known:]
	if len(fresh) > 0 && fresh[0].Seq != h.Seq+1 {
		return &store.ReplayError{Aggregate: fresh[0].Aggregate, Seq: fresh[0].Seq,
			Reason: fmt.Sprintf("a gap, the last sequence here is %d", h.Seq)}
	}
	if h.num, err = l.ensure(ctx, tx, p.events[0].Aggregate, h.num); err != nil {
		return err
	}
	if h.Owner == "" && owner != "" {
		if _, err := tx.Exec(ctx, updateOwner, owner, h.num); err != nil {
			return fmt.Errorf("store the replay owner: %w", err)
		}
	}
	written := make([]store.Event, len(fresh))
	for i, e := range fresh {
		if written[i], err = l.write(ctx, tx, h.num, e, p.digests[known+i]); err != nil {
			return replayError(e, err)
		}
	}
	return l.applyViews(ctx, tx, written)
}

// replayError turns the reuse of an id into what a replay answers for it.
func replayError(e store.Event, err error) error {
	if errors.Is(err, store.ErrEventExists) {
		return &store.ReplayError{Aggregate: e.Aggregate, Seq: e.Seq, Reason: "its id " + e.ID + " is used by another event"}
	}
	return err
}

// sameEvent compares what makes a replayed event the same: id, type, version and
// data. Data may differ in its text when it is the same JSON value.
func sameEvent(a, b store.Event) bool {
	return a.ID == b.ID && a.Type == b.Type && a.Version == b.Version &&
		(bytes.Equal(a.Data, b.Data) || sameJSON(a.Data, b.Data))
}

func sameJSON(a, b []byte) bool {
	x, okX := decode(a)
	y, okY := decode(b)
	return okX && okY && reflect.DeepEqual(x, y)
}

func decode(data []byte) (value any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return value, err == io.EOF
}
