package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// LoadTaskParents lists the sessions with tasks that run, each once, in no order.
func LoadTaskParents(ctx context.Context, tx store.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT DISTINCT session_id FROM task WHERE outcome = ''`)
	return collect(rows, err, scanText)
}

// LoadLineage reads the session, its parent, the parent's parent and so on. It is
// ErrNotFound also when an ancestor was removed: what limited the session is not known
// any more.
func LoadLineage(ctx context.Context, tx store.Tx, id string) ([]Session, error) {
	var lineage []Session
	for id != "" {
		current, err := LoadSession(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		lineage = append(lineage, current)
		id = current.Parent
	}
	return lineage, nil
}

// callSettled reports whether a tool call has its settlement. So has a call that is
// not known: nobody waits for it.
func callSettled(ctx context.Context, tx store.Tx, session, message, call string) (bool, error) {
	var body string
	err := tx.QueryRow(ctx, `SELECT part.body FROM part JOIN message
		ON message.session_id = part.session_id AND message.seq = part.message_seq
		WHERE message.id = $1 AND part.session_id = $2 AND part.tool_call = $3
		ORDER BY part.ordinal DESC LIMIT 1`, message, session, call).Scan(&body)
	if isNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	var part MessagePart
	if err := json.Unmarshal([]byte(body), &part); err != nil {
		return false, fmt.Errorf("call %s of %s: %w", clip(call), session, &MessageDecodeError{Message: message, Err: err})
	}
	return part.Tool == nil || !part.Tool.Unsettled(), nil
}
