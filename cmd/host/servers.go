package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/mcp"
	"github.com/plinthhost/plinth/host/plugin"
)

// serverOwner is the owner of the plugins that MCP servers are.
const serverOwner = "mcp/"

// servers are the configured MCP servers that are to run. Only the operator's
// configuration has any: what a project says starts none.
func servers(c config.Config) []mcp.Server {
	var all []mcp.Server
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		one := c.MCP[name]
		if one.Enabled != nil && !*one.Enabled {
			continue
		}
		server := mcp.Server{Name: name, Command: one.Command, URL: one.URL, Environment: one.Env, Headers: one.Headers, Secret: one.Secret,
			Timeout: time.Duration(one.TimeoutMS) * time.Millisecond, Allow: one.Tools.Allow, Deny: one.Tools.Deny}
		if one.Describe != nil {
			if server.Describe = *one.Describe; server.Describe == 0 {
				server.Describe = -1
			}
		}
		all = append(all, server)
	}
	return all
}

// awaitServers keeps what the log has of the servers' plugins until they are there.
func (a *app) awaitServers() {
	configured := servers(a.config)
	for _, server := range configured {
		a.plugins.Await(serverOwner + server.Name)
	}
	if len(configured) > 0 {
		a.plugins.Await(serverOwner + mcp.Index)
	}
}

// openServers makes the hub of the MCP servers. A host that stays starts them at once,
// one that lives for a command when a session, or who lists plugins, wants them.
func (a *app) openServers(home string) {
	if home == "" {
		home = "/"
	}
	a.servers = mcp.New(mcp.Options{
		Publisher: serverPlugins{a.plugins}, Tools: a.kinds.Tools, Processes: a.processes, Network: a.network, Scrubber: a.scrubber,
		Secret: a.secrets.Resolve, Rejected: a.secrets.Rejected, Blobs: a.store.Blobs(), Directory: home, Version: version, Logger: a.logger.Named("mcp"),
	}, servers(a.config))
	a.closers = append(a.closers, a.servers.Close)
	if a.wakes {
		a.servers.Start()
	}
}

// serverPlugins is mcp.Publisher: each server is a native plugin.
type serverPlugins struct{ plugins *plugin.Manager }

func (p serverPlugins) Serve(ctx context.Context, offer mcp.Offer) error {
	return p.plugins.Serve(ctx, plugin.Native{ID: serverOwner + offer.Name, Version: offer.Version, Description: offer.Description,
		Fingerprint: offer.Fingerprint, Contributions: offer.Contributions})
}

func (p serverPlugins) Leave(ctx context.Context, name string) error {
	return p.plugins.Leave(ctx, serverOwner+name)
}

func (p serverPlugins) Failed(name string, err error) { p.plugins.Unserved(serverOwner+name, err) }

func (p serverPlugins) Wanted(name string) bool { return p.plugins.Wanted(serverOwner + name) }

// lookAtServer has a server take what somebody changed of its plugin; anew starts it
// again. It reports whether the plugin is a server's.
func (b pluginService) lookAtServer(ctx context.Context, id string, anew bool) bool {
	name, ok := strings.CutPrefix(id, serverOwner)
	return ok && b.servers.Look(ctx, name, anew)
}
