package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// contributions binds what a manifest declares to the kernel's ports. The
// connections it made are answered also beside an error.
func (m *Manager) contributions(plugin *bridge.Plugin, manifest abi.Manifest, terms Terms) (all []registry.Contribution, connections []io.Closer, err error) {
	grants, err := m.grants(manifest, terms)
	if grants.Fetcher != nil {
		connections = append(connections, grants.Fetcher)
	}
	if err != nil {
		return nil, connections, err
	}
	reach := &bridge.Reach{Services: m.options.Services, Grants: grants}
	for _, declared := range manifest.Tools {
		permission, err := toolPermission(declared)
		if err != nil {
			return nil, connections, err
		}
		definition := session.ToolDefinition{
			Name: declared.Name, Description: declared.Description, Input: json.RawMessage(declared.Input), Permission: permission,
			Effects: declared.Effects, Idempotent: declared.Idempotent, Timeout: time.Duration(declared.TimeoutMS) * time.Millisecond,
		}
		if declared.Output != "" {
			definition.Output = json.RawMessage(declared.Output)
		}
		tool, err := bridge.NewTool(plugin, definition, reach)
		if err != nil {
			return nil, connections, err
		}
		all = append(all, m.options.Kinds.Tools.Contribute(declared.Name, 0, tool))
	}
	if len(manifest.Contexts) > 0 {
		keys, spec := sources(manifest, terms.Required)
		source := bridge.NewContext(plugin, keys, spec, reach)
		all = append(all, m.options.Kinds.Contexts.Contribute(manifest.ID, terms.Order, source))
	}
	for _, declared := range manifest.Transforms {
		transform := bridge.NewTransform(plugin, session.TransformSpec{
			Name: declared.Name, Reads: parts(declared.Reads), Writes: parts(declared.Writes), Order: declared.Order, OnError: declared.OnError,
		})
		all = append(all, m.options.Kinds.Transforms.Contribute(qualified(manifest.ID, declared.Name), declared.Order, transform))
	}
	providers, opened, err := m.codecs(plugin, manifest, terms)
	return append(all, providers...), append(connections, opened...), err
}

func parts(names []string) []session.RequestPart {
	all := make([]session.RequestPart, len(names))
	for i, name := range names {
		all[i] = session.RequestPart(name)
	}
	return all
}

// codecs joins the plugin's codecs with the operator's connections to them.
func (m *Manager) codecs(plugin *bridge.Plugin, manifest abi.Manifest, terms Terms) (all []registry.Contribution, connections []io.Closer, err error) {
	_, configured := m.configured(manifest.ID)
	for _, name := range slices.Sorted(maps.Keys(terms.Providers)) {
		connection, ok := configured[name]
		if !ok { // of an earlier revision
			continue
		}
		declared, err := codec(manifest, name, terms.Providers[name])
		if err != nil {
			return nil, connections, err
		}
		auth, err := bridge.AuthOf(declared.Auth)
		if err != nil {
			return nil, connections, fmt.Errorf("providers.%s: %w", name, err)
		}
		client, err := connection.Open(auth)
		if err != nil {
			return nil, connections, fmt.Errorf("providers.%s: %w", name, err)
		}
		connections = append(connections, client)
		all = append(all, m.options.Kinds.Providers.Contribute(name, 0, bridge.NewProvider(plugin, declared.ID, declared.Framing, client, m.options.Services.Blobs)))
	}
	return all, connections, nil
}

func codec(manifest abi.Manifest, name, wanted string) (abi.ManifestProvider, error) {
	if wanted == "" && len(manifest.Providers) == 1 {
		return manifest.Providers[0], nil
	}
	for _, declared := range manifest.Providers {
		if declared.ID == wanted {
			return declared, nil
		}
	}
	return abi.ManifestProvider{}, fmt.Errorf("providers.%s: the plugin %s has no provider codec %q", name, manifest.ID, wanted)
}
