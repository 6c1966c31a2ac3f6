package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/client/protocol"
)

// Plugins answers the plugins and what became of them.
func (c *Client) Plugins(ctx context.Context) (list protocol.PluginList, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: protocol.PluginsPath}, &list)
	return list, err
}

// Plugin answers one. A location is a folder of the project that it is of; empty for the
// global level, as with the others.
func (c *Client) Plugin(ctx context.Context, named protocol.PluginParams) (plugin protocol.Plugin, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: pluginPath(named.ID), query: pluginQuery(named)}, &plugin)
	return plugin, err
}

// UploadPlugin sends a packed plugin, which serves when it is answered, or is held.
// Origin is what people know it by. Grants are keys of requests; without, earlier
// approvals decide. Errors: bad_request when it does not come to serve, too_large above
// protocol.MaxPlugin.
func (c *Client) UploadPlugin(ctx context.Context, wasm []byte, origin, location string, grants []string) (plugin protocol.Plugin, err error) {
	if len(wasm) > protocol.MaxPlugin {
		return plugin, protocol.Errorf(protocol.TooLarge, "the plugin has %d bytes, the limit is %d", len(wasm), protocol.MaxPlugin)
	}
	query := url.Values{}
	set(query, "origin", origin)
	set(query, "location", location)
	for _, grant := range grants {
		query.Add("grant", grant)
	}
	err = c.do(ctx, request{method: http.MethodPost, path: protocol.PluginsPath, query: query, bytes: wasm, mime: protocol.MimeWasm}, &plugin)
	return plugin, err
}

// AddPlugin has the host download a packed plugin; else it is as UploadPlugin.
func (c *Client) AddPlugin(ctx context.Context, add protocol.AddPlugin) (plugin protocol.Plugin, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: protocol.PluginsPath, body: add}, &plugin)
	return plugin, err
}

// ChangePlugin approves a version, rolls back, disables, enables or reloads.
func (c *Client) ChangePlugin(ctx context.Context, named protocol.PluginParams, change protocol.ChangePlugin) (plugin protocol.Plugin, err error) {
	err = c.command(ctx, request{method: http.MethodPatch, path: pluginPath(named.ID), query: pluginQuery(named), body: change}, &plugin)
	return plugin, err
}

// RemovePlugin removes a plugin; turns that use it go on.
func (c *Client) RemovePlugin(ctx context.Context, named protocol.PluginParams, removal protocol.RemovePlugin) error {
	query := pluginQuery(named)
	if removal.Purge {
		query.Set("purge", "true")
	}
	if removal.ForceMS != 0 {
		query.Set("force_ms", strconv.FormatInt(removal.ForceMS, 10))
	}
	return c.command(ctx, request{method: http.MethodDelete, path: pluginPath(named.ID), query: query}, nil)
}

// TrustFolder lets the plugins of a project be approved.
func (c *Client) TrustFolder(ctx context.Context, root string) (folder protocol.TrustedFolder, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: "/v1/plugins/trusted", body: protocol.TrustFolder{Root: root}}, &folder)
	return folder, err
}

// DistrustFolder takes that back; the project's plugins are removed.
func (c *Client) DistrustFolder(ctx context.Context, root string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: "/v1/plugins/trusted", query: url.Values{"root": {root}}}, nil)
}

// ReloadPlugins has the host read the configuration of its plugins again.
func (c *Client) ReloadPlugins(ctx context.Context) (list protocol.PluginList, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: "/v1/plugins/reload"}, &list)
	return list, err
}

// pluginPath is the route of an id. One without a second part names no plugin, and the
// host says so.
func pluginPath(id string) string {
	owner, name, _ := strings.Cut(id, "/")
	return protocol.PluginsPath + "/" + url.PathEscape(owner) + "/" + url.PathEscape(name)
}

func pluginQuery(named protocol.PluginParams) url.Values {
	query := url.Values{}
	set(query, "location", named.Location)
	return query
}
