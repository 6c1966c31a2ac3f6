package session

import (
	"context"
	"math"
	"slices"

	"github.com/plinthhost/plinth/store"
)

// LoadReverted answers the session and its history as they will be once the revert that
// is staged is committed: its epoch has ended then.
func LoadReverted(ctx context.Context, tx store.Tx, s Session) (Session, []Message, error) {
	boundary := s.Revert.Boundary
	s.Revert = nil
	var err error
	if s.History, s.Compaction, err = lastCompaction(ctx, tx, s.ID, boundary); err != nil {
		return s, nil, err
	}
	history, err := LoadHistory(ctx, tx, s, -1)
	return s, slices.DeleteFunc(history, func(m Message) bool { return m.Seq > boundary }), err
}

// LoadSteps reads the assistant's messages after a sequence without their parts, oldest
// first.
func LoadSteps(ctx context.Context, tx store.Tx, session string, after int64) ([]Message, error) {
	rows, err := tx.Query(ctx, `SELECT seq, id, type, created_ms, body FROM message
		WHERE session_id = $1 AND seq > $2 AND type = 'assistant' ORDER BY seq LIMIT $3`, session, after, math.MaxInt32)
	return collect(rows, err, scanMessage)
}

// LoadSnapshots lists the snapshots that sessions name for as long as they are there: of
// a revert that is staged, and what their changes are counted from and to.
func LoadSnapshots(ctx context.Context, tx store.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT id FROM session WHERE revert <> '' OR changes <> ''`)
	ids, err := collect(rows, err, scanText)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, id := range ids {
		s, err := LoadSession(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if s.Revert != nil {
			all = append(all, s.Revert.Snapshot, s.Revert.Target)
		}
		if s.Changes != nil {
			all = append(all, s.Changes.From, s.Changes.To)
		}
	}
	return all, nil
}

// lastBefore answers the sequence of the last message before one; -1 when it is the first.
func lastBefore(ctx context.Context, tx store.Tx, session string, seq int64) (last int64, err error) {
	err = tx.QueryRow(ctx, `SELECT COALESCE(MAX(seq), -1) FROM message WHERE session_id = $1 AND seq < $2`, session, seq).Scan(&last)
	return last, err
}

// nextPrompt answers the sequence of the next user's message after one; after all when
// there is none.
func nextPrompt(ctx context.Context, tx store.Tx, session string, seq int64) (next int64, err error) {
	err = tx.QueryRow(ctx, `SELECT COALESCE(MIN(seq), $1) FROM message WHERE session_id = $2 AND seq > $3 AND type = 'user'`,
		int64(math.MaxInt64), session, seq).Scan(&next)
	return next, err
}
