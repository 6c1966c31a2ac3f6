package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// sources answers the keys of a manifest's context sources, ascending, and what the
// manifest and the operator say of them.
func sources(manifest abi.Manifest, required bool) (keys []string, spec session.SourceSpec) {
	spec = session.SourceSpec{Required: required, Schemas: map[string]json.RawMessage{}}
	for _, source := range manifest.Contexts {
		keys = append(keys, source.Key)
		if source.Schema != "" {
			spec.Schemas[source.Key] = json.RawMessage(source.Schema)
		}
	}
	slices.Sort(keys)
	return keys, spec
}

// standIn contributes the context sources of a plugin that does not serve as unavailable:
// what sessions were told by it stays told until somebody removes it.
func (m *Manager) standIn(s *slot, candidate Candidate) {
	m.commit.Lock()
	defer m.commit.Unlock()
	if _, serving := s.look(); serving != nil {
		return
	}
	if _, err := m.standFor(s, candidate); err != nil { // such as a key that somebody else answers for, which may be why it does not serve
		m.options.Logger.Warn("nothing stands in for the context sources of a plugin", "plugin", s.id, "error", err)
	}
	if err := m.standForProviders(nil); err != nil {
		m.options.Logger.Warn("nothing says why a provider is not there", "plugin", s.id, "error", err)
	}
}

// standFor puts the stand-in in the place of what the slot contributes. The caller has
// the commit.
func (m *Manager) standFor(s *slot, candidate Candidate) (*registry.Retirement, error) {
	settings, _ := m.configured(s.id)
	scope := registry.Scope{ID: s.id, Location: s.location, Builtin: candidate.Builtin}
	if keys, spec := sources(candidate.Manifest, settings.Required); len(keys) > 0 {
		scope.Contributions = append(scope.Contributions, m.options.Kinds.Contexts.Contribute(s.id, settings.Order, session.ContextSource(standIn{keys, spec})))
	}
	return m.options.Registries.Replace(scope)
}

// requireMissing has the plugins that the operator requires and that are not there stand
// for a source that is unavailable, so that no session begins without them. What is
// required no more is not stood for.
func (m *Manager) requireMissing() error {
	m.commit.Lock()
	defer m.commit.Unlock()
	m.mu.Lock()
	settings := maps.Clone(m.settings)
	m.mu.Unlock()
	for id := range m.stoodFor {
		if !settings[id].must() {
			delete(m.stoodFor, id)
			if known, _ := m.slot(id, "").look(); known.State == "" {
				m.options.Registries.Remove(id, "")
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(settings)) {
		if !settings[id].must() {
			continue
		}
		if known, _ := m.slot(id, "").look(); known.State != "" {
			continue
		}
		m.stoodFor[id] = true
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

// unavailableScope has the providers that say why they are not there.
const unavailableScope = "core/unavailable"

// standForProviders puts a provider that says why it cannot answer in the place of each
// that the operator configured and no plugin serves, nor the one that comes next; nil for
// none. A session that uses one learns the reason, not only the name. The caller has the
// commit.
func (m *Manager) standForProviders(next *serving) error {
	missing := m.missing(next)
	if len(missing) == 0 {
		m.options.Registries.Remove(unavailableScope, "")
		return nil
	}
	scope := registry.Scope{ID: unavailableScope}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		scope.Contributions = append(scope.Contributions, m.options.Kinds.Providers.Contribute(name, 0, session.Provider(unavailable{missing[name]})))
	}
	_, err := m.options.Registries.Replace(scope)
	return err
}

// missing are the reasons why configured providers are not there, once next serves.
func (m *Manager) missing(next *serving) map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	reasons := map[string]string{}
	for name, connection := range m.providers {
		var known session.Plugin
		var serving *serving
		if s := m.slots[place{connection.Plugin, ""}]; s != nil {
			known, serving = s.look()
		}
		if next != nil && next.scope.ID == connection.Plugin && next.scope.Location == "" {
			serving = next
		}
		switch {
		case serving == nil:
			reasons[name] = fmt.Sprintf("the provider %s needs the plugin %s, which %s", name, connection.Plugin, whyNot(known))
		case serving.refused[name] != nil:
			reasons[name] = serving.refused[name].Error()
		case !serving.serves(name):
			reasons[name] = fmt.Sprintf("the provider %s was configured after the plugin %s began to serve; plinth plugin reload %s", name, connection.Plugin, connection.Plugin)
		}
	}
	return reasons
}

// whyNot says why a plugin does not serve.
func whyNot(known session.Plugin) string {
	switch known.State {
	case session.PluginStateFailed:
		return "was refused: " + known.Error
	case session.PluginStateDisabled:
		if known.Configured {
			return fmt.Sprintf("is disabled; enable it in [plugins.%q]", known.ID)
		}
		return fmt.Sprintf("is disabled; enable it with plinth plugin enable %s", commandRef(known.ID, known.Location))
	case session.PluginStateQuarantined:
		return "is quarantined: " + known.Error
	case session.PluginStateHeld:
		return fmt.Sprintf("waits for approval; see plinth plugin show %s", commandRef(known.ID, known.Location))
	case session.PluginStateActive, session.PluginStateStaged:
		return "does not serve yet"
	}
	return "is not there; put it into one of plugins.folders, or see with plinth plugins what was refused"
}

// unavailable is a provider that fails with a reason.
type unavailable struct{ reason string }

// Stream yields the reason.
func (u unavailable) Stream(context.Context, session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	return func(yield func(session.ModelEvent, error) bool) {
		yield(session.ModelEvent{}, &session.Failure{Code: session.FailureModelUnavailable, Message: u.reason})
	}
}
