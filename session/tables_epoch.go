package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// Epoch is the running context epoch of a session.
type Epoch struct {
	Baseline string
	Snapshot Snapshot
	// Seq is the sequence of the event that began it.
	Seq int64
}

// LoadEpoch reads the running epoch; ErrNotFound when none has begun.
func LoadEpoch(ctx context.Context, tx store.Tx, session string) (Epoch, error) {
	var e Epoch
	var snapshot string
	err := tx.QueryRow(ctx, `SELECT baseline, snapshot, baseline_seq FROM epoch WHERE session_id = $1`, session).
		Scan(&e.Baseline, &snapshot, &e.Seq)
	if isNotFound(err) {
		return Epoch{}, fmt.Errorf("context epoch of %s: %w", session, ErrNotFound)
	}
	if err != nil {
		return Epoch{}, err
	}
	if err := json.Unmarshal([]byte(snapshot), &e.Snapshot); err != nil {
		return Epoch{}, &SnapshotDecodeError{Session: session, Err: err}
	}
	return e, nil
}
