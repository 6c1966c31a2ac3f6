package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/session/schema"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// kernel is everything below the kernel line, as the host wires it, with one provider
// of plain Go and neither tools nor context sources.
type kernel struct {
	log         *sqlite.Store
	encoder     session.Encoder
	live        *session.Live
	coordinator *session.Coordinator
	sessions    *session.Sessions
	kinds       session.Kinds
	registries  *registry.Registries
}

// model is the model of every session.
func model() session.ModelRef { return session.ModelRef{Provider: "bench", Model: "m1"} }

func openKernel(ctx context.Context, dir string, provider session.Provider) (*kernel, error) {
	log, err := openLog(ctx, dir)
	if err != nil {
		return nil, err
	}
	k := &kernel{log: log, encoder: newEncoder(), live: session.NewLive()}
	if err := k.wire(provider); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return k, nil
}

func (k *kernel) wire(provider session.Provider) error {
	agents, err := session.NewAgents(session.DefaultAgents(), session.DefaultAgent)
	if err != nil {
		return err
	}
	kinds := session.NewKinds()
	k.kinds, k.registries = kinds, kinds.Registries()
	if _, err := k.registries.Replace(registry.Scope{ID: "core/bench", Builtin: true, Revision: "r1",
		Contributions: []registry.Contribution{kinds.Providers.Contribute(model().Provider, 0, provider)}}); err != nil {
		return err
	}
	logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Error})
	var work *runner.Runner // what it works with wakes it
	k.coordinator = session.NewCoordinator(func(ctx context.Context, w *session.Work) error { return work.Drain(ctx, w) }, logger)
	work = runner.New(runner.Services{Log: k.log, Encoder: k.encoder, Kinds: kinds, Registries: k.registries,
		Permissions: session.NewPermissions(k.log, k.encoder, nil, agents, k.coordinator.Wake, logger), Agents: agents, Models: anyModel{}, Schemas: &schema.Cache{},
		Blobs: k.log.Blobs(), Live: k.live, Outputs: noOutputs{}, Todos: session.NewTodoLists(k.log, k.encoder), Logger: logger}, runner.DefaultConfig())
	k.sessions = session.NewSessions(k.log, k.encoder, places{}, k.coordinator, session.SessionOptions{
		Defaults: session.Defaults{Agent: agents.Default(), Model: model()}})
	return nil
}

// openLog opens a store with the kernel's tables.
func openLog(ctx context.Context, dir string) (*sqlite.Store, error) {
	tables, err := fs.Sub(session.Migrations, "migrations/sqlite")
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, sqlite.Options{Dir: dir, Projections: []store.Projection{session.Projection{}},
		Migrations: []sqlite.Migration{{Name: "kernel", FS: tables}}})
}

func newEncoder() session.Encoder {
	return session.Encoder{IDs: session.NewIDs(session.SystemClock{}), Clock: session.SystemClock{}}
}

// close stops what runs, then the store. Safe twice.
func (k *kernel) close() error {
	k.coordinator.Close(0)
	return k.log.Close()
}

func (k *kernel) create(ctx context.Context) (string, error) {
	s, _, err := k.sessions.Create(ctx, session.System(), session.CreateRequest{Directory: "/project"})
	return s.ID, err
}

// turn prompts the session, waits for the end of the activity, and holds it to have
// completed. It calls begin just before the prompt.
func (k *kernel) turn(ctx context.Context, id string, begin func()) error {
	after, err := k.head(ctx, id)
	if err != nil {
		return err
	}
	tail := store.NewTail(k.log, id, after)
	defer tail.Close()
	begin()
	if err := k.prompt(ctx, id); err != nil {
		return err
	}
	for {
		page, err := tail.Next(ctx, 100)
		if err != nil {
			return err
		}
		for _, event := range page.Events {
			if ended, err := completed(event); ended || err != nil {
				return err
			}
		}
	}
}

func (k *kernel) prompt(ctx context.Context, id string) error {
	_, err := k.sessions.Admit(ctx, session.System(), session.PromptRequest{Session: id, Prompt: session.Prompt{Text: "hello"}})
	return err
}

// head answers the last sequence of a session, as the API does with every page.
func (k *kernel) head(ctx context.Context, id string) (int64, error) {
	head, err := store.ReadHead(ctx, k.log, id)
	return head.Seq, err
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

// noOutputs keeps nothing: there are no tools.
type noOutputs struct{}

func (noOutputs) Keep(context.Context, string, string) (string, error) {
	return "", errors.New("the bench keeps no outputs")
}
