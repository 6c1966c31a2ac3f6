package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/plinthhost/plinth/client/protocol"
)

// CancelPrompt takes a prompt that waits out of the inbox for good. A prompt that the
// session has taken, or that was cancelled already, is a conflict.
func (c *Client) CancelPrompt(ctx context.Context, session, id string) (receipt protocol.Receipt, err error) {
	err = c.command(ctx, request{method: http.MethodDelete, path: inboxPath(session, id)}, &receipt)
	return receipt, err
}

// ChangePrompt edits, moves or reorders a prompt that waits.
func (c *Client) ChangePrompt(ctx context.Context, session, id string, change protocol.ChangePrompt) (receipt protocol.Receipt, err error) {
	err = c.command(ctx, request{method: http.MethodPatch, path: inboxPath(session, id), body: change}, &receipt)
	return receipt, err
}

// ChangeSession switches the agent or the model and replaces rules and budgets.
func (c *Client) ChangeSession(ctx context.Context, session string, change protocol.ChangeSession) (changed protocol.Session, err error) {
	err = c.command(ctx, request{method: http.MethodPatch, path: sessionPath(session, ""), body: change}, &changed)
	return changed, err
}

// MoveSession lets the session work in another directory of the host.
func (c *Client) MoveSession(ctx context.Context, session, directory string) (moved protocol.Session, err error) {
	body := protocol.MoveSession{Location: protocol.Location{Directory: directory}}
	err = c.command(ctx, request{method: http.MethodPost, path: sessionPath(session, "/move"), body: body}, &moved)
	return moved, err
}

// Children answers the sessions that calls of this one made, oldest first.
func (c *Client) Children(ctx context.Context, session string) (list protocol.SessionList, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: sessionPath(session, "/children")}, &list)
	return list, err
}

// Usage answers what the session and its children have used.
func (c *Client) Usage(ctx context.Context, session string) (usage protocol.SessionUsage, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: sessionPath(session, "/usage")}, &usage)
	return usage, err
}

// Context answers what the session's next request would be made of.
func (c *Client) Context(ctx context.Context, session string) (report protocol.ContextReport, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: sessionPath(session, "/context")}, &report)
	return report, err
}

// ContextMetrics answers what the contexts of all sessions took since the host started.
func (c *Client) ContextMetrics(ctx context.Context) (metrics protocol.ContextMetrics, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: "/v1/context/metrics"}, &metrics)
	return metrics, err
}

func inboxPath(session, id string) string {
	return sessionPath(session, "/inbox/"+url.PathEscape(id))
}
