package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/offline"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/host/replay"
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
	if _, err := a.registries.Replace(registry.Scope{ID: "core/offline", Builtin: true,
		Contributions: []registry.Contribution{a.kinds.Providers.Contribute(offline.Name, 0, offline.Provider{})}}); err != nil {
		return err
	}
	settings, err := pluginSettings(a.config.Plugins.Settings)
	if err != nil {
		return err
	}
	recordings, err := a.recordings()
	if err != nil {
		return err
	}
	services, err := a.services()
	if err != nil {
		return err
	}
	a.plugins, err = plugin.NewManager(plugin.Options{
		Engine: plugin.EngineOptions{CacheDir: filepath.Join(a.config.Data, "cache"), Compiler: a.compiler,
			MemoryMiB: a.config.Engine.MemoryMiB, Tools: a.config.Engine.Tools, Quick: a.config.Engine.Quick},
		Registries: a.registries, Kinds: a.kinds, Services: services,
		Recordings: recordings, Version: version,
		Scrubber: a.scrubber, Secret: a.secrets.Resolve, Rejected: a.secrets.Rejected,
		Providers: a.connections(), Settings: settings, Logger: a.logger.Named("plugin"),
	})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, a.plugins.Close)
	for _, b := range builtin.All() {
		candidate, err := plugin.Packed("builtin "+b.ID, b.Wasm, true)
		if err == nil {
			err = a.plugins.Add(ctx, candidate)
		}
		if err != nil {
			return fmt.Errorf("builtin %s: %w", b.ID, err)
		}
	}
	for _, folder := range a.config.Plugins.Folders {
		found, failed := plugin.Folder(folder)
		for _, err := range failed {
			a.plugins.Refused(err)
			a.logger.Error("plugin refused", "error", err)
		}
		for _, candidate := range found {
			if err := a.plugins.Add(ctx, candidate); err != nil {
				a.logger.Error("plugin refused", "error", err)
			}
		}
	}
	return a.explainMissing()
}

// recordings is the folder of recorded calls, nil when no plugin's are.
func (a *app) recordings() (replay.Sink, error) {
	for _, settings := range a.config.Plugins.Settings {
		if settings.Record != "" && settings.Record != string(plugin.RecordOff) {
			return replay.OpenFolder(filepath.Join(a.config.Data, "recordings"), 0)
		}
	}
	return nil, nil
}

// services are what host operations work with.
func (a *app) services() (*bridge.Services, error) {
	processes, err := process.New(process.Options{Shell: a.config.Process.Shell, Inherit: a.config.Process.Inherit, Withhold: a.config.SecretVariables()})
	if err != nil {
		return nil, fmt.Errorf("%s: [process]: %w", a.config.File, err)
	}
	a.closers = append(a.closers, processes.Close)
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return &bridge.Services{
		Config: filepath.Dir(a.config.File), Private: []string{a.config.Data}, Home: home, Writer: &fsys.Writer{}, Processes: processes,
		Store: bridge.NewPluginStore(a.store.KV()), Blobs: a.store.Blobs(), Clock: session.SystemClock{}, Rules: a.permissions,
	}, nil
}

// explainMissing puts a provider that says why it cannot answer in the place of each
// that has no plugin. A session that uses one learns the reason, not only the name.
func (a *app) explainMissing() error {
	status := map[string]plugin.Status{}
	for _, one := range a.plugins.Plugins() {
		status[one.ID] = one
	}
	var contributions []registry.Contribution
	for _, name := range slices.Sorted(maps.Keys(a.config.Providers)) {
		needed := a.config.Providers[name].Plugin
		reason := fmt.Sprintf("the provider %s needs the plugin %s, which ", name, needed)
		switch one := status[needed]; one.State {
		case plugin.Active:
			continue
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

// connections are the operator's providers; each reaches its base URL and nothing
// else, with its secret put in behind the guest's back.
func (a *app) connections() map[string]plugin.Connection {
	all := make(map[string]plugin.Connection, len(a.config.Providers))
	for name, provider := range a.config.Providers {
		all[name] = plugin.Connection{Plugin: provider.Plugin, Open: func(auth egress.Auth) (*egress.Client, error) {
			options := egress.Options{BaseURL: provider.BaseURL, Scrubber: a.scrubber}
			if provider.Secret != "" {
				options.Auth = auth
				options.Secret = func(ctx context.Context) (secret.Value, error) { return a.secrets.Resolve(ctx, provider.Secret) }
				options.Rejected = func(value secret.Value) { a.secrets.Rejected(provider.Secret, value) }
			}
			return egress.New(options)
		}}
	}
	return all
}

func pluginSettings(configured map[string]config.Plugin) (map[string]plugin.Settings, error) {
	all := make(map[string]plugin.Settings, len(configured))
	for id, settings := range configured {
		one := plugin.Settings{Disabled: !settings.Enabled, Limits: settings.Limits, Secrets: settings.Secrets, Record: plugin.Record(settings.Record)}
		if len(settings.Config) > 0 {
			if err := json.Unmarshal(settings.Config, &one.Config); err != nil {
				return nil, fmt.Errorf("plugins.%q.config: %w", id, err)
			}
		}
		all[id] = one
	}
	return all, nil
}
