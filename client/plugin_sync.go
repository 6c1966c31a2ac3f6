package client

import (
	"context"
	"net/http"

	"github.com/plinthhost/plinth/client/protocol"
)

// SyncPlugins has the host bring about what its plinth.lock says, or with dry only answer
// what it would do. A step that failed says so; it keeps no other from being done.
func (c *Client) SyncPlugins(ctx context.Context, dry bool) (done protocol.PluginSync, err error) {
	err = c.attempt(ctx, request{method: http.MethodPost, path: "/v1/plugins/sync", body: protocol.SyncPlugins{Dry: dry}}, &done)
	return done, err
}

// LockPlugins has the host write its plinth.lock as its plugins are now.
func (c *Client) LockPlugins(ctx context.Context) (written protocol.PluginLock, err error) {
	err = c.attempt(ctx, request{method: http.MethodPost, path: "/v1/plugins/lock"}, &written)
	return written, err
}
