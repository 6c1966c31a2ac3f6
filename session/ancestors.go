package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/store"
)

// A person who follows a session is told of what the sessions under it ask. Telling
// comes after the request, and a failure of it loses no request: it is logged.

// Told tells the ancestors of a session of requests in it that were asked or closed by
// an append of somebody else, who calls it afterwards; Permissions tells of its own by
// itself.
func (p *Permissions) Told(ctx context.Context, session string, requests ...string) {
	p.tell(context.WithoutCancel(ctx), session, requests...)
}

// Start tells what a host that died did not come to tell: of requests that are open and
// of those that were closed. Call it after what died is settled.
func (p *Permissions) Start(ctx context.Context) error {
	if err := p.forsake(ctx); err != nil {
		return fmt.Errorf("start permissions: %w", err)
	}
	requests := map[string][]string{} // by session
	err := p.log.View(ctx, func(tx store.Tx) error {
		rows, err := tx.Query(ctx, `SELECT child_id, request FROM child_request
			UNION SELECT session_id, permission.id FROM permission JOIN session ON session.id = permission.session_id WHERE reply = '' AND parent_id <> ''
			UNION SELECT session_id, question.id FROM question JOIN session ON session.id = question.session_id WHERE state = 'open' AND parent_id <> ''`)
		_, err = collect(rows, err, func(row store.Row) (request string, err error) {
			var session string
			if err := row.Scan(&session, &request); err != nil {
				return "", err
			}
			requests[session] = append(requests[session], request)
			return request, nil
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("start permissions: %w", err)
	}
	for session, all := range requests {
		p.tell(ctx, session, all...)
	}
	return nil
}

// tell brings every ancestor up to date on requests of a session: it is told of those
// that are open and unknown to it, and of those that it knows and that are closed.
func (p *Permissions) tell(ctx context.Context, session string, requests ...string) {
	p.telling.Lock()
	defer p.telling.Unlock()
	news := map[string][]Payload{} // by ancestor
	err := p.log.View(ctx, func(tx store.Tx) error {
		ancestors, err := LoadAncestors(ctx, tx, session)
		for _, ancestor := range ancestors {
			for _, request := range requests {
				payload, err := newsOf(ctx, tx, ancestor, session, request)
				if err != nil {
					return err
				}
				if payload != nil {
					news[ancestor] = append(news[ancestor], payload)
				}
			}
		}
		return err
	})
	for ancestor, payloads := range news {
		_, appendErr := p.append(ctx, System(), ancestor, store.Any(), payloads...)
		err = errors.Join(err, appendErr)
	}
	if err != nil {
		p.logger.Error("an ancestor was not told of a request", "session", session, "requests", requests, "error", err)
	}
}

// newsOf answers what an ancestor does not know of a request, nil when it knows all.
func newsOf(ctx context.Context, tx store.Tx, ancestor, session, request string) (Payload, error) {
	knows, err := exists(ctx, tx, `SELECT child_id FROM child_request WHERE session_id = $1 AND request = $2`, ancestor, request)
	if err != nil {
		return nil, err
	}
	open, err := exists(ctx, tx, `SELECT id FROM permission WHERE id = $1 AND reply = ''
		UNION ALL SELECT id FROM question WHERE id = $2 AND state = 'open'`, request, request)
	switch {
	case err != nil || open == knows:
		return nil, err
	case open:
		return ChildAsked{Session: session, Request: request}, nil
	}
	return ChildAnswered{Session: session, Request: request}, nil
}

func exists(ctx context.Context, tx store.Tx, query string, args ...any) (bool, error) {
	var text string
	err := tx.QueryRow(ctx, query, args...).Scan(&text)
	if isNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// loadBelow reads the open requests under a session with a reader of one, and drops
// those that are closed or gone.
func loadBelow[T any](ctx context.Context, tx store.Tx, session, prefix string, load func(id string) (request T, open bool, err error)) ([]T, error) {
	rows, err := tx.Query(ctx, `SELECT request FROM child_request WHERE session_id = $1`, session)
	ids, err := collect(rows, err, scanText)
	if err != nil {
		return nil, err
	}
	var all []T
	for _, id := range ids {
		if !strings.HasPrefix(id, prefix) {
			continue
		}
		request, open, err := load(id)
		switch {
		case isMissing(err):
		case err != nil:
			return nil, err
		case open:
			all = append(all, request)
		}
	}
	return all, nil
}
