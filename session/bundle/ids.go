package bundle

import (
	"context"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// taken are the queries for the sessions that ids of another table's rows are of. Each
// id is unique in its table.
func taken() [4]string {
	return [...]string{
		`SELECT session_id FROM message WHERE id = $1`,
		`SELECT session_id FROM input WHERE id = $1`,
		`SELECT session_id FROM permission WHERE id = $1`,
		`SELECT session_id FROM question WHERE id = $1`,
	}
}

// checkIDs refuses a file with ids of messages, prompts or requests that another session
// has here: the log would refuse it half way.
func (im *Importer) checkIDs(ctx context.Context, scratch store.Log, p *plan) error {
	return scratch.View(ctx, func(theirs store.Tx) error {
		return im.Log.View(ctx, func(ours store.Tx) error {
			for _, header := range p.headers {
				for _, query := range [...]string{
					`SELECT id FROM message WHERE session_id = $1`, `SELECT id FROM input WHERE session_id = $1`,
					`SELECT id FROM permission WHERE session_id = $1`, `SELECT id FROM question WHERE session_id = $1`,
				} {
					if err := checkIDs(ctx, theirs, ours, header.Session, query); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

func checkIDs(ctx context.Context, theirs, ours store.Tx, id, query string) error {
	rows, err := theirs.Query(ctx, query, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var used, holder string
		if err := rows.Scan(&used); err != nil {
			return err
		}
		for _, lookup := range taken() {
			err := ours.QueryRow(ctx, lookup, used).Scan(&holder)
			switch {
			case errors.Is(err, store.ErrNotFound):
			case err != nil:
				return fmt.Errorf("look for %s: %w", used, err)
			case holder != id:
				return &session.ConflictError{ID: used, Reason: "of " + id + " in the file is here already, in " + holder, Fix: "import the file on another host"}
			}
		}
	}
	return rows.Err()
}
