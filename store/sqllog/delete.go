package sqllog

import (
	"context"
	"fmt"
	"strconv"

	"github.com/plinthhost/plinth/store"
)

// Delete removes the events of the aggregate and what projections and views
// keep of it, and leaves a tombstone. Blobs stay: other events may share them.
func (l *Log) Delete(ctx context.Context, tx Tx, aggregate string) error {
	h, err := readHead(ctx, tx, aggregate)
	if err != nil || h.Deleted {
		return err
	}
	if h.num, err = l.ensure(ctx, tx, aggregate, h.num); err != nil {
		return err
	}
	for _, projection := range l.projections {
		if err := projection.Forget(ctx, tx, aggregate); err != nil {
			return fmt.Errorf("forget %s: %w", aggregate, err)
		}
	}
	if err := l.forgetViews(ctx, tx, aggregate); err != nil {
		return err
	}
	return l.bury(ctx, tx, h.num)
}

// bury removes the events of an aggregate in one step and marks it deleted.
func (l *Log) bury(ctx context.Context, tx store.Tx, num int64) error {
	last, err := lastPosition(ctx, tx)
	if err != nil {
		return fmt.Errorf("read the last position: %w", err)
	}
	if err := setMeta(ctx, tx, metaPosition, strconv.FormatInt(last, 10)); err != nil {
		return fmt.Errorf("keep the last position: %w", err)
	}
	if _, err := tx.Exec(ctx, deleteEvents, num); err != nil {
		return fmt.Errorf("delete events: %w", err)
	}
	if _, err := tx.Exec(ctx, updateDeleted, num); err != nil {
		return fmt.Errorf("leave a tombstone: %w", err)
	}
	return nil
}
