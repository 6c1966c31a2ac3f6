package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// Read answers events of one aggregate. See store.Log.
func (s *Store) Read(ctx context.Context, aggregate string, after int64, limit int) (page store.Page, err error) {
	err = s.snapshot(ctx, func(tx store.Tx) (err error) {
		page, err = s.log.Read(ctx, tx, aggregate, after, limit)
		return err
	})
	return page, err
}

// Feed answers events of all aggregates. See store.Log.
func (s *Store) Feed(ctx context.Context, after int64, limit int) (page store.Page, err error) {
	err = s.snapshot(ctx, func(tx store.Tx) (err error) {
		page, err = s.log.Feed(ctx, tx, after, limit)
		return err
	})
	return page, err
}

// View runs read with a consistent snapshot. Statements that write fail. A read
// that lasts keeps the WAL from starting anew, and holds one of few connections.
func (s *Store) View(ctx context.Context, read func(store.Tx) error) error {
	return s.snapshot(ctx, read)
}

// snapshot runs read in a transaction of a connection that cannot write.
func (s *Store) snapshot(ctx context.Context, read func(store.Tx) error) (err error) {
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	begun, err := s.readers.BeginTx(ctx, nil)
	if err != nil {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		return fmt.Errorf("open a snapshot: %w", err)
	}
	defer func() {
		if undo := begun.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			err = errors.Join(err, undo)
		}
	}()
	return read(&tx{on: begun, note: func(error) {}})
}
