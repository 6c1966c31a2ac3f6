package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/plinthhost/plinth/client/protocol"
)

// RevertSession stages a return to before a message.
func (c *Client) RevertSession(ctx context.Context, session string, revert protocol.RevertSession) (staged protocol.Session, err error) {
	err = c.command(ctx, request{method: http.MethodPost, path: sessionPath(session, "/revert"), body: revert}, &staged)
	return staged, err
}

// ClearRevert takes a staged revert back.
func (c *Client) ClearRevert(ctx context.Context, session string) (cleared protocol.Session, err error) {
	err = c.command(ctx, request{method: http.MethodDelete, path: sessionPath(session, "/revert")}, &cleared)
	return cleared, err
}

// CommitRevert carries a staged revert out.
func (c *Client) CommitRevert(ctx context.Context, session string) (committed protocol.Session, err error) {
	err = c.command(ctx, request{method: http.MethodPost, path: sessionPath(session, "/revert/commit")}, &committed)
	return committed, err
}

// Changes answers what a session, or one of its messages, changed in the files.
func (c *Client) Changes(ctx context.Context, session string, list protocol.ListChanges) (changes protocol.ChangeList, err error) {
	query := url.Values{}
	set(query, "message", list.Message)
	set(query, "path", list.Path)
	if list.Patch {
		query.Set("patch", "true")
	}
	err = c.do(ctx, request{method: http.MethodGet, path: sessionPath(session, "/changes"), query: query}, &changes)
	return changes, err
}
