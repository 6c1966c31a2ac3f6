package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/offline"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/plugins/builtin"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/session/view"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// app is a whole host. What starts last stops first.
type app struct {
	config config.Config
	logger hclog.Logger
	// directory is where sessions work whose creator does not say.
	directory string
	// listen leaves out the TCP address when it is empty.
	listen string
	// fatal is called once when the log can keep nothing any more.
	fatal func(error)

	store       *sqlite.Store
	scrubber    *secret.Scrubber
	registries  *registry.Registries
	kinds       session.Kinds
	permissions *session.Permissions
	plugins     *plugin.Manager
	coordinator *session.Coordinator
	server      *server.Server
	closers     []func() error
}

// socketPath is where the local commands find the host.
func socketPath(data string) string { return filepath.Join(data, "cli.sock") }

// start brings the host up: log, ports, plugins, runner, then the edge. On an
// error everything that came up is taken down again.
func (a *app) start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if err := a.openStore(ctx); err != nil {
		return err
	}
	encoder := session.Encoder{IDs: session.NewIDs(session.SystemClock{}), Clock: session.SystemClock{}}
	a.permissions = session.NewPermissions(a.store, encoder, rules(a.config.Rules))
	a.kinds = session.NewKinds()
	a.registries = a.kinds.Registries()
	if err := a.startPlugins(ctx); err != nil {
		return err
	}
	return a.startRunner(ctx, encoder)
}

func (a *app) openStore(ctx context.Context) error {
	kernel, err := fs.Sub(session.Migrations, "migrations/sqlite")
	if err != nil {
		return err
	}
	list, err := view.NewList("sqlite")
	if err != nil {
		return err
	}
	a.store, err = sqlite.Open(ctx, sqlite.Options{
		Dir: a.config.Data, Projections: []store.Projection{session.Projection{}}, Views: []sqlite.View{list},
		Migrations: []sqlite.Migration{{Name: "kernel", FS: kernel}}, Logger: a.logger.Named("store"), Fatal: a.fatal,
	})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, a.store.Close)
	for _, stale := range a.store.StaleViews() {
		a.logger.Info("rebuilding a view", "view", stale.Name, "reason", stale.Reason)
		if err := a.store.RebuildView(ctx, stale.Name); err != nil {
			return fmt.Errorf("rebuild view %s: %w", stale.Name, err)
		}
	}
	return nil
}

func (a *app) startPlugins(ctx context.Context) error {
	a.scrubber = &secret.Scrubber{}
	if _, err := a.registries.Replace(registry.Scope{ID: "core/offline", Builtin: true,
		Contributions: []registry.Contribution{a.kinds.Providers.Contribute(offline.Name, 0, offline.Provider{})}}); err != nil {
		return err
	}
	settings, err := pluginSettings(a.config.Plugins.Settings)
	if err != nil {
		return err
	}
	a.plugins, err = plugin.NewManager(plugin.Options{
		CacheDir: filepath.Join(a.config.Data, "cache"), Registries: a.registries, Kinds: a.kinds, Rules: a.permissions,
		Clock: session.SystemClock{}, ConfigDir: filepath.Dir(a.config.File), Private: []string{a.config.Data},
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
	for _, missing := range a.plugins.Missing() {
		a.logger.Error("provider not available", "reason", missing)
	}
	return nil
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
				options.Secret = func(ctx context.Context) (secret.Value, error) { return secret.Resolve(ctx, provider.Secret) }
			}
			return egress.New(options)
		}}
	}
	return all
}

func (a *app) startRunner(ctx context.Context, encoder session.Encoder) error {
	live := session.NewLive()
	settings := runner.DefaultConfig()
	settings.MaxTurns, settings.MaxParallelTools = a.config.Runner.MaxTurns, a.config.Runner.MaxParallelTools
	work := runner.New(runner.Services{Log: a.store, Encoder: encoder, Kinds: a.kinds, Registries: a.registries,
		Permissions: a.permissions, Live: live, Logger: a.logger.Named("runner")}, settings)
	a.coordinator = session.NewCoordinator(work.Drain, a.logger.Named("session"))
	a.closers = append(a.closers, func() error { a.coordinator.Close(); return nil })
	if err := a.recover(ctx, work); err != nil {
		return err
	}
	sessions := session.NewSessions(a.store, encoder, places{}, a.coordinator, session.Defaults{Agent: a.config.Agent, Model: a.config.Model})
	shown := &backend{log: a.store, sessions: sessions, permissions: a.permissions, coordinator: a.coordinator, live: live, directory: a.directory}
	tokens := server.NewTokenStore(a.store.KV(), time.Now)
	var err error
	a.server, err = server.New(server.Options{
		Listen: a.listen, Socket: socketPath(a.config.Data), AllowedHosts: a.config.AllowedHosts, AllowedOrigins: a.config.AllowedOrigins,
		Version: version, Logger: a.logger.Named("server"),
	}, server.Backend{
		Sessions: sessionService{shown}, Prompts: promptService{shown}, Control: controlService{shown}, Permissions: permissionService{shown},
		Events: eventService{shown}, Deltas: deltaService{shown}, Access: tokens, Tokens: tokens,
		Ready: func(context.Context) error { return nil },
	})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, a.server.Close)
	return a.server.Start(ctx)
}

// recover settles what a host that died left open, then wakes the sessions whose
// pending prompts ask for it.
func (a *app) recover(ctx context.Context, work *runner.Runner) error {
	var running, woken []string
	err := a.store.View(ctx, func(tx store.Tx) (err error) {
		if running, err = session.LoadRunning(ctx, tx); err != nil {
			return err
		}
		woken, err = session.LoadWoken(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	for _, id := range running {
		if err := work.Recover(ctx, id); err != nil {
			return fmt.Errorf("recover %s: %w", id, err)
		}
	}
	for _, id := range woken {
		a.coordinator.Wake(id, 0)
	}
	return nil
}

// close stops what runs, the last started first. Safe twice.
func (a *app) close() error {
	var err error
	for _, v := range slices.Backward(a.closers) {
		err = errors.Join(err, v())
	}
	a.closers = nil
	return err
}

func rules(configured []config.Rule) []session.Rule {
	all := make([]session.Rule, len(configured))
	for i, rule := range configured {
		all[i] = session.Rule{Action: rule.Action, Resource: rule.Resource, Effect: session.Effect(rule.Effect)}
	}
	return all
}

func pluginSettings(configured map[string]config.Plugin) (map[string]plugin.Settings, error) {
	all := make(map[string]plugin.Settings, len(configured))
	for id, settings := range configured {
		one := plugin.Settings{Disabled: !settings.Enabled}
		if len(settings.Config) > 0 {
			if err := json.Unmarshal(settings.Config, &one.Config); err != nil {
				return nil, fmt.Errorf("plugins.%q.config: %w", id, err)
			}
		}
		all[id] = one
	}
	return all, nil
}

// places resolves working directories on this machine.
type places struct{}

// Resolve answers the directory's project.
func (places) Resolve(_ context.Context, directory string) (session.Location, error) {
	place, err := fsys.FindPlace(directory)
	if err != nil {
		return session.Location{}, err
	}
	return session.Location{Directory: place.Directory, Root: place.Root, Git: place.Git}, nil
}

func absolutePath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(absolute); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", path)
	}
	return absolute, nil
}
