package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/depot"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/plugins/builtin"
	"github.com/plinthhost/plinth/session"
)

// startPlugins loads what the configuration names: the builtin plugins, the folders,
// and the connections of providers. A plugin that is refused keeps nothing else out.
func (a *app) startPlugins(ctx context.Context, encoder session.Encoder) error {
	a.scrubber = &secret.Scrubber{}
	a.secrets = secret.NewResolver(secret.ResolverOptions{Scrubber: a.scrubber})
	a.closers = append(a.closers, a.secrets.Close)
	var err error
	if a.network, err = a.newNetwork(); err != nil {
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
	if err := a.openCatalog(); err != nil {
		return err
	}
	kept, err := depot.Open(filepath.Join(a.config.Data, pluginsFolder))
	if err != nil {
		return err
	}
	a.plugins, err = plugin.NewManager(plugin.Options{
		Engine: plugin.EngineOptions{CacheDir: filepath.Join(a.config.Data, cacheName), Compiler: a.compiler,
			MemoryMiB: a.config.Engine.MemoryMiB, Tools: a.config.Engine.Tools, Quick: a.config.Engine.Quick},
		Registries: a.registries, Kinds: a.kinds, Ledger: session.NewPlugins(a.store, encoder), Depot: kept, Services: services, Network: a.network,
		Recordings: recordings, Version: version, Development: a.config.Plugins.Development,
		Scrubber: a.scrubber, Secret: a.secrets.Resolve, Rejected: a.secrets.Rejected,
		Providers: a.connections(), Settings: settings, Logger: a.logger.Named("plugin"),
	})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, a.plugins.Close)
	for _, native := range a.natives() {
		if err := a.plugins.Native(native); err != nil {
			return err
		}
	}
	builtins, err := builtinPlugins()
	if err != nil {
		return err
	}
	a.awaitServers()
	if err := a.plugins.Start(ctx, builtins, a.config.Plugins.Folders, a.config.Plugins.Files); err != nil {
		return err
	}
	a.openServers(services.Home)
	return nil
}

// builtinPlugins are those that are part of the program.
func builtinPlugins() ([]plugin.Candidate, error) {
	var all []plugin.Candidate
	for _, b := range builtin.All() {
		candidate, err := plugin.Packed("builtin "+b.ID, b.Wasm, true)
		if err != nil {
			return nil, fmt.Errorf("builtin %s: %w", b.ID, err)
		}
		all = append(all, candidate)
	}
	return all, nil
}

func pluginSettings(configured map[string]config.Plugin) (map[string]plugin.Settings, error) {
	if err := checkBuiltins(configured); err != nil {
		return nil, err
	}
	all := make(map[string]plugin.Settings, len(configured))
	for id, settings := range configured {
		one := plugin.Settings{Disabled: settings.Enabled != nil && !*settings.Enabled, Required: settings.Required, Order: settings.Order, Limits: settings.Limits, Secrets: settings.Secrets, Record: plugin.Record(settings.Record),
			ExtismSDK: settings.Engine == "extism-sdk"}
		if len(settings.Config) > 0 {
			if err := json.Unmarshal(settings.Config, &one.Config); err != nil {
				return nil, fmt.Errorf("plugins.%q.config: %w", id, err)
			}
		}
		all[id] = one
	}
	for _, b := range builtin.All() {
		if one := all[b.ID]; b.Off && configured[b.ID].Enabled == nil {
			one.Disabled = true
			all[b.ID] = one
		}
	}
	return all, nil
}

// checkBuiltins refuses settings of a builtin that there is not: who misspells the one
// that keeps secrets back must not believe that it does. What is switched off may be gone.
func checkBuiltins(configured map[string]config.Plugin) error {
	known := []string{offlinePlugin, sessionPlugin, referencesPlugin}
	for _, b := range builtin.All() {
		known = append(known, b.ID)
	}
	slices.Sort(known)
	for _, id := range slices.Sorted(maps.Keys(configured)) {
		on := configured[id].Enabled == nil || *configured[id].Enabled
		if strings.HasPrefix(id, "core/") && on && !slices.Contains(known, id) {
			return fmt.Errorf("plugins.%q: there is no such builtin; choose one of %s", id, strings.Join(known, ", "))
		}
	}
	return nil
}
