// Package sessiontest builds a whole kernel for tests: a real store in a temporary
// folder, a scripted provider, tools and context sources of plain Go, and golden
// event streams as text.
package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/session/schema"
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
	Agents      *session.Agents
	Outputs     *Outputs
	Tasks       *session.Tasks
}

// Options change what a World is made of.
type Options struct {
	Dir   string // a temporary folder when empty
	Rules []session.Rule
	// Sessions without its defaults.
	Sessions session.SessionOptions
	// Config of the runner; runner.DefaultConfig without retries when zero.
	Config runner.Config
	// Agents beside, or in the place of, the default ones, which have no system text here.
	Agents []session.Agent
	// Local answers the agents that places add; none by default.
	Local session.LocalAgents
	// Skills are those that agents may use; none by default.
	Skills session.SkillFinder
	// Models says what is known of models; nothing by default.
	Models Models
	// Snapshots names states of the files; nobody by default.
	Snapshots session.Snapshots
	// Views follow the log; none by default.
	Views []sqlite.View
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
	w.Log = OpenStore(t, w.Dir, options.Views...)
	w.Encoder = session.Encoder{IDs: session.NewIDs(Clock{}), Clock: Clock{}}
	w.Registries = w.Kinds.Registries()
	agents, err := session.NewAgents(agentsWith(options.Agents), session.DefaultAgent)
	if err != nil {
		t.Fatal(err)
	}
	if options.Local != nil {
		agents = agents.WithLocal(options.Local)
	}
	w.Agents, w.Outputs = agents, &Outputs{}
	wake := func(id string, seq int64) { w.Coordinator.Wake(id, seq) }
	w.Permissions = session.NewPermissions(w.Log, w.Encoder, options.Rules, w.Agents, wake, hclog.NewNullLogger())
	if options.Config.MaxParallelTools == 0 {
		options.Config = runner.DefaultConfig()
		options.Config.Retries = 0
	}
	w.Coordinator = session.NewCoordinator(func(ctx context.Context, work *session.Work) error { return w.Runner.Drain(ctx, work) }, hclog.NewNullLogger())
	options.Sessions.Snapshots = options.Snapshots
	options.Sessions.Defaults = session.Defaults{Agent: "build", Model: model}
	w.Sessions = session.NewSessions(w.Log, w.Encoder, places{}, w.Coordinator, options.Sessions)
	w.Tasks = session.NewTasks(w.Log, w.Encoder, w.Sessions, w.Coordinator, w.Agents, hclog.NewNullLogger())
	w.Runner = runner.New(runner.Services{Log: w.Log, Encoder: w.Encoder, Kinds: w.Kinds, Registries: w.Registries,
		Permissions: w.Permissions, Agents: w.Agents, Models: options.Models, Schemas: &schema.Cache{}, Blobs: w.Log.Blobs(), Live: w.Live, Outputs: w.Outputs,
		Snapshots: options.Snapshots, Tasks: w.Tasks, Todos: session.NewTodoLists(w.Log, w.Encoder), Skills: options.Skills, Logger: hclog.NewNullLogger()}, options.Config)
	w.Contribute("core/scripted", w.Kinds.Providers.Contribute("scripted", 0, w.Provider))
	t.Cleanup(w.Close)
	return w
}

func agentsWith(others []session.Agent) []session.Agent {
	all := session.DefaultAgents()
	for i := range all {
		all[i].System, all[i].Reminder, all[i].Leaving = "", "", ""
	}
	for _, other := range others {
		all = slices.DeleteFunc(all, func(agent session.Agent) bool { return agent.Name == other.Name })
	}
	return append(all, others...)
}

// OpenStore opens a store with the kernel's tables and the views.
func OpenStore(t testing.TB, dir string, views ...sqlite.View) *sqlite.Store {
	t.Helper()
	kernel, err := fs.Sub(session.Migrations, "migrations/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	log, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Projections: []store.Projection{session.Projection{}},
		Views: views, Migrations: []sqlite.Migration{{Name: "kernel", FS: kernel}}})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// Close stops the drains and closes the store.
func (w *World) Close() {
	w.Coordinator.Close(0)
	w.Tasks.Close()
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

// Run resumes the session, waits until nothing works on it, and holds it to having
// completed its last activity.
func (w *World) Run(id string) {
	w.T.Helper()
	if _, err := w.Sessions.Resume(w.T.Context(), session.System(), id); err != nil {
		w.T.Fatal(err)
	}
	if err := w.Coordinator.Settle(w.T.Context(), id); err != nil {
		w.T.Fatal(err)
	}
	ended, err := w.lastEnd(id)
	if err != nil {
		w.T.Fatal(err)
	}
	if ended.Outcome != session.Completed {
		w.T.Fatalf("the last activity ended with %+v", ended)
	}
}

func (w *World) lastEnd(id string) (last session.ActivityEnded, err error) {
	page, err := w.Log.Read(w.T.Context(), id, -1, 10_000)
	for _, event := range page.Events {
		payload, err := session.Decode(event)
		if err != nil {
			return last, err
		}
		if ended, ok := payload.(session.ActivityEnded); ok {
			last = ended
		}
	}
	return last, err
}

// patience bounds the wait for an event that does not come. A whole activity under the
// race detector, on a machine that does much else, takes tens of seconds.
const patience = 2 * time.Minute

// Await reads the session's events from seq 0 on until one is of the type, the
// n-th time, and answers all up to it.
func (w *World) Await(id, eventType string, n int) []store.Event {
	w.T.Helper()
	tail := store.NewTail(w.Log, id, -1)
	defer tail.Close()
	ctx, cancel := context.WithTimeout(w.T.Context(), patience)
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

// Settled waits for the n-th end of an activity, and then until nobody works on the
// session: whoever does still takes what comes a moment after the event.
func (w *World) Settled(id string, n int) []store.Event {
	w.T.Helper()
	all := w.Await(id, session.ActivityEnded{}.EventType(), n)
	ctx, cancel := context.WithTimeout(w.T.Context(), patience)
	defer cancel()
	if err := w.Coordinator.Settle(ctx, id); err != nil {
		w.T.Fatalf("waiting until nobody works on %s: %v", id, err)
	}
	return all
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

// Models is what is known of models, by their text "provider/model:variant". One that is
// not listed may be used and nothing is known of it; one with an Err may not.
type Models map[string]Model

// Model is one entry.
type Model struct {
	session.ModelInfo
	Err *session.ModelError
}

// Model answers the entry.
func (m Models) Model(_ context.Context, ref session.ModelRef) (session.ModelInfo, error) {
	entry, ok := m[ref.String()]
	switch {
	case !ok:
		return session.ModelInfo{Ref: ref}, nil
	case entry.Err != nil:
		return session.ModelInfo{}, entry.Err
	}
	return entry.ModelInfo, nil
}

// Outputs keeps texts in memory under made-up paths.
type Outputs struct {
	mu    sync.Mutex
	Err   error // what Keep fails with
	Texts map[string]string
}

// Keep keeps the text.
func (o *Outputs) Keep(_ context.Context, id, text string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.Err != nil {
		return "", o.Err
	}
	if o.Texts == nil {
		o.Texts = map[string]string{}
	}
	path := fmt.Sprintf("/outputs/%s/%d", id, len(o.Texts)+1)
	o.Texts[path] = text
	return path, nil
}

// Text answers what was kept under a path.
func (o *Outputs) Text(path string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Texts[path]
}
