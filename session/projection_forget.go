package session

import (
	"context"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// Forget removes the rows of a session. The first run takes away what anybody could
// come across without knowing the session: its own row, what is open, what runs. The
// rest, which can be long, goes by and by. Approvals belong to the project and stay.
func (Projection) Forget(ctx context.Context, tx store.Tx, aggregate string, limit int) (more bool, err error) {
	if !IsSessionID(aggregate) {
		return false, nil
	}
	if limit == 0 {
		return true, forgetSeen(ctx, tx, aggregate)
	}
	return forgetRows(ctx, tx, aggregate, limit)
}

// forgetSeen removes what is found without knowing the session.
func forgetSeen(ctx context.Context, tx store.Tx, session string) error {
	for _, statement := range [...]string{
		`DELETE FROM session WHERE id = $1`,
		`DELETE FROM activity WHERE session_id = $1`,
		`DELETE FROM epoch WHERE session_id = $1`,
		`DELETE FROM todo WHERE session_id = $1`,
		`DELETE FROM spent WHERE scope = $1`,
		`DELETE FROM child_request WHERE session_id = $1`,
		`DELETE FROM child_request WHERE child_id = $1`,
		`DELETE FROM input WHERE session_id = $1 AND promoted_seq IS NULL AND cancelled_seq IS NULL`,
		`DELETE FROM permission WHERE session_id = $1 AND reply = ''`,
		`DELETE FROM question WHERE session_id = $1 AND state = 'open'`,
		`DELETE FROM task WHERE session_id = $1 AND outcome = ''`,
	} {
		if _, err := tx.Exec(ctx, statement, session); err != nil {
			return fmt.Errorf("forget session: %w", err)
		}
	}
	return nil
}

// forgetRows removes up to limit rows of the tables that grow with a session.
func forgetRows(ctx context.Context, tx store.Tx, session string, limit int) (more bool, err error) {
	for _, statement := range [...]string{
		`DELETE FROM part WHERE session_id = $1 AND (message_seq, ordinal) IN
			(SELECT message_seq, ordinal FROM part WHERE session_id = $2 LIMIT $3)`,
		`DELETE FROM message WHERE session_id = $1 AND seq IN (SELECT seq FROM message WHERE session_id = $2 LIMIT $3)`,
		`DELETE FROM shell WHERE session_id = $1 AND call IN (SELECT call FROM shell WHERE session_id = $2 LIMIT $3)`,
		`DELETE FROM task WHERE session_id = $1 AND (child_id, prompt) IN
			(SELECT child_id, prompt FROM task WHERE session_id = $2 LIMIT $3)`,
		`DELETE FROM directory_read WHERE session_id = $1 AND directory IN
			(SELECT directory FROM directory_read WHERE session_id = $2 LIMIT $3)`,
	} {
		removed, err := tx.Exec(ctx, statement, session, session, limit)
		if err != nil {
			return false, fmt.Errorf("forget session: %w", err)
		}
		if limit -= int(removed); limit <= 0 {
			return true, nil
		}
	}
	// A condition on the session beside the id would lead the database through all of it.
	for _, statement := range [...]string{
		`DELETE FROM input WHERE id IN (SELECT id FROM input
			WHERE session_id = $1 AND (promoted_seq IS NOT NULL OR cancelled_seq IS NOT NULL) LIMIT $2)`,
		`DELETE FROM permission WHERE id IN (SELECT id FROM permission WHERE session_id = $1 LIMIT $2)`,
		`DELETE FROM question WHERE id IN (SELECT id FROM question WHERE session_id = $1 LIMIT $2)`,
	} {
		removed, err := tx.Exec(ctx, statement, session, limit)
		if err != nil {
			return false, fmt.Errorf("forget session: %w", err)
		}
		if limit -= int(removed); limit <= 0 {
			return true, nil
		}
	}
	return false, nil
}
