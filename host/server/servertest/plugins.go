package servertest

import (
	"cmp"
	"context"
	"slices"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
)

// plugins keeps what was asked for: each command leaves an event of the host.
type plugins struct{ *Memory }

func (m plugins) List(context.Context) (protocol.PluginList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return protocol.PluginList{Plugins: slices.Clone(m.plugins), Trusted: slices.Clone(m.trusted), Cursor: m.head(m.host)}, m.failure
}

func (m plugins) Get(_ context.Context, plugin protocol.PluginParams) (protocol.Plugin, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.plugin(plugin)
}

// plugin answers one, with m.mu held.
func (m plugins) plugin(plugin protocol.PluginParams) (protocol.Plugin, error) {
	for _, known := range m.plugins {
		if known.ID == plugin.ID && known.Location == plugin.Location {
			known.Cursor = m.head(m.host)
			return known, nil
		}
	}
	return protocol.Plugin{}, protocol.Errorf(protocol.NotFound, "there is no plugin %s", plugin.ID)
}

func (m plugins) Upload(_ context.Context, caller server.Caller, upload server.PluginUpload) (protocol.Plugin, error) {
	return m.add(caller, protocol.Plugin{ID: "test/uploaded", Origin: upload.Origin, Location: upload.Location, Version: string(upload.Wasm[:min(8, len(upload.Wasm))])}, upload.Grants)
}

func (m plugins) Add(_ context.Context, caller server.Caller, request protocol.AddPlugin) (protocol.Plugin, error) {
	return m.add(caller, protocol.Plugin{ID: "test/downloaded", Origin: request.URL, Location: request.Location}, request.Grants)
}

func (m plugins) add(caller server.Caller, plugin protocol.Plugin, grants []string) (protocol.Plugin, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	plugin.State = protocol.PluginActive
	plugin.Approvals = []protocol.PluginApproval{{Grants: grants}}
	m.plugins = append(m.plugins, plugin)
	m.append(protocol.HostEvents, caller.Actor, "host.plugin.activated", plugin.ID)
	return m.plugin(protocol.PluginParams{ID: plugin.ID, Location: plugin.Location})
}

func (m plugins) Change(_ context.Context, caller server.Caller, plugin protocol.PluginParams, change protocol.ChangePlugin) (protocol.Plugin, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.plugin(plugin); err != nil {
		return protocol.Plugin{}, err
	}
	m.append(protocol.HostEvents, caller.Actor, "host.plugin."+string(change.Action), change)
	return m.plugin(plugin)
}

func (m plugins) Remove(_ context.Context, caller server.Caller, plugin protocol.PluginParams, removal protocol.RemovePlugin) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.plugin(plugin); err != nil {
		return err
	}
	m.plugins = slices.DeleteFunc(m.plugins, func(known protocol.Plugin) bool { return known.ID == plugin.ID && known.Location == plugin.Location })
	m.append(protocol.HostEvents, caller.Actor, "host.plugin.removed", removal)
	return nil
}

func (m plugins) Trust(_ context.Context, caller server.Caller, folder protocol.TrustFolder) (protocol.TrustedFolder, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trusted = append(m.trusted, folder.Root)
	m.append(protocol.HostEvents, caller.Actor, "host.folder.trusted", folder)
	return protocol.TrustedFolder{Root: folder.Root}, nil
}

func (m plugins) Distrust(_ context.Context, caller server.Caller, folder protocol.TrustFolder) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.Index(m.trusted, folder.Root)
	if at < 0 {
		return protocol.Errorf(protocol.NotFound, "the project %s is not trusted", folder.Root)
	}
	m.trusted = slices.Delete(m.trusted, at, at+1)
	m.append(protocol.HostEvents, caller.Actor, "host.folder.distrusted", folder)
	return nil
}

func (m plugins) Reload(ctx context.Context, caller server.Caller) (protocol.PluginList, error) {
	m.mu.Lock()
	m.append(protocol.HostEvents, caller.Actor, "host.reloaded", cmp.Or(caller.Key, "none"))
	m.mu.Unlock()
	return m.List(ctx)
}
