package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// sources answers the keys of a manifest's context sources, ascending, and what the
// manifest and the operator say of them.
func (m *Manager) sources(manifest abi.Manifest) (keys []string, spec session.SourceSpec) {
	spec = session.SourceSpec{Required: m.options.Settings[manifest.ID].Required, Schemas: map[string]json.RawMessage{}}
	for _, source := range manifest.Contexts {
		keys = append(keys, source.Key)
		if source.Schema != "" {
			spec.Schemas[source.Key] = json.RawMessage(source.Schema)
		}
	}
	slices.Sort(keys)
	return keys, spec
}

// standIn contributes the context sources of a plugin that does not run as unavailable:
// what sessions were told by it stays told until somebody removes it.
func (m *Manager) standIn(candidate Candidate) {
	manifest := candidate.Manifest
	if len(manifest.Contexts) == 0 || m.vacant(manifest.ID) != nil {
		return
	}
	keys, spec := m.sources(manifest)
	_, err := m.options.Registries.Replace(registry.Scope{ID: manifest.ID, Builtin: candidate.Builtin,
		Contributions: []registry.Contribution{m.options.Kinds.Contexts.Contribute(manifest.ID, 0, session.ContextSource(standIn{keys, spec}))}})
	if err != nil { // such as a key that somebody else answers for, which may be why it does not run
		m.options.Logger.Warn("nothing stands in for the context sources of a plugin", "plugin", manifest.ID, "error", err)
	}
}

// RequireMissing has the plugins that the operator requires and that were not added stand
// for a source that is unavailable, so that no session begins without them.
func (m *Manager) RequireMissing() error {
	known := map[string]bool{}
	for _, status := range m.Plugins() {
		known[status.ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(m.options.Settings)) {
		settings := m.options.Settings[id]
		if !settings.Required || settings.Disabled || known[id] {
			continue
		}
		m.options.Logger.Error("a required plugin is not there, so no session can begin; add it, or take required out of its settings", "plugin", id)
		source := session.ContextSource(standIn{[]string{id}, session.SourceSpec{Required: true}})
		if _, err := m.options.Registries.Replace(registry.Scope{ID: id,
			Contributions: []registry.Contribution{m.options.Kinds.Contexts.Contribute(id, 0, source)}}); err != nil {
			return fmt.Errorf("require the plugin %s: %w", id, err)
		}
	}
	return nil
}

// standIn stands in the place of context sources whose plugin does not run.
type standIn struct {
	keys []string
	spec session.SourceSpec
}

// Keys are the manifest's.
func (s standIn) Keys() []string { return s.keys }

// Spec is the manifest's and the operator's.
func (s standIn) Spec() session.SourceSpec { return s.spec }

// Observe answers that all keys are unavailable. Why is told where the plugin failed.
func (s standIn) Observe(context.Context, session.Observation) ([]session.SourceState, error) {
	states := make([]session.SourceState, len(s.keys))
	for i, key := range s.keys {
		states[i] = session.SourceState{Key: key, State: session.SourceUnavailable}
	}
	return states, nil
}
