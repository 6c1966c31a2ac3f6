package model

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/runner"
	"github.com/plinthhost/plinth/session/schema"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// host is one process: a kernel over a folder, until it is closed or dies.
type host struct {
	t           testing.TB
	world       *world
	dir         string
	log         *ledger
	encoder     session.Encoder
	kinds       session.Kinds
	registries  *registry.Registries
	permissions *session.Permissions
	coordinator *session.Coordinator
	sessions    *session.Sessions
	tasks       *session.Tasks
	runner      *runner.Runner
	faults      *faults
	keeper      *session.Keeper
	plugged     sync.Map    // plugins that are open, by name
	dead        atomic.Bool // what it does from here on did not happen
}

// faults collects what a host reports that it should never have to.
type faults struct {
	mu    sync.Mutex
	lines []string
}

// Write takes a line of the host's log.
func (f *faults) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if text := string(line); !strings.Contains(text, "tool failed") { // some do
		f.lines = append(f.lines, text)
	}
	return len(line), nil
}

func (f *faults) first() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.lines) == 0 {
		return nil
	}
	return fmt.Errorf("the host reports: %s", f.lines[0])
}

// ruleSets are what operators and sessions say.
var ruleSets = [][]session.Rule{
	nil,
	{{Action: "echo", Resource: "*", Effect: session.Ask}, {Action: "slow", Resource: "*", Effect: session.Ask}},
	{{Action: "*", Resource: "*", Effect: session.Ask}},
	{{Action: "echo", Resource: "*", Effect: session.Deny}, {Action: "late", Resource: "*", Effect: session.Ask}},
	{{Action: "form", Resource: "*", Effect: session.Ask}, {Action: "look", Resource: "*", Effect: session.Ask}, {Action: "task", Resource: "*", Effect: session.Ask}},
}

var policies = []session.RecoveryPolicy{session.RecoverAsk, session.RecoverResume, session.RecoverOff}

// scripted is the provider that there is, gone one that there is not.
const (
	scripted = "scripted"
	gone     = "gone"
)

// maxTurns is how many turns an activity may take.
const maxTurns = 8

// Limits on the inboxes, low enough to be met.
var limits = session.Limits{Pending: 6, Steers: 4}

// newHost opens a host over a folder. It does nothing until it is started.
func newHost(w *world, dir string) *host {
	h := &host{t: w.t, world: w, dir: dir, kinds: session.NewKinds(), faults: &faults{}}
	h.log = &ledger{Store: sessiontest.OpenStore(w.t, dir), told: map[string]*told{}}
	logger := hclog.New(&hclog.LoggerOptions{Output: h.faults, Level: hclog.Error})
	agents, err := session.NewAgents(agents(), session.DefaultAgent)
	if err != nil {
		w.t.Fatal(err)
	}
	h.encoder = session.Encoder{IDs: session.NewIDs(clock{}), Clock: clock{}}
	h.registries = h.kinds.Registries()
	wake := func(id string, seq int64) { h.coordinator.Wake(id, seq) }
	h.permissions = session.NewPermissions(h.log, h.encoder, ruleSets[w.course.Rules], agents, wake, logger)
	h.coordinator = session.NewCoordinator(func(ctx context.Context, work *session.Work) error { return h.runner.Drain(ctx, work) }, logger)
	h.sessions = session.NewSessions(h.log, h.encoder, places{}, h.coordinator, session.SessionOptions{
		Defaults: session.Defaults{Agent: session.DefaultAgent, Model: session.ModelRef{Provider: scripted, Model: "m1"}}, Agents: agents, Limits: limits})
	h.tasks = session.NewTasks(h.log, h.encoder, h.sessions, h.coordinator, agents, logger)
	config := runner.DefaultConfig()
	config.MaxTurns, config.Retries, config.MaxParallelTools, config.Recoveries = maxTurns, 1, w.course.Parallel, 2
	config.Recovery = policies[w.course.Recovery]
	config.Compaction.Keep = 40
	models := sessiontest.Models{}
	for i, window := range windows[w.course.Window] {
		ref := session.ModelRef{Provider: scripted, Model: fmt.Sprintf("m%d", i+1)}
		models[ref.String()] = sessiontest.Model{ModelInfo: session.ModelInfo{Ref: ref, Context: window}}
	}
	h.runner = runner.New(runner.Services{Log: h.log, Encoder: h.encoder, Kinds: h.kinds, Registries: h.registries, Permissions: h.permissions,
		Agents: agents, Models: models, Schemas: &schema.Cache{}, Live: session.NewLive(), Outputs: &sessiontest.Outputs{},
		Tasks: h.tasks, Todos: session.NewTodoLists(h.log, h.encoder), Logger: logger}, config)
	h.keeper = session.NewKeeper(h.log, h.sessions, session.KeeperOptions{Retention: session.Retention{Keep: session.RetainAll}, Clock: clock{}}, logger)
	for _, plugin := range plugins {
		h.plug(plugin)
	}
	return h
}

func agents() []session.Agent {
	all := session.DefaultAgents()
	for i := range all {
		all[i].System = ""
	}
	return all
}

// windows are those of the models m1 and m2, in tokens; 0 is unknown.
var windows = [][2]int64{{0, 0}, {0, 500}, {900, 0}, {400, 1500}, {650, 350}}

// clock is that of the bubble.
type clock struct{}

// Now answers its time.
func (clock) Now() time.Time { return time.Now() }

type places struct{}

func (places) Resolve(_ context.Context, directory string) (session.Location, error) {
	return session.Location{Directory: directory, Root: directory}, nil
}

// plugins are the scopes that a host opens, as Go values.
var plugins = []string{"core/base", "core/slow", "third/extra", "core/scripted", "core/weather", "third/here", "third/sky"}

// plug opens a plugin, or replaces it by the next revision.
func (h *host) plug(plugin string) {
	scope := registry.Scope{ID: plugin, Builtin: strings.HasPrefix(plugin, "core/"), Revision: h.world.revision(plugin)}
	switch plugin {
	case "core/base":
		scope.Contributions = h.tools("echo", "look", "bad", "boom", "task")
	case "core/slow":
		scope.Contributions = h.tools("slow", "quiz", "form", "late")
	case "third/extra":
		scope.Contributions = h.tools("extra")
	case "third/here":
		scope.Location, scope.Contributions = elsewhere, h.tools("here")
	case "core/scripted":
		scope.Contributions = []registry.Contribution{h.kinds.Providers.Contribute(scripted, 0, session.Provider(script{h}))}
	case "core/weather":
		scope.Contributions = []registry.Contribution{h.kinds.Contexts.Contribute("weather", 0, h.source("weather"))}
	case "third/sky":
		scope.Contributions = append(h.tools("gaze"), h.kinds.Contexts.Contribute("sky", 1, h.source("moon", "star")))
	}
	h.plugged.Store(plugin, true)
	if _, err := h.registries.Replace(scope); err != nil {
		h.t.Fatal(err)
	}
}

// unplug removes a plugin.
func (h *host) unplug(plugin string) {
	location := ""
	if plugin == "third/here" {
		location = elsewhere
	}
	h.registries.Remove(plugin, location)
	h.plugged.Delete(plugin)
}

// start goes on with what the folder holds, as the program does.
func (h *host) start(ctx context.Context) error {
	if err := h.sessions.RemoveOrphans(ctx); err != nil {
		return err
	}
	var running, woken []string
	err := h.log.View(ctx, func(tx store.Tx) (err error) {
		if running, err = session.LoadRunning(ctx, tx); err != nil {
			return err
		}
		woken, err = session.LoadWoken(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range running {
		again, err := h.runner.Recover(ctx, id)
		if err != nil {
			return fmt.Errorf("recover %s: %w", id, err)
		}
		if again {
			woken = append(woken, id)
		}
	}
	if err := h.permissions.Start(ctx); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if err := h.tasks.Start(ctx); err != nil {
		return fmt.Errorf("go on with tasks: %w", err)
	}
	for _, id := range woken {
		h.coordinator.Wake(id, 0)
	}
	return nil
}

// close ends the host in order.
func (h *host) close(grace time.Duration) {
	h.coordinator.Close(grace)
	h.tasks.Close()
	h.keeper.Close()
	if err := h.log.Close(); err != nil {
		h.t.Error(err)
	}
}
