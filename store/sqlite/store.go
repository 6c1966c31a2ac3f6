package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqllog"
)

// ID names this incarnation of the log.
func (s *Store) ID() string { return s.identity.ID }

// KV answers the key-value store in the same database.
func (s *Store) KV() store.KV { return &kv{store: s} }

// Blobs answers the blobs beside the database.
func (s *Store) Blobs() store.Blobs { return &blobs{dir: s.blobs, gate: &s.gate} }

// Append writes the batch. See store.Log.
func (s *Store) Append(ctx context.Context, batch store.Batch) ([]store.Event, error) {
	events, err := s.append(ctx, batch)
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", batch.Aggregate, err)
	}
	return events, nil
}

func (s *Store) append(ctx context.Context, batch store.Batch) (events []store.Event, err error) {
	if err := sqllog.CheckBatch(batch); err != nil {
		return nil, err
	}
	if err := s.gate.enter(); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	prepared, err := s.log.Prepare(ctx, batch.Events)
	if err != nil {
		return nil, err
	}
	err = s.writer.do(ctx, &request{
		size:      prepared.Size(),
		committed: func() { s.watchers.Poke(batch.Aggregate) },
		run: func(ctx context.Context, tx sqllog.Tx) (err error) {
			events, err = s.log.Append(ctx, tx, batch.Aggregate, batch.Mode, prepared)
			return err
		},
	})
	return events, err
}

// Replay takes events recorded elsewhere. See store.Log.
func (s *Store) Replay(ctx context.Context, events []store.Event, options store.ReplayOptions) error {
	if len(events) == 0 {
		return nil
	}
	aggregate := events[0].Aggregate
	if err := s.replay(ctx, aggregate, events, options); err != nil {
		return fmt.Errorf("replay %s: %w", aggregate, err)
	}
	return nil
}

func (s *Store) replay(ctx context.Context, aggregate string, events []store.Event, options store.ReplayOptions) error {
	if aggregate == "" {
		return errors.New("the events name no aggregate")
	}
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	prepared, err := s.log.Prepare(ctx, events)
	if err != nil {
		return err
	}
	return s.writer.do(ctx, &request{
		size:      prepared.Size(),
		committed: func() { s.watchers.Poke(aggregate) },
		run: func(ctx context.Context, tx sqllog.Tx) error {
			return s.log.Replay(ctx, tx, prepared, options)
		},
	})
}

// Acquire answers the fence of this process: it holds the whole store, so the
// lease of an aggregate is trivial and the fence grows with every opening.
func (s *Store) Acquire(ctx context.Context, _ string) (int64, error) {
	if ctx.Err() != nil {
		return 0, ended(ctx)
	}
	if err := s.gate.enter(); err != nil {
		return 0, err
	}
	defer s.gate.leave()
	return s.identity.Opened, nil
}

// Watch registers for commits. See store.Log.
func (s *Store) Watch(aggregate string) *store.Wake { return s.watchers.Watch(aggregate) }

// StaleViews answers the views that miss events and are left alone until they
// are rebuilt.
func (s *Store) StaleViews() []sqllog.StaleView { return s.log.StaleViews() }

// RebuildView empties a view and feeds it all events, in steps between which
// appends go on. When it fails or ctx ends, the view stays stale.
func (s *Store) RebuildView(ctx context.Context, name string) error {
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	s.rebuilds.Lock()
	defer s.rebuilds.Unlock()
	rebuild, err := s.log.Rebuild(name)
	if err != nil {
		return err
	}
	for {
		var state sqllog.RebuildState
		err := s.writer.do(ctx, &request{
			alone:     true, // no append may fall between a step and its outcome
			committed: func() { rebuild.Committed(state) },
			run: func(ctx context.Context, tx sqllog.Tx) (err error) {
				state, err = rebuild.Step(ctx, tx)
				return err
			},
		})
		if err != nil || state.Done {
			return err
		}
	}
}

// Stats counts what was written since the store was opened.
type Stats struct {
	// Groups is the number of transactions, each made durable by one sync.
	Groups int64
	// Writes is the number of appends and other writes in them.
	Writes int64
}

// Stats answers the counts so far.
func (s *Store) Stats() Stats {
	return Stats{Groups: s.writer.groups.Load(), Writes: s.writer.writes.Load()}
}
