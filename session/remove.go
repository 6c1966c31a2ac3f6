package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/plinthhost/plinth/store"
)

// Remove stops what the session and all sessions under it do, then deletes them, and
// answers their ids, the session's first. From its return on nobody sees any of them,
// and their ids cannot be used again; what is stored of them goes by and by. It answers
// none for a session that was removed before, and ErrNotFound for an unknown one.
func (s *Sessions) Remove(ctx context.Context, origin Origin, id string) (removed []string, err error) {
	switch _, err := s.Get(ctx, id); {
	case errors.Is(err, store.ErrDeleted):
		return nil, nil
	case err != nil:
		return nil, err
	}
	for {
		family, err := s.family(ctx, id)
		if err != nil {
			return removed, fmt.Errorf("remove session: %w", err)
		}
		family = slices.DeleteFunc(family, func(one string) bool { return slices.Contains(removed, one) })
		if len(family) == 0 {
			return removed, nil
		}
		// A task may begin another child until its parent is gone, so it is looked again.
		if err := s.removeAll(ctx, origin, family); err != nil {
			return removed, fmt.Errorf("remove session: %w", err)
		}
		removed = append(removed, family...)
		ctx = context.WithoutCancel(ctx)
	}
}

// family lists the session and all under it, each after its parent.
func (s *Sessions) family(ctx context.Context, id string) (family []string, err error) {
	err = s.log.View(ctx, func(tx store.Tx) error {
		family = []string{id}
		for i := 0; i < len(family); i++ {
			children, err := LoadChildren(ctx, tx, family[i])
			if err != nil {
				return err
			}
			family = append(family, children...)
		}
		return nil
	})
	return family, err
}

// removeAll stops the sessions and deletes them in one step, so that there is none
// without its parent.
func (s *Sessions) removeAll(ctx context.Context, origin Origin, family []string) error {
	for _, id := range family {
		if err := s.halt(ctx, origin, id); err != nil {
			return err
		}
	}
	if err := s.log.Delete(ctx, family...); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	for _, id := range family { // what began meanwhile cannot write any more
		if err := s.still(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// halt ends the session's work and what asks for more. It is recorded, so that a
// crash before the deletion does not let it go on.
func (s *Sessions) halt(ctx context.Context, origin Origin, id string) error {
	busy := false
	err := s.log.View(ctx, func(tx store.Tx) error {
		activity, err := loadActivity(ctx, tx, id)
		if err != nil {
			return err
		}
		waiting, err := LoadBacklog(ctx, tx, id)
		busy = activity != nil || waiting.Pending > 0
		return err
	})
	if err != nil {
		return err
	}
	if busy {
		if _, err := s.interrupt(ctx, origin, id, InterruptRequested{Removal: true}); err != nil && !isGone(err) {
			return err
		}
	}
	return s.still(ctx, id)
}

// still stops a drain of the session, whatever it works on.
func (s *Sessions) still(ctx context.Context, id string) error {
	if err := s.execution.Interrupt(ctx, id, math.MaxInt64); err != nil {
		return err
	}
	return s.execution.Settle(ctx, id)
}

// RemoveOrphans removes the children of removed sessions: those that a task began while
// its parent was removed, when the host died before that was seen. Call it when the host
// starts.
func (s *Sessions) RemoveOrphans(ctx context.Context) error {
	var parents []string
	err := s.log.View(ctx, func(tx store.Tx) (err error) {
		rows, err := tx.Query(ctx, `SELECT DISTINCT parent_id FROM session child
			WHERE parent_id <> '' AND NOT EXISTS (SELECT 1 FROM session WHERE session.id = child.parent_id)`)
		parents, err = collect(rows, err, scanText)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove orphans: %w", err)
	}
	for _, parent := range parents {
		if _, err := s.log.Read(ctx, parent, -1, 0); !errors.Is(err, store.ErrDeleted) {
			continue // it was never here
		}
		if err := s.removeUnder(ctx, parent); err != nil {
			return fmt.Errorf("remove orphans: %w", err)
		}
	}
	return nil
}

// removeUnder removes all sessions under one that is gone.
func (s *Sessions) removeUnder(ctx context.Context, parent string) error {
	family, err := s.family(ctx, parent)
	if err != nil || len(family) == 1 {
		return err
	}
	return s.removeAll(ctx, System(), family[1:])
}
