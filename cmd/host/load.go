package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/offline"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/plugins/builtin"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// startPlugins loads what the configuration names: the builtin plugins, the folders,
// and the connections of providers. A plugin that is refused keeps nothing else out.
func (a *app) startPlugins(ctx context.Context) error {
	a.scrubber = &secret.Scrubber{}
	a.secrets = secret.NewResolver(secret.ResolverOptions{Scrubber: a.scrubber})
	a.closers = append(a.closers, a.secrets.Close)
	var err error
	if a.network, err = a.newNetwork(); err != nil {
		return err
	}
	if _, err := a.registries.Replace(registry.Scope{ID: "core/offline", Builtin: true,
		Contributions: []registry.Contribution{a.kinds.Providers.Contribute(offline.Name, 0, offline.Provider{})}}); err != nil {
		return err
	}
	if err := a.tellReferences(); err != nil {
		return err
	}
	settings, err := pluginSettings(a.config.Plugins.Settings)
	if err != nil {
		return err
	}
	instructing(settings, a.config)
	recordings, err := a.recordings()
	if err != nil {
		return err
	}
	services, err := a.services()
	if err != nil {
		return err
	}
	candidates, failed, err := a.candidates()
	if err != nil {
		return err
	}
	connections, refused := a.connections(candidates)
	if err := a.openCatalog(candidates); err != nil {
		return err
	}
	a.plugins, err = plugin.NewManager(plugin.Options{
		Engine: plugin.EngineOptions{CacheDir: filepath.Join(a.config.Data, "cache"), Compiler: a.compiler,
			MemoryMiB: a.config.Engine.MemoryMiB, Tools: a.config.Engine.Tools, Quick: a.config.Engine.Quick},
		Registries: a.registries, Kinds: a.kinds, Services: services, Network: a.network,
		Recordings: recordings, Version: version,
		Scrubber: a.scrubber, Secret: a.secrets.Resolve, Rejected: a.secrets.Rejected,
		Providers: connections, Settings: settings, Logger: a.logger.Named("plugin"),
	})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, a.plugins.Close)
	for _, candidate := range candidates {
		err := a.plugins.Add(ctx, candidate)
		if err != nil && candidate.Builtin {
			return fmt.Errorf("builtin %s: %w", candidate.Manifest.ID, err)
		}
		if err != nil {
			a.logger.Error("plugin refused", "error", err)
		}
	}
	for _, err := range failed {
		a.plugins.Refused(err)
		a.logger.Error("plugin refused", "error", err)
	}
	if err := a.plugins.RequireMissing(); err != nil {
		return err
	}
	return a.explainMissing(refused)
}

// candidates reads the builtin plugins and those of the folders. What cannot be read
// in a folder is answered in failed.
func (a *app) candidates() (all []plugin.Candidate, failed []error, err error) {
	for _, b := range builtin.All() {
		candidate, err := plugin.Packed("builtin "+b.ID, b.Wasm, true)
		if err != nil {
			return nil, nil, fmt.Errorf("builtin %s: %w", b.ID, err)
		}
		all = append(all, candidate)
	}
	for _, folder := range a.config.Plugins.Folders {
		found, errs := plugin.Folder(folder)
		all, failed = append(all, found...), append(failed, errs...)
	}
	return all, failed, nil
}

// explainMissing puts a provider that says why it cannot answer in the place of each
// that has no plugin, or was refused itself. A session that uses one learns the
// reason, not only the name.
func (a *app) explainMissing(refused map[string]error) error {
	status := map[string]plugin.Status{}
	for _, one := range a.plugins.Plugins() {
		if status[one.ID].State != plugin.Active { // a second one of the id changes nothing
			status[one.ID] = one
		}
	}
	var contributions []registry.Contribution
	for _, name := range slices.Sorted(maps.Keys(a.config.Providers)) {
		needed := a.config.Providers[name].Plugin
		reason := fmt.Sprintf("the provider %s needs the plugin %s, which ", name, needed)
		switch one := status[needed]; one.State {
		case plugin.Active:
			if refused[name] == nil {
				continue
			}
			reason = refused[name].Error()
		case plugin.Failed:
			reason += "was refused: " + one.Error
		case plugin.Disabled:
			reason += fmt.Sprintf("is disabled; enable it in [plugins.%q]", needed)
		default:
			reason += "is not there; put it into one of plugins.folders, or see with plinth plugins what was refused"
		}
		a.logger.Error("provider not available", "reason", reason)
		contributions = append(contributions, a.kinds.Providers.Contribute(name, 0, unavailable{reason}))
	}
	if len(contributions) == 0 {
		return nil
	}
	_, err := a.registries.Replace(registry.Scope{ID: "core/unavailable", Contributions: contributions})
	return err
}

// unavailable is a provider that fails with a reason.
type unavailable struct{ reason string }

// Stream yields the reason.
func (u unavailable) Stream(context.Context, session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	return func(yield func(session.ModelEvent, error) bool) {
		yield(session.ModelEvent{}, &session.Failure{Code: session.FailureModelUnavailable, Message: u.reason})
	}
}

func pluginSettings(configured map[string]config.Plugin) (map[string]plugin.Settings, error) {
	all := make(map[string]plugin.Settings, len(configured))
	for id, settings := range configured {
		one := plugin.Settings{Disabled: !settings.Enabled, Required: settings.Required, Limits: settings.Limits, Secrets: settings.Secrets, Record: plugin.Record(settings.Record),
			ExtismSDK: settings.Engine == "extism-sdk"}
		if len(settings.Config) > 0 {
			if err := json.Unmarshal(settings.Config, &one.Config); err != nil {
				return nil, fmt.Errorf("plugins.%q.config: %w", id, err)
			}
		}
		all[id] = one
	}
	return all, nil
}
