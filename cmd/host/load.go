package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/egress"
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
	settings, err := pluginSettings(a.config.Plugins.Settings)
	if err != nil {
		return err
	}
	candidates, failed, err := a.candidates()
	if err != nil {
		return err
	}
	connections, refused := a.connections(candidates)
	a.plugins, err = plugin.NewManager(plugin.Options{
		Engine: plugin.EngineOptions{CacheDir: filepath.Join(a.config.Data, "cache"), Compiler: a.compiler,
			MemoryMiB: a.config.Engine.MemoryMiB, Tools: a.config.Engine.Tools, Quick: a.config.Engine.Quick},
		Registries: a.registries, Kinds: a.kinds, Rules: a.permissions,
		Clock: session.SystemClock{}, ConfigDir: filepath.Dir(a.config.File), Private: []string{a.config.Data},
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

// connections are the operator's providers; each reaches its base URL and nothing
// else, with its secret put in behind the guest's back. Those that cannot be used with
// what the manifests of the candidates want are refused.
func (a *app) connections(candidates []plugin.Candidate) (all map[string]plugin.Connection, refused map[string]error) {
	all, refused = make(map[string]plugin.Connection, len(a.config.Providers)), map[string]error{}
	for name, provider := range a.config.Providers {
		if err := a.try(name, candidates); err != nil {
			refused[name] = err
			continue
		}
		all[name] = plugin.Connection{Plugin: provider.Plugin, Open: func(auth egress.Auth) (*egress.Client, error) { return a.open(name, auth) }}
	}
	return all, refused
}

// try opens and closes the connection of a provider as its codec wants it. It makes no
// request. Where the plugin is not there, or has not one codec, others say so.
func (a *app) try(name string, candidates []plugin.Candidate) error {
	provider := a.config.Providers[name]
	i := slices.IndexFunc(candidates, func(c plugin.Candidate) bool { return c.Manifest.ID == provider.Plugin })
	if i < 0 || len(candidates[i].Manifest.Providers) != 1 {
		return nil
	}
	auth, err := bridge.AuthOf(candidates[i].Manifest.Providers[0].Auth)
	if err != nil {
		return err
	}
	client, err := a.open(name, auth)
	if err != nil {
		return err
	}
	if auth.Kind != "" && provider.Secret == "" && provider.OAuth2 == nil && strings.HasPrefix(provider.BaseURL, "https:") {
		a.logger.Warn("requests go without a secret", "reason", a.config.Mistake(
			fmt.Sprintf("is not given; the codec of %s puts it into the %s %s", provider.Plugin, auth.Kind, auth.Name), "providers", name, "secret"))
	}
	return client.Close()
}

func pluginSettings(configured map[string]config.Plugin) (map[string]plugin.Settings, error) {
	all := make(map[string]plugin.Settings, len(configured))
	for id, settings := range configured {
		one := plugin.Settings{Disabled: !settings.Enabled, Limits: settings.Limits}
		if len(settings.Config) > 0 {
			if err := json.Unmarshal(settings.Config, &one.Config); err != nil {
				return nil, fmt.Errorf("plugins.%q.config: %w", id, err)
			}
		}
		all[id] = one
	}
	return all, nil
}

// newNetwork is the way out that the operator configured.
func (a *app) newNetwork() (*egress.Network, error) {
	configured := a.config.Network
	options := egress.NetworkOptions{Private: configured.Private, Roots: configured.Roots, Scrubber: a.scrubber}
	if configured.Proxy != "" {
		options.Proxy = &egress.Proxy{URL: configured.Proxy, Secret: a.source(configured.ProxySecret).Get,
			Names: configured.ProxyResolves, Except: configured.ProxyExcept}
	}
	network, err := egress.NewNetwork(options)
	if err != nil {
		return nil, fmt.Errorf("set up the network: %w", err)
	}
	return network, nil
}

// open makes the connection of a provider, with the auth that its codec wants. Errors
// name the file and the key.
func (a *app) open(name string, wanted egress.Auth) (*egress.Client, error) {
	auth, err := a.config.Auth(name, wanted)
	if err != nil {
		return nil, err
	}
	provider := a.config.Providers[name]
	source := a.source(provider.Secret)
	options := egress.Options{BaseURL: provider.BaseURL, Region: provider.Region, Scrubber: a.scrubber, Network: a.network,
		Timeouts: egress.Timeouts{FirstByte: milliseconds(provider.FirstByteMS), Idle: milliseconds(provider.IdleMS), Total: milliseconds(provider.TimeoutMS)}}
	if provider.OAuth2 != nil {
		options.OAuth2, source = a.tokens(name, *provider.OAuth2)
	}
	if source.Get != nil {
		options.Auth, options.Secret, options.Rejected = auth, source.Get, source.Rejected
	}
	client, err := egress.New(options)
	if err != nil && auth.Kind == egress.AuthSigV4 {
		return nil, a.config.Mistake(err.Error(), "providers", name, "region")
	}
	if err != nil {
		return nil, a.config.Mistake(err.Error(), "providers", name)
	}
	return client, nil
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// source answers where the secret of a reference comes from; of none, nothing.
func (a *app) source(reference string) egress.Source {
	if reference == "" {
		return egress.Source{}
	}
	return egress.Source{
		Get:      func(ctx context.Context) (secret.Value, error) { return a.secrets.Resolve(ctx, reference) },
		Rejected: func(value secret.Value) { a.secrets.Rejected(reference, value) },
	}
}

// tokens answers how access tokens are fetched, and the secret that they are fetched
// with.
func (a *app) tokens(name string, o config.OAuth2) (*egress.OAuth2, egress.Source) {
	fetching := &egress.OAuth2{TokenURL: o.TokenURL, Grant: o.Grant, ClientID: o.ClientID, Scope: o.Scope, InBody: o.ClientAuth == config.ClientAuthBody}
	if o.Grant == egress.GrantClientCredentials {
		return fetching, a.source(o.ClientSecret)
	}
	fetching.ClientSecret = a.source(o.ClientSecret).Get
	fetching.Rotated = func(secret.Value) {
		a.logger.Warn("the token endpoint replaced the refresh token; the new one is kept until the host ends, and the configured one may be good for nothing then",
			"provider", name, "endpoint", o.TokenURL)
	}
	return fetching, a.source(o.RefreshToken)
}
