// Package sessiontest builds a whole kernel for tests: a real store in a temporary
// folder, a scripted provider, tools and context sources of plain Go, and golden
// event streams as text.
package sessiontest

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// World is one kernel over one store.
type World struct {
	T           testing.TB
	Dir         string
	Log         *sqlite.Store
	Encoder     session.Encoder
	Kinds       session.Kinds
	Registries  *registry.Registries
	Permissions *session.Permissions
	Live        *session.Live
	Runner      *runner.Runner
	Coordinator *session.Coordinator
	Sessions    *session.Sessions
	Provider    *Provider
}

// Options change what a World is made of.
type Options struct {
	Dir   string // a temporary folder when empty
	Rules []session.Rule
	// Sessions without its defaults.
	Sessions session.SessionOptions
	// Config of the runner; runner.DefaultConfig when zero.
	Config runner.Config
}

// model is the model of every session that names none: the scripted provider.
var model = session.ModelRef{Provider: "scripted", Model: "m1"}

// New builds a World that is closed with the test.
func New(t testing.TB, options Options) *World {
	t.Helper()
	w := &World{T: t, Dir: options.Dir, Provider: &Provider{}, Kinds: session.NewKinds(), Live: session.NewLive()}
	if w.Dir == "" {
		w.Dir = t.TempDir()
	}
	w.Log = OpenStore(t, w.Dir)
	w.Encoder = session.Encoder{IDs: session.NewIDs(Clock{}), Clock: Clock{}}
	w.Registries = w.Kinds.Registries()
	w.Permissions = session.NewPermissions(w.Log, w.Encoder, options.Rules)
	if options.Config.MaxParallelTools == 0 {
		options.Config = runner.DefaultConfig()
	}
	w.Runner = runner.New(runner.Services{Log: w.Log, Encoder: w.Encoder, Kinds: w.Kinds, Registries: w.Registries,
		Permissions: w.Permissions, Live: w.Live, Logger: hclog.NewNullLogger()}, options.Config)
	w.Coordinator = session.NewCoordinator(w.drain, hclog.NewNullLogger())
	options.Sessions.Defaults = session.Defaults{Agent: "build", Model: model}
	w.Sessions = session.NewSessions(w.Log, w.Encoder, places{}, w.Coordinator, options.Sessions)
	w.Contribute("core/scripted", w.Kinds.Providers.Contribute("scripted", 0, w.Provider))
	t.Cleanup(w.Close)
	return w
}

// drain forces the drain that serves a resume.
func (w *World) drain(ctx context.Context, id string, force bool) error {
	current, err := w.Sessions.Get(ctx, id)
	if err != nil {
		return err
	}
	return w.Runner.Drain(ctx, id, force || current.Resume >= 0)
}

// OpenStore opens a store with the kernel's tables.
func OpenStore(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	kernel, err := fs.Sub(session.Migrations, "migrations/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	log, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Projections: []store.Projection{session.Projection{}},
		Migrations: []sqlite.Migration{{Name: "kernel", FS: kernel}}})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// Close stops the drains and closes the store.
func (w *World) Close() {
	w.Coordinator.Close()
	if err := w.Log.Close(); err != nil {
		w.T.Error(err)
	}
}

// Contribute opens a builtin global scope, or replaces it.
func (w *World) Contribute(id string, contributions ...registry.Contribution) {
	w.T.Helper()
	scope := registry.Scope{ID: id, Builtin: true, Revision: "r1", Contributions: contributions}
	if _, err := w.Registries.Replace(scope); err != nil {
		w.T.Fatal(err)
	}
}

// Create makes a session.
func (w *World) Create() string {
	w.T.Helper()
	s, created, err := w.Sessions.Create(w.T.Context(), session.System(), session.CreateRequest{Directory: "/work"})
	if err != nil || !created {
		w.T.Fatalf("create: %v, created %v", err, created)
	}
	return s.ID
}

// Prompt admits a prompt and wakes the session.
func (w *World) Prompt(id, text string, delivery session.Delivery) session.Input {
	w.T.Helper()
	return w.admit(session.PromptRequest{Session: id, Prompt: session.Prompt{Text: text}, Delivery: delivery})
}

// Admit admits a prompt without waking.
func (w *World) Admit(id, text string, delivery session.Delivery) session.Input {
	w.T.Helper()
	return w.admit(session.PromptRequest{Session: id, Prompt: session.Prompt{Text: text}, Delivery: delivery, AdmitOnly: true})
}

func (w *World) admit(request session.PromptRequest) session.Input {
	w.T.Helper()
	input, err := w.Sessions.Admit(w.T.Context(), session.System(), request)
	if err != nil {
		w.T.Fatal(err)
	}
	return input
}

// Await reads the session's events from seq 0 on until one is of the type, the
// n-th time, and answers all up to it.
func (w *World) Await(id, eventType string, n int) []store.Event {
	w.T.Helper()
	tail := store.NewTail(w.Log, id, -1)
	defer tail.Close()
	ctx, cancel := context.WithTimeout(w.T.Context(), 20*time.Second)
	defer cancel()
	var all []store.Event
	for {
		page, err := tail.Next(ctx, 100)
		if err != nil {
			w.T.Fatalf("waiting for %s number %d of %s: %v; so far:\n%s", eventType, n, id, err, Text(all))
		}
		for _, event := range page.Events {
			all = append(all, event)
			if event.Type == eventType {
				if n--; n == 0 {
					return all
				}
			}
		}
	}
}

// Settled waits for the n-th end of an activity.
func (w *World) Settled(id string, n int) []store.Event {
	w.T.Helper()
	return w.Await(id, session.ActivityEnded{}.EventType(), n)
}

// Messages answers the transcript.
func (w *World) Messages(id string) []session.Message {
	w.T.Helper()
	messages, err := w.Sessions.Messages(w.T.Context(), id, -1, 10_000)
	if err != nil {
		w.T.Fatal(err)
	}
	return messages
}

// Clock stands still.
type Clock struct{}

// Now answers the same instant always.
func (Clock) Now() time.Time { return time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC) }

type places struct{}

func (places) Resolve(_ context.Context, directory string) (session.Location, error) {
	if directory == "" {
		return session.Location{}, errors.Join(session.ErrInvalid, errors.New("no directory"))
	}
	return session.Location{Directory: directory, Root: directory}, nil
}
