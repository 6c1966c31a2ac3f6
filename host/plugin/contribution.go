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

// contribute binds what a manifest declares to the kernel's ports. The connections that
// were made are kept also beside an error.
func (m *Manager) contribute(made *serving) error {
	plugin, manifest := made.plugin, made.candidate.Manifest
	var all []registry.Contribution
	grants, err := m.grants(manifest, made.terms)
	if grants.Fetcher != nil {
		made.connections = append(made.connections, grants.Fetcher)
	}
	if err != nil {
		return err
	}
	reach := &bridge.Reach{Services: m.options.Services, Grants: grants}
	for _, declared := range manifest.Tools {
		permission, err := toolPermission(declared)
		if err != nil {
			return err
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
			return err
		}
		all = append(all, m.options.Kinds.Tools.Contribute(declared.Name, 0, tool))
	}
	if len(manifest.Contexts) > 0 {
		keys, spec := sources(manifest, made.terms.Required)
		source := bridge.NewContext(plugin, keys, spec, reach)
		all = append(all, m.options.Kinds.Contexts.Contribute(manifest.ID, made.terms.Order, source))
	}
	for _, declared := range manifest.Transforms {
		transform := bridge.NewTransform(plugin, session.TransformSpec{
			Name: declared.Name, Reads: parts(declared.Reads), Writes: parts(declared.Writes), Order: declared.Order, OnError: declared.OnError,
			Timeout: time.Duration(declared.TimeoutMS) * time.Millisecond,
		})
		all = append(all, m.options.Kinds.Transforms.Contribute(qualified(manifest.ID, declared.Name), declared.Order, transform))
	}
	providers, connections, refused := m.codecs(plugin, manifest, made.terms)
	made.scope.Contributions, made.refused = append(all, providers...), refused
	made.connections = append(made.connections, connections...)
	for name, err := range refused {
		m.options.Logger.Error("provider not available", "provider", name, "reason", err)
	}
	return nil
}

func parts(names []string) []session.RequestPart {
	all := make([]session.RequestPart, len(names))
	for i, name := range names {
		all[i] = session.RequestPart(name)
	}
	return all
}

// codecs joins the plugin's codecs with the operator's connections to them. One that
// cannot be used is answered in refused, and keeps nothing else out.
func (m *Manager) codecs(plugin *bridge.Plugin, manifest abi.Manifest, terms Terms) (all []registry.Contribution, connections []io.Closer, refused map[string]error) {
	_, configured := m.configured(manifest.ID)
	refused = map[string]error{}
	for _, name := range slices.Sorted(maps.Keys(terms.Providers)) {
		connection, ok := configured[name]
		if !ok { // of an earlier revision
			continue
		}
		declared, err := codec(manifest, name, terms.Providers[name])
		if err != nil {
			refused[name] = err
			continue
		}
		auth, err := bridge.AuthOf(declared.Auth)
		if err != nil {
			refused[name] = fmt.Errorf("providers.%s: %w", name, err)
			continue
		}
		client, err := connection.Open(auth)
		if err != nil {
			refused[name] = fmt.Errorf("providers.%s: %w", name, err)
			continue
		}
		connections = append(connections, client)
		all = append(all, m.options.Kinds.Providers.Contribute(name, 0, bridge.NewProvider(plugin, declared.ID, declared.Framing, client, m.options.Services.Blobs)))
	}
	return all, connections, refused
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

// Codec is what the manifest of a serving plugin says of its only codec.
func (m *Manager) Codec(id string) (abi.ManifestProvider, error) {
	m.mu.Lock()
	s := m.slots[place{id, ""}]
	m.mu.Unlock()
	var serving *serving
	if s != nil {
		_, serving = s.look()
	}
	if serving == nil || len(serving.candidate.Manifest.Providers) != 1 {
		return abi.ManifestProvider{}, fmt.Errorf("its plugin %s does not serve, or does not have one codec", id)
	}
	return serving.candidate.Manifest.Providers[0], nil
}
