package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/catalog"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/expand"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/mcp"
	"github.com/plinthhost/plinth/host/outputs"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/snapshot"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/bundle"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/session/schema"
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
	// wakes makes the host go on with the sessions that have work. A host that lives
	// for one command leaves them to one that stays.
	wakes bool
	// compiler is as in cli.
	compiler func(ctx context.Context) *exec.Cmd
	// reload reads the configuration again; nil for a host that cannot.
	reload func() (config.Config, error)
	// fatal is called once when the log can keep nothing any more.
	fatal func(error)

	store       *sqlite.Store
	values      *bridge.PluginStore // of plugins
	scrubber    *secret.Scrubber
	secrets     *secret.Resolver
	network     *egress.Network // the one way out, for providers and for what plugins fetch
	registries  *registry.Registries
	kinds       session.Kinds
	permissions *session.Permissions
	agents      *session.Agents
	plugins     *plugin.Manager
	servers     *mcp.Hub
	outputs     *outputs.Files
	processes   *process.Runner
	shells      *session.Shells
	snapshots   *snapshot.Store // nil for none
	tasks       *session.Tasks
	importer    *bundle.Importer
	files       files
	catalog     *catalog.Catalog
	models      session.Models // the catalog, as the runner sees it
	coordinator *session.Coordinator
	backend     *backend
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
	if a.agents, err = session.NewAgents(a.config.Agents, a.config.Agent); err != nil {
		return fmt.Errorf("configure agents: %w", err)
	}
	a.startFiles()
	if err := a.openStore(ctx); err != nil {
		return err
	}
	clock := session.SystemClock{Zone: a.config.Zone()}
	encoder := session.Encoder{IDs: session.NewIDs(clock), Clock: clock}
	a.startOutputs(ctx)
	if err := a.startSnapshots(ctx); err != nil {
		return fmt.Errorf("keep snapshots of files: %w", err)
	}
	a.permissions = session.NewPermissions(a.store, encoder, append(outputRules(a.config.Data), rules(a.config.Rules)...), a.agents,
		a.answered, a.logger.Named("permissions"))
	a.kinds = session.NewKinds()
	a.registries = a.kinds.Registries()
	if err := a.startPlugins(ctx, encoder); err != nil {
		return err
	}
	// The engine has opened by now what it reads of itself.
	if err := keepPrivate(); err != nil {
		return fmt.Errorf("keep other processes out of this one's memory: %w", err)
	}
	return a.startRunner(ctx, encoder)
}

func (a *app) openStore(ctx context.Context) error {
	list, err := view.NewList("sqlite")
	if err != nil {
		return err
	}
	a.store, err = openKernel(ctx, sqlite.Options{Dir: a.config.Data, Views: []sqlite.View{list}, Logger: a.logger.Named("store"), Fatal: a.fatal})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, a.store.Close)
	a.values = bridge.NewPluginStore(a.store.KV())
	a.startSweeping(ctx)
	for _, stale := range a.store.StaleViews() {
		a.logger.Info("rebuilding a view", "view", stale.Name, "reason", stale.Reason)
		if err := a.store.RebuildView(ctx, stale.Name); err != nil {
			return fmt.Errorf("rebuild view %s: %w", stale.Name, err)
		}
	}
	return nil
}

func (a *app) startRunner(ctx context.Context, encoder session.Encoder) error {
	live := session.NewLive()
	todos := session.NewTodoLists(a.store, encoder)
	var work *runner.Runner    // what it works with wakes it
	var keeper *session.Keeper // of what it keeps, the drains tell it
	a.coordinator = session.NewCoordinator(func(ctx context.Context, w *session.Work) error {
		defer keeper.Idle(w.Session)
		a.plugins.Ready(ctx, pluginPatience)
		a.servers.Ready(ctx)
		return work.Drain(ctx, w)
	}, a.logger.Named("session"))
	blobs := a.store.Blobs()
	lines := &expand.Runner{Processes: a.processes, Private: []string{a.config.Data}, Scrub: a.scrubber.Scrub,
		Timeout: time.Duration(a.config.Shell.TimeoutMS) * time.Millisecond}
	a.shells = session.NewShells(a.store, encoder, lines, a.outputs, a.outputLimits(), a.logger.Named("shell"))
	a.closers = append(a.closers, func() error { a.shells.Close(); return nil })
	sessions := session.NewSessions(a.store, encoder, places{}, execution{a.coordinator, a.shells}, session.SessionOptions{
		Defaults: session.Defaults{Agent: a.agents.Default(), Model: a.config.Model}, Agents: a.agents, Models: a.models,
		Slug: session.Slug, Limits: session.Limits{Pending: a.config.Runner.MaxPending, Steers: a.config.Runner.MaxSteers},
		Snapshots: a.kernelSnapshots(),
		Files: func(ctx context.Context, files []session.PromptFile) error {
			return session.CheckFiles(ctx, blobs, files)
		}})
	a.tasks = session.NewTasks(a.store, encoder, sessions, a.coordinator, a.agents, a.logger.Named("tasks"))
	closeTitles := func() {}
	a.closers = append(a.closers, func() error {
		a.coordinator.Close(time.Duration(a.config.Runner.ShutdownGraceMS) * time.Millisecond)
		closeTitles()
		a.tasks.Close()
		return nil
	})
	work = runner.New(runner.Services{Log: a.store, Encoder: encoder, Kinds: a.kinds, Registries: a.registries,
		Permissions: a.permissions, Agents: a.agents, Models: a.models, Schemas: &schema.Cache{}, Blobs: blobs, Live: live, Outputs: a.outputs,
		Snapshots: a.kernelSnapshots(), Tasks: a.tasks, Todos: todos, Skills: a.files.skills, Logger: a.logger.Named("runner")}, a.runnerConfig())
	closeTitles = a.startTitles(work, sessions)
	keeper = a.newKeeper(sessions)
	if err := sessions.RemoveOrphans(ctx); err != nil {
		return err
	}
	if err := a.finishImports(ctx, encoder); err != nil {
		return err
	}
	if err := a.recover(ctx, work); err != nil {
		return err
	}
	keeper.Start()
	a.backend = &backend{log: a.store, sessions: sessions, permissions: a.permissions, todos: todos, coordinator: a.coordinator, live: live,
		plugins: a.plugins, agents: a.agents, files: a.files, catalog: a.catalog, runner: work, keys: newKeys(a.store.KV(), time.Now), snapshots: a.snapshots, directory: a.directory,
		ids: encoder.IDs, expander: a.expander(lines), shells: a.shells, forget: a.forgetValues}
	tokens := server.NewTokenStore(a.store.KV(), time.Now)
	var err error
	a.server, err = server.New(server.Options{
		Listen: a.listen, Socket: socketPath(a.config.Data), AllowedHosts: a.config.AllowedHosts, AllowedOrigins: a.config.AllowedOrigins,
		Version: version, Logger: a.logger.Named("server"),
	}, server.Backend{
		Sessions: sessionService{a.backend}, Prompts: promptService{a.backend}, Commands: commandService{a.backend}, Skills: skillService{a.backend}, Shells: shellService{a.backend, a.config.Shell.Enabled}, Waiting: waitingService{a.backend}, Reports: reportService{a.backend}, Contexts: contextService{a.backend}, Reverts: revertService{a.backend}, Blobs: blobService{a.store.Blobs()}, Control: controlService{a.backend}, Life: lifeService{a.backend},
		Permissions: permissionService{a.backend}, Questions: questionService{a.backend}, Plugins: pluginService{a.backend, a.network, a.servers, a.reconfigure}, Locks: lockService{a.backend, lockFile(a.config.File)}, Agents: agentService{a.backend}, Models: modelService{a.backend},
		Transfers: transferService{a.backend, a.store, a.importer}, Rehearsals: rehearsalService{a.backend}, PluginWatches: watchService{a.backend},
		Events: eventService{a.backend}, Deltas: deltaService{a.backend}, Access: tokens, Tokens: tokens,
		Ready: func(context.Context) error { return nil },
	})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, a.server.Close)
	return a.server.Start(ctx)
}

// pluginPatience is how long sessions wait at the start for plugins that have not been
// tried yet.
const pluginPatience = 10 * time.Second

// newKeeper makes the keeper, which stops before what it works on.
func (a *app) newKeeper(sessions *session.Sessions) *session.Keeper {
	r := a.config.Retention
	keeper := session.NewKeeper(a.store, sessions, session.KeeperOptions{
		Retention:     session.Retention{Keep: session.RetentionKeep(r.Keep), Days: r.Days},
		TombstoneDays: r.TombstonesDays, Clock: session.SystemClock{},
	}, a.logger.Named("retention"))
	a.closers = append(a.closers, func() error { keeper.Close(); return nil })
	return keeper
}

// runnerConfig is the operator's configuration in the runner's words.
func (a *app) runnerConfig() runner.Config {
	milliseconds := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	c, settings := a.config.Runner, runner.DefaultConfig()
	settings.MaxTurns, settings.MaxCalls, settings.MaxParallelTools = c.MaxTurns, c.MaxCallsPerTurn, c.MaxParallelTools
	settings.FirstEvent, settings.Idle = milliseconds(c.FirstEventMS), milliseconds(c.IdleMS)
	settings.Retries, settings.MaxRetryWait = c.RetryAttempts, milliseconds(c.RetryMaxWaitMS)
	settings.FormatRetries, settings.Recovery = c.StructuredRetries, c.Recovery
	settings.Output = a.outputLimits()
	settings.Budgets, settings.Compaction = a.config.Budgets, a.config.Compaction
	return settings
}

func (a *app) outputLimits() session.OutputLimits {
	return session.OutputLimits{Lines: a.config.ToolOutput.MaxLines, Bytes: a.config.ToolOutput.MaxBytes}
}

// recover settles what a host that died left open, then wakes the sessions whose
// pending prompts ask for it, unless the host is not to stay.
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
		again, err := work.Recover(ctx, id)
		if err != nil {
			return fmt.Errorf("recover %s: %w", id, err)
		}
		if again {
			woken = append(woken, id)
		}
	}
	if err := a.shells.Start(ctx); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if err := a.permissions.Start(ctx); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if a.wakes {
		if err := a.tasks.Start(ctx); err != nil {
			return fmt.Errorf("go on with tasks: %w", err)
		}
		for _, id := range woken {
			a.coordinator.Wake(id, 0)
		}
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

// answered makes a session go on whose request a person answered. A host that lives
// for one command leaves that to one that stays; a call that waits in it goes on
// without.
func (a *app) answered(id string, seq int64) {
	if a.wakes {
		a.coordinator.Wake(id, seq)
	}
}

func rules(configured []config.Rule) []session.Rule {
	all := make([]session.Rule, len(configured))
	for i, rule := range configured {
		all[i] = session.Rule{Action: rule.Action, Resource: rule.Resource, Effect: session.Effect(rule.Effect)}
	}
	return all
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
