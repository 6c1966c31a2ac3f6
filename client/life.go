package client

import (
	"context"
	"net/http"

	"github.com/plinthhost/plinth/client/protocol"
)

// ForkSession makes a session that goes on from a message of another one. A fork without
// an id is given one, so that repeating it is safe.
func (c *Client) ForkSession(ctx context.Context, session string, fork protocol.ForkSession) (forked protocol.Session, err error) {
	if fork.ID == "" {
		fork.ID = c.ids.Session()
	}
	err = c.do(ctx, request{method: http.MethodPost, path: sessionPath(session, "/fork"), body: fork}, &forked)
	return forked, err
}

// RemoveSession stops a session with all sessions under it and removes them for good.
func (c *Client) RemoveSession(ctx context.Context, session string) (removed protocol.RemovedSessions, err error) {
	err = c.do(ctx, request{method: http.MethodDelete, path: sessionPath(session, "")}, &removed)
	return removed, err
}

// PruneSession takes away what the session's model is not sent any more.
func (c *Client) PruneSession(ctx context.Context, session string) (pruned protocol.PrunedSession, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: sessionPath(session, "/prune")}, &pruned)
	return pruned, err
}
