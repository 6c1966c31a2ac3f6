package sqllog

import (
	"context"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// Purge removes about limit rows and events of one aggregate that was marked by
// Delete or Prune, and reports whether any may be left. Each call belongs in a
// transaction of its own or beside others: it can be repeated, and what one has removed
// the next does not miss.
func (l *Log) Purge(ctx context.Context, tx Tx, limit int) (more bool, err error) {
	var num, first int64
	var name string
	var deleted int
	err = tx.QueryRow(ctx, selectPurging).Scan(&num, &name, &first, &deleted)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find what is to be removed: %w", err)
	}
	if deleted != 0 {
		left, err := l.forget(ctx, tx, name, limit)
		if err != nil || left {
			return true, err
		}
		first = endOfTime
	}
	removed, err := tx.Exec(ctx, deleteEvents, num, first, limit)
	if err != nil {
		return false, fmt.Errorf("remove events of %s: %w", name, err)
	}
	if removed < int64(limit) {
		if _, err := tx.Exec(ctx, updatePurged, num); err != nil {
			return false, fmt.Errorf("note that nothing is left of %s: %w", name, err)
		}
	}
	return true, nil
}

// endOfTime is above every sequence.
const endOfTime = 1<<63 - 1

// Remains lists what Purge has not removed yet.
func (l *Log) Remains(ctx context.Context, tx store.Tx) (remains []store.Remain, err error) {
	rows, err := tx.Query(ctx, selectRemains)
	if err != nil {
		return nil, fmt.Errorf("list what is to be removed: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var remain store.Remain
		var deleted int
		if err := rows.Scan(&remain.Aggregate, &deleted, &remain.Events); err != nil {
			return nil, fmt.Errorf("list what is to be removed: %w", err)
		}
		remain.Deleted = deleted != 0
		remains = append(remains, remain)
	}
	return remains, rows.Err()
}
