package main

import (
	"context"
	"errors"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// reconfigure reads the configuration again and has the plugins take what it says of
// them: their settings, the connections of providers, and the MCP servers. A configuration that is wrong
// changes nothing. What else it says counts from the next start.
func (a *app) reconfigure(ctx context.Context, by session.Origin) error {
	if a.reload == nil {
		return protocol.Errorf(protocol.Conflict, "this host cannot read its configuration again; start it anew")
	}
	loaded, err := a.reload()
	if err != nil {
		return protocol.Errorf(protocol.BadRequest, "the configuration is as it was: %s", oneLine(err.Error(), 2000))
	}
	settings, err := pluginSettings(loaded.Plugins.Settings)
	if err != nil {
		return protocol.Errorf(protocol.BadRequest, "the configuration is as it was: %s", oneLine(err.Error(), 2000))
	}
	instructing(settings, loaded)
	next := *a // the same host under the new configuration
	next.config = loaded
	return errors.Join(a.plugins.Configure(ctx, by, settings, next.connections()), a.servers.Configure(ctx, servers(loaded)))
}
