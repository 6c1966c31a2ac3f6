package sqllog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/plinthhost/plinth/store"
)

// CheckDelete answers what is wrong with a deletion as a whole.
func CheckDelete(aggregates []string) error {
	if len(aggregates) > store.MaxDelete {
		return fmt.Errorf("%d aggregates, the most is %d: %w", len(aggregates), store.MaxDelete, store.ErrTooLarge)
	}
	if slices.Contains(aggregates, "") {
		return errors.New("an aggregate has no name")
	}
	return nil
}

// Delete marks the aggregates deleted and has projections and views hide them. What
// is stored of them is for Purge. Blobs stay: other events may share them.
func (l *Log) Delete(ctx context.Context, tx Tx, at time.Time, aggregates []string) error {
	last, err := lastPosition(ctx, tx)
	if err != nil {
		return fmt.Errorf("read the last position: %w", err)
	}
	if err := setMeta(ctx, tx, metaPosition, strconv.FormatInt(last, 10)); err != nil {
		return fmt.Errorf("keep the last position: %w", err)
	}
	for _, aggregate := range aggregates {
		if err := l.mark(ctx, tx, at, aggregate); err != nil {
			return fmt.Errorf("%s: %w", aggregate, err)
		}
	}
	return nil
}

func (l *Log) mark(ctx context.Context, tx Tx, at time.Time, aggregate string) error {
	h, err := readHead(ctx, tx, aggregate)
	if err != nil || h.Deleted {
		return err
	}
	if h.num, err = l.ensure(ctx, tx, aggregate, h.num); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, updateDeleted, at.UnixMilli(), h.num); err != nil {
		return fmt.Errorf("leave a tombstone: %w", err)
	}
	_, err = l.forget(ctx, tx, aggregate, 0)
	return err
}

// forget lets projections and views remove rows, about limit each, and reports whether
// any has more.
func (l *Log) forget(ctx context.Context, tx Tx, aggregate string, limit int) (more bool, err error) {
	for _, projection := range l.projections {
		left, err := projection.Forget(ctx, tx, aggregate, limit)
		if err != nil {
			return false, fmt.Errorf("forget %s: %w", aggregate, err)
		}
		more = more || left
	}
	left, err := l.forgetViews(ctx, tx, aggregate, limit)
	return more || left, err
}

// Prune raises the low-water mark. What is below it is for Purge.
func (l *Log) Prune(ctx context.Context, tx Tx, aggregate string, seq int64) error {
	h, err := readHead(ctx, tx, aggregate)
	switch {
	case err != nil:
		return err
	case h.Deleted:
		return store.ErrDeleted
	case seq > h.Seq:
		return fmt.Errorf("the last sequence is %d, not %d or more: %w", h.Seq, seq, store.ErrSequence)
	case seq <= h.First:
		return nil
	}
	if _, err := tx.Exec(ctx, updateFirst, seq, 1, h.num); err != nil {
		return fmt.Errorf("raise the low-water mark: %w", err)
	}
	return nil
}

// Bury removes up to limit tombstones of before the instant.
func (l *Log) Bury(ctx context.Context, tx store.Tx, before time.Time, limit int) (int64, error) {
	buried, err := tx.Exec(ctx, deleteTombstones, before.UnixMilli(), limit)
	if err != nil {
		return 0, fmt.Errorf("remove tombstones: %w", err)
	}
	return buried, nil
}
