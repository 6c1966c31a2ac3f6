package sqllog

import (
	"context"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// Append writes prepared events to the aggregate under the mode and runs the
// projections and views. It must run in a savepoint that an error undoes.
func (l *Log) Append(ctx context.Context, tx Tx, aggregate string, mode store.Mode, p *Prepared) ([]store.Event, error) {
	head, err := readHead(ctx, tx, aggregate)
	if err != nil {
		return nil, err
	}
	if err := admit(head.Head, mode); err != nil {
		return nil, err
	}
	fence, fenced := mode.Fence()
	if head.num, err = l.ensure(ctx, tx, aggregate, head.num); err != nil {
		return nil, err
	}
	if fenced && fence > head.Fence {
		if _, err := tx.Exec(ctx, updateFence, fence, head.num); err != nil {
			return nil, fmt.Errorf("store the fence: %w", err)
		}
	}
	events := make([]store.Event, len(p.events))
	for i, event := range p.events {
		event.Aggregate, event.Seq, event.Fence = aggregate, head.Seq+1+int64(i), 0
		if fenced {
			event.Fence = fence
		}
		if events[i], err = l.write(ctx, tx, head.num, event, p.digests[i]); err != nil {
			return nil, err
		}
	}
	return events, l.applyViews(ctx, tx, events)
}

// admit says whether an aggregate in this state takes an append of the mode.
func admit(head store.Head, mode store.Mode) error {
	if head.Deleted {
		return store.ErrDeleted
	}
	if seq, ok := mode.Exact(); ok && seq != head.Seq {
		return fmt.Errorf("the last sequence is %d, not %d: %w", head.Seq, seq, store.ErrSequence)
	}
	if fence, ok := mode.Fence(); ok && head.Fence > fence {
		return fmt.Errorf("fence %d is older than %d: %w", fence, head.Fence, store.ErrFenced)
	}
	return nil
}

// ensure answers the number of the aggregate and makes its row when num is 0.
func (l *Log) ensure(ctx context.Context, tx store.Tx, aggregate string, num int64) (int64, error) {
	if num != 0 {
		return num, nil
	}
	if err := tx.QueryRow(ctx, insertAggregate, aggregate).Scan(&num); err != nil {
		return 0, fmt.Errorf("add the aggregate: %w", err)
	}
	return num, nil
}

// write stores one event that has its sequence and runs the projections on it.
func (l *Log) write(ctx context.Context, tx store.Tx, num int64, e store.Event, digest []byte) (store.Event, error) {
	position, err := l.position(ctx, tx)
	if err != nil {
		return e, fmt.Errorf("take a position: %w", err)
	}
	e.Position = position
	data := e.Data
	if digest != nil {
		data = nil
	}
	affected, err := tx.Exec(ctx, insertEvent, e.Position, num, e.Seq, e.ID, e.Type, e.Version,
		e.Time.UnixMilli(), e.Actor, e.Cause, e.Trace, e.Fence, data, digest)
	if err != nil {
		return e, fmt.Errorf("insert event %s: %w", e.ID, err)
	}
	if affected == 0 {
		return e, fmt.Errorf("event %s: %w", e.ID, store.ErrEventExists)
	}
	for _, projection := range l.projections {
		if err := projection.Apply(ctx, tx, e); err != nil {
			return e, &store.RejectedError{Aggregate: e.Aggregate, Type: e.Type, Err: err}
		}
	}
	return e, nil
}
