package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plinthhost/plinth/store"
)

// Pruning is what became of a session's history.
type Pruning struct {
	// Pruned is whether anything was taken away by this call.
	Pruned bool
	// First is the lowest sequence that can still be read.
	First int64
}

// pruneTries is how often a pruning is tried while others write to the session.
const pruneTries = 3

// Prune takes away what the session's model is not sent any more: the messages that a
// compaction folded, and the events up to now. The session is what it was, with the same
// messages under their ids, and the next request is the one it would have been. What was
// admitted and promoted is forgotten. Without a compaction since the last pruning there
// is nothing to take away. A *ConflictError for a session that works, or in which
// something waits, and for one whose history is too long.
func (s *Sessions) Prune(ctx context.Context, origin Origin, id string) (pruning Pruning, err error) {
	for range pruneTries {
		pruning, err = s.prune(ctx, origin, id)
		if !errors.Is(err, store.ErrSequence) {
			return pruning, err
		}
	}
	return pruning, err
}

func (s *Sessions) prune(ctx context.Context, origin Origin, id string) (Pruning, error) {
	if err := s.settled(ctx, id); err != nil {
		return Pruning{}, err
	}
	// What is recorded from here on makes the append fail, and a drain that works has
	// been seen before it.
	head, err := store.ReadHead(ctx, s.log, id)
	if err != nil {
		return Pruning{}, fmt.Errorf("prune session: %w", err)
	}
	if s.execution.Running(id) {
		return Pruning{}, works(id)
	}
	state, err := s.prunable(ctx, id)
	if err != nil {
		return Pruning{}, err
	}
	if state.pruned.Session.Compaction <= state.pruned.Session.Pruned {
		return Pruning{First: head.First}, s.finishPruning(ctx, id, state.pruned.Session.Pruned, head.First)
	}
	events, err := s.pruned(origin, state)
	if err != nil {
		return Pruning{}, err
	}
	written, err := s.log.Append(ctx, store.Batch{Aggregate: id, Mode: store.Exactly(head.Seq), Events: events})
	if err != nil {
		return Pruning{}, fmt.Errorf("prune session: %w", err)
	}
	first := written[0].Seq
	s.unread(ctx, id)
	return Pruning{Pruned: true, First: first}, s.finishPruning(context.WithoutCancel(ctx), id, first, head.First)
}

// pruneSettle bounds how long a pruning waits for a drain that has nothing left to do, and
// for those who read what it takes away.
const pruneSettle = 5 * time.Second

// unread waits until nobody reads the session's events up to an end, which is there by now.
func (s *Sessions) unread(ctx context.Context, id string) {
	limited, cancel := context.WithTimeout(ctx, pruneSettle)
	defer cancel()
	s.readers.await(limited, id)
}

// settled waits until a drain whose work has ended in the log has gone. A session that
// works, or is asked to, is a conflict at once.
func (s *Sessions) settled(ctx context.Context, id string) error {
	if !s.execution.Running(id) {
		return nil
	}
	busy := false
	err := s.view(ctx, id, func(tx store.Tx) error {
		current, err := LoadSession(ctx, tx, id)
		if err != nil {
			return err
		}
		activity, err := loadActivity(ctx, tx, id)
		if err != nil {
			return err
		}
		waiting, err := LoadBacklog(ctx, tx, id)
		busy = activity != nil || waiting.Pending > 0 || current.Resume >= 0 || current.Compact >= 0 || current.Compacting != nil
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("prune session: %w", err)
	case busy:
		return works(id)
	}
	limited, cancel := context.WithTimeoutCause(ctx, pruneSettle, works(id))
	defer cancel()
	return s.execution.Settle(limited, id)
}

func works(id string) error {
	return &ConflictError{ID: id, Reason: "works, and a pruning needs an idle session", Fix: "interrupt it, or wait until it is idle"}
}

// finishPruning lets nobody read the events before a pruning, also one of a host that
// died between the two.
func (s *Sessions) finishPruning(ctx context.Context, id string, pruned, first int64) error {
	if pruned <= first {
		return nil
	}
	if err := s.log.Prune(ctx, id, pruned); err != nil {
		return fmt.Errorf("prune session: %w", err)
	}
	return nil
}

// prunable is a session as a pruning leaves it.
type prunable struct {
	pruned HistoryPruned
	epoch  *Epoch
	active *passage
}

func (s *Sessions) prunable(ctx context.Context, id string) (state prunable, err error) {
	err = s.view(ctx, id, func(tx store.Tx) error {
		if state.pruned.Session, err = LoadSession(ctx, tx, id); err != nil {
			return err
		}
		if err := followed(ctx, tx, id); err != nil {
			return err
		}
		baseline := int64(-1)
		epoch, err := LoadEpoch(ctx, tx, id)
		switch {
		case err == nil:
			state.epoch, baseline = &epoch, epoch.Seq
		case !isMissing(err):
			return err
		}
		if state.active, err = loadActive(ctx, tx, id, baseline); err != nil {
			return err
		}
		if state.pruned.Todos, err = LoadTodos(ctx, tx, id); err != nil {
			return err
		}
		if state.pruned.Totals, err = LoadTotals(ctx, tx, id); err != nil {
			return err
		}
		state.pruned.Directories, err = LoadDirectories(ctx, tx, id)
		return err
	})
	return state, err
}

// followed refuses a child whose parent has not been told yet how its task ended: that
// stands in the child's events.
func followed(ctx context.Context, tx store.Tx, id string) error {
	parent, err := scanText(tx.QueryRow(ctx, `SELECT session_id FROM task WHERE outcome = '' AND child_id = $1 LIMIT 1`, id))
	switch {
	case isNotFound(err):
		return nil
	case err != nil:
		return err
	}
	return &ConflictError{ID: id, Reason: "has a task that " + parent + " waits for", Fix: "wait until it is told"}
}

// pruned makes the events of a pruning. The epoch goes on: it begins anew, as it is, at
// the same place among the messages, so that the same of them count as its updates.
func (s *Sessions) pruned(origin Origin, state prunable) ([]store.Event, error) {
	payloads := []Payload{state.pruned}
	events, err := s.imports(origin, payloads, state.active, state.pruned.Session.Answered, func(id string) string { return id })
	if err != nil || state.epoch == nil {
		return events, err
	}
	at := 1
	for i, message := range state.active.messages {
		if message.kind != MessageCompaction && message.seq > state.epoch.Seq {
			break
		}
		at = i + 2
	}
	begun, err := s.encoder.Encode(origin, ContextInitialized{Baseline: state.epoch.Baseline, Snapshot: state.epoch.Snapshot})
	if err != nil {
		return nil, err
	}
	events = slices.Concat(events[:at], begun, events[at:])
	if state.pruned.Session.Rewritten <= state.epoch.Seq {
		return events, nil
	}
	rewritten, err := s.encoder.Encode(origin, ResultsPruned{Calls: []CallRef{}}) // the epoch is still to be replaced
	return append(events, rewritten...), err
}
