package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/depot"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/session/schema"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// kernel is the kernel with a manager of plugins over it, as the host wires them, and
// one provider of plain Go.
type kernel struct {
	log         *sqlite.Store
	kinds       session.Kinds
	registries  *registry.Registries
	permissions *session.Permissions
	coordinator *session.Coordinator
	sessions    *session.Sessions
	plugins     *plugin.Manager
	shelf       *shelf
}

// model is the model of every session.
func model() session.ModelRef { return session.ModelRef{Provider: "bench", Model: "m1"} }

// engineOptions are the host's, with room for many calls at a time.
func engineOptions(cache string) plugin.EngineOptions {
	return plugin.EngineOptions{CacheDir: cache, MemoryMiB: 4096, Tools: 64}
}

// openKernel starts a kernel in the folder, whose plugins come from the folders.
func openKernel(ctx context.Context, dir string, engine plugin.EngineOptions, folders ...string) (*kernel, error) {
	tables, err := fs.Sub(session.Migrations, "migrations/sqlite")
	if err != nil {
		return nil, err
	}
	k := &kernel{}
	if k.log, err = sqlite.Open(ctx, sqlite.Options{Dir: filepath.Join(dir, "data"), Projections: []store.Projection{session.Projection{}},
		Migrations: []sqlite.Migration{{Name: "kernel", FS: tables}}}); err != nil {
		return nil, err
	}
	encoder := session.Encoder{IDs: session.NewIDs(session.SystemClock{}), Clock: session.SystemClock{}}
	if err = k.wire(encoder); err == nil {
		err = k.manage(ctx, encoder, dir, engine, folders)
	}
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

func quiet() hclog.Logger { return hclog.New(&hclog.LoggerOptions{Level: hclog.Error}) }

func (k *kernel) wire(encoder session.Encoder) error {
	agents, err := session.NewAgents(session.DefaultAgents(), session.DefaultAgent)
	if err != nil {
		return err
	}
	k.kinds = session.NewKinds()
	k.registries = k.kinds.Registries()
	if _, err := k.registries.Replace(registry.Scope{ID: "core/bench", Builtin: true, Revision: "r1",
		Contributions: []registry.Contribution{k.kinds.Providers.Contribute(model().Provider, 0, session.Provider(caller{}))}}); err != nil {
		return err
	}
	logger := quiet()
	var work *runner.Runner // what it works with wakes it
	k.coordinator = session.NewCoordinator(func(ctx context.Context, w *session.Work) error { return work.Drain(ctx, w) }, logger)
	k.permissions = session.NewPermissions(k.log, encoder, []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}, agents, k.coordinator.Wake, logger)
	work = runner.New(runner.Services{Log: k.log, Encoder: encoder, Kinds: k.kinds, Registries: k.registries, Permissions: k.permissions,
		Agents: agents, Models: anyModel{}, Schemas: &schema.Cache{}, Blobs: k.log.Blobs(), Live: session.NewLive(), Outputs: noOutputs{},
		Todos: session.NewTodoLists(k.log, encoder), Logger: logger}, runner.DefaultConfig())
	k.sessions = session.NewSessions(k.log, encoder, places{}, k.coordinator, session.SessionOptions{
		Defaults: session.Defaults{Agent: agents.Default(), Model: model()}})
	return nil
}

func (k *kernel) manage(ctx context.Context, encoder session.Encoder, dir string, engine plugin.EngineOptions, folders []string) error {
	kept, err := depot.Open(filepath.Join(dir, "data", "plugins"))
	if err != nil {
		return err
	}
	k.shelf = &shelf{KV: k.log.KV()}
	k.plugins, err = plugin.NewManager(plugin.Options{
		Engine:     engine,
		Registries: k.registries, Kinds: k.kinds, Ledger: session.NewPlugins(k.log, encoder), Depot: kept,
		Services:    &bridge.Services{Store: bridge.NewPluginStore(k.shelf), Clock: session.SystemClock{}, Rules: k.permissions, Blobs: k.log.Blobs()},
		Development: true, Version: "bench", Logger: quiet(),
	})
	if err != nil {
		return err
	}
	return k.plugins.Start(ctx, nil, folders, nil)
}

// close stops what runs, then the plugins, then the store.
func (k *kernel) close() error {
	var err error
	if k.coordinator != nil {
		k.coordinator.Close(0)
	}
	if k.plugins != nil {
		err = k.plugins.Close()
	}
	return errors.Join(err, k.log.Close())
}

// turn works through a prompt in a new session and answers the session's events.
func (k *kernel) turn(ctx context.Context) ([]store.Event, error) {
	s, _, err := k.sessions.Create(ctx, session.System(), session.CreateRequest{Directory: "/project"})
	if err != nil {
		return nil, err
	}
	tail := store.NewTail(k.log, s.ID, -1)
	defer tail.Close()
	if _, err := k.sessions.Admit(ctx, session.System(), session.PromptRequest{Session: s.ID, Prompt: session.Prompt{Text: "go"}}); err != nil {
		return nil, err
	}
	var all []store.Event
	for {
		page, err := tail.Next(ctx, 100)
		if err != nil {
			return nil, err
		}
		for _, event := range page.Events {
			all = append(all, event)
			if ended, err := completed(event); ended || err != nil {
				return all, err
			}
		}
	}
}

// completed reports whether the event ends an activity. One that failed is an error.
func completed(event store.Event) (bool, error) {
	if event.Type != (session.ActivityEnded{}).EventType() {
		return false, nil
	}
	payload, err := session.Decode(event)
	if err != nil {
		return false, err
	}
	if ended := payload.(session.ActivityEnded); ended.Outcome != session.Completed {
		return false, fmt.Errorf("an activity of %s %s: %w", event.Aggregate, ended.Outcome, ended.Error)
	}
	return true, nil
}

// places takes every directory as a project.
type places struct{}

func (places) Resolve(_ context.Context, directory string) (session.Location, error) {
	return session.Location{Directory: directory, Root: directory}, nil
}

// anyModel knows nothing of any model and lets it be used.
type anyModel struct{}

func (anyModel) Model(_ context.Context, ref session.ModelRef) (session.ModelInfo, error) {
	return session.ModelInfo{Ref: ref}, nil
}

// noOutputs keeps nothing: no tool says too much.
type noOutputs struct{}

func (noOutputs) Keep(context.Context, string, string) (string, error) {
	return "", errors.New("the bench keeps no outputs")
}
