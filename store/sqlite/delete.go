package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqllog"
)

// Delete marks the aggregates deleted. See store.Log.
func (s *Store) Delete(ctx context.Context, aggregates ...string) error {
	if err := s.marked(ctx, aggregates, func(ctx context.Context, tx sqllog.Tx) error {
		return s.log.Delete(ctx, tx, time.Now(), aggregates)
	}); err != nil {
		return fmt.Errorf("delete %s: %w", strings.Join(aggregates[:min(len(aggregates), 4)], ", "), err)
	}
	return nil
}

// Prune raises the low-water mark of the aggregate. See store.Log.
func (s *Store) Prune(ctx context.Context, aggregate string, seq int64) error {
	if err := s.marked(ctx, []string{aggregate}, func(ctx context.Context, tx sqllog.Tx) error {
		return s.log.Prune(ctx, tx, aggregate, seq)
	}); err != nil {
		return fmt.Errorf("prune %s to %d: %w", aggregate, seq, err)
	}
	return nil
}

// marked writes a mark and has the purge follow it.
func (s *Store) marked(ctx context.Context, aggregates []string, mark func(context.Context, sqllog.Tx) error) error {
	if err := sqllog.CheckDelete(aggregates); err != nil {
		return err
	}
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	return s.writer.do(ctx, &request{
		size: len(aggregates) * stepRow,
		run:  mark,
		committed: func() {
			for _, aggregate := range aggregates {
				s.watchers.Poke(aggregate)
			}
			s.purger.want()
		},
	})
}

// Purge waits until what is marked is gone. See store.Log.
func (s *Store) Purge(ctx context.Context) error {
	if err := s.gate.enter(); err != nil {
		return err
	}
	s.gate.leave() // a close does not wait for it
	return s.purger.wait(ctx)
}

// Remains lists what is marked and not gone. See store.Log.
func (s *Store) Remains(ctx context.Context) (remains []store.Remain, err error) {
	err = s.snapshot(ctx, func(tx store.Tx) (err error) {
		remains, err = s.log.Remains(ctx, tx)
		return err
	})
	return remains, err
}

// buryStep is how many tombstones go in one transaction.
const buryStep = 512

// Bury forgets tombstones. See store.Log.
func (s *Store) Bury(ctx context.Context, before time.Time) (buried int, err error) {
	if err := s.gate.enter(); err != nil {
		return 0, err
	}
	defer s.gate.leave()
	for {
		var removed int64
		err := s.writer.do(ctx, &request{
			size: buryStep * stepRow,
			run: func(ctx context.Context, tx sqllog.Tx) (err error) {
				removed, err = s.log.Bury(ctx, tx, before, buryStep)
				return err
			},
		})
		if err != nil {
			return buried, fmt.Errorf("bury: %w", err)
		}
		if buried += int(removed); removed < buryStep {
			return buried, nil
		}
	}
}
