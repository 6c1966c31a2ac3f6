package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

// revertStaged refuses while something works on the session: what it adds would be
// reverted unseen. What was restored is the end of a restoring that stands; when
// somebody has gone on from there meanwhile it is refused.
func (p projector) revertStaged(revert Revert) error {
	if err := p.idle("a revert"); err != nil {
		return err
	}
	if revert.Target != "" && !revert.Restoring {
		switch before, err := p.staged(); {
		case err != nil:
			return err
		case before.Message != revert.Message:
			return &ConflictError{ID: p.session, Reason: "has a revert staged to another message", Fix: "look at the session again"}
		}
	}
	if err := p.unrestored(nil); err != nil {
		return err
	}
	return p.column("revert", revert)
}

// unrestored keeps what a revert that is staged no longer left as it is.
func (p projector) unrestored(paths []string) error {
	list, err := jsonList(paths)
	if err != nil {
		return err
	}
	return p.exec(`UPDATE session SET unrestored = $1 WHERE id = $2`, list, p.session)
}

// revertCleared refuses where nothing is staged: the revert was committed meanwhile.
func (p projector) revertCleared(e RevertCleared) error {
	if _, err := p.staged(); err != nil {
		return err
	}
	if err := p.unrestored(e.Unrestored); err != nil {
		return err
	}
	return p.exec(`UPDATE session SET revert = '' WHERE id = $1`, p.session)
}

// staged answers the revert that is staged, else a conflict.
func (p projector) staged() (revert Revert, err error) {
	encoded, err := p.stagedText()
	switch {
	case err != nil:
		return revert, err
	case encoded == "":
		return revert, notStaged(p.session)
	}
	if err := json.Unmarshal([]byte(encoded), &revert); err != nil {
		return revert, fmt.Errorf("decode revert: %w", err)
	}
	return revert, nil
}

func (p projector) stagedText() (encoded string, err error) {
	err = p.tx.QueryRow(p.ctx, `SELECT revert FROM session WHERE id = $1`, p.session).Scan(&encoded)
	return encoded, err
}

func notStaged(session string) error {
	return &ConflictError{ID: session, Reason: "has no revert staged", Fix: "stage one first"}
}

// unstaged answers a conflict while a revert is staged.
func (p projector) unstaged() error {
	encoded, err := p.stagedText()
	if err == nil && encoded != "" {
		err = &ConflictError{ID: p.session, Reason: "has a revert staged", Fix: "commit or clear it first"}
	}
	return err
}

// revertCommitted takes messages out. The history is then what it was at the newest
// compaction that stays. It refuses any boundary but that of the revert that is staged:
// what came since would go unseen.
func (p projector) revertCommitted(e RevertCommitted) error {
	revert, err := p.staged()
	switch {
	case err != nil:
		return err
	case revert.Boundary != e.Boundary:
		return &ConflictError{ID: p.session, Reason: fmt.Sprintf("has a revert staged to %d, not to %d", revert.Boundary, e.Boundary),
			Fix: "look at the session again"}
	}
	if err := p.unrestored(append(revert.Unrestored, e.Unrestored...)); err != nil {
		return err
	}
	if err := p.exec(`DELETE FROM shell WHERE session_id = $1 AND message IN (SELECT id FROM message WHERE session_id = $2 AND seq > $3)`,
		p.session, p.session, e.Boundary); err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM part WHERE session_id = $1 AND message_seq > $2`,
		`DELETE FROM message WHERE session_id = $1 AND seq > $2`,
	} {
		if err := p.exec(statement, p.session, e.Boundary); err != nil {
			return err
		}
	}
	if err := p.exec(`DELETE FROM epoch WHERE session_id = $1`, p.session); err != nil {
		return err
	}
	history, compaction, err := lastCompaction(p.ctx, p.tx, p.session, e.Boundary)
	if err != nil {
		return err
	}
	// The newest prompt that stays may have lost its answer.
	return p.exec(`UPDATE session SET revert = '', history_seq = $1, compaction_seq = $2, answered_seq = MIN(answered_seq,
		COALESCE((SELECT MAX(seq) - 1 FROM message WHERE session_id = $3 AND type = 'user'), answered_seq)) WHERE id = $4`,
		history, compaction, p.session, p.session)
}

// lastCompaction answers what the newest compaction up to a sequence folded, and its own
// sequence; -1 when there is none.
func lastCompaction(ctx context.Context, tx store.Tx, session string, upTo int64) (history, compaction int64, err error) {
	last, err := scanMessage(tx.QueryRow(ctx, `SELECT seq, id, type, created_ms, body FROM message
		WHERE session_id = $1 AND type = 'compaction' AND seq <= $2 ORDER BY seq DESC LIMIT 1`, session, upTo))
	switch {
	case isNotFound(err):
		return -1, -1, nil
	case err != nil:
		return -1, -1, err
	}
	return last.Boundary, last.Seq, nil
}
