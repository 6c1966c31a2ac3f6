package bridge

import (
	"context"
	"errors"
	"log"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/plugins/builtin"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/tests/warm"
)

// compiled holds what the engine compiled, so that a builtin is compiled once.
var compiled string

func TestMain(m *testing.M) {
	var err error
	if compiled, err = os.MkdirTemp("", "plinth-bridge-"); err != nil {
		log.Fatal(err)
	}
	if err = warm.Into(compiled); err != nil {
		log.Fatal(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(compiled); err != nil {
			log.Fatal(err)
		}
		os.Exit(code)
	}))
}

// logged gathers what a plugin logs, as "level: line".
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) add(level, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, level+": "+line)
}

func (l *logged) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// load brings a module to life in the real engine, as a plugin acme/test.
func load(t testing.TB, spec wasm.Spec) (*Plugin, *logged) {
	t.Helper()
	engine, err := wasm.New(wasm.Options{Contract: Contract(), Refuse: Refuse, CacheDir: compiled})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	spec.Name, spec.CheckInit = "acme/test", CheckInit
	if spec.Init == nil {
		if spec.Init, err = Init(spec.Name, nil); err != nil {
			t.Fatal(err)
		}
	}
	module, err := engine.Load(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	lines := new(logged)
	return &Plugin{ID: spec.Name, Revision: "r1", Caller: NewCaller(module), Log: lines.add}, lines
}

func loadGuest(t testing.TB, guest *bridgetest.Guest, entries ...string) (*Plugin, *logged) {
	t.Helper()
	return load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: entries})
}

// loadBuiltin loads a committed module as the host does.
func loadBuiltin(t testing.TB, id string, entries ...string) *Plugin {
	t.Helper()
	for _, one := range builtin.All() {
		if one.ID == id {
			plugin, _ := load(t, wasm.Spec{Wasm: one.Wasm, Entries: entries, Builtin: true, Limits: wasm.Limits{MemoryMiB: 128}})
			plugin.Builtin = true
			return plugin
		}
	}
	t.Fatalf("there is no builtin %s", id)
	return nil
}

// clock stands still, one hour east of UTC.
type clock struct{}

func (clock) Now() time.Time {
	return time.Date(2026, 11, 20, 9, 30, 0, 0, time.FixedZone("", 3600))
}

// toolHost decides by rules and answers what would be asked.
type toolHost struct {
	rules  []session.Rule
	answer error             // to who asks; nil allows
	shown  func(text string) // gets the progress

	mu    sync.Mutex
	asked []session.PermissionRequest
}

func (h *toolHost) Authorise(_ context.Context, request session.PermissionRequest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch effect, resource := session.Decide(h.rules, nil, request.Action, request.Resources); effect {
	case session.Deny:
		return &session.DeniedError{Action: request.Action, Resource: resource}
	case session.Ask:
		h.asked = append(h.asked, request)
		return h.answer
	}
	return nil
}

func (h *toolHost) Effects(_ context.Context, action string, resources []string) ([]session.Effect, error) {
	effects := make([]session.Effect, len(resources))
	for i := range resources {
		effects[i], _ = session.Decide(h.rules, nil, action, resources[i:i+1])
	}
	return effects, nil
}

func (h *toolHost) Progress(text string) { h.shown(text) }

// anything is a schema that takes every object.
const anything = `{"type":"object"}`

func newTool(t testing.TB, plugin *Plugin, definition session.ToolDefinition, reach *Reach) *Tool {
	t.Helper()
	definition.Name = "probe"
	if definition.Input == nil {
		definition.Input = []byte(anything)
	}
	if reach == nil {
		reach = &Reach{Services: &Services{Clock: clock{}}}
	}
	tool, err := NewTool(plugin, definition, reach)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// execute calls a tool with {} and everything allowed, where the call says nothing
// else.
func execute(t testing.TB, tool *Tool, call session.ToolCall) (session.ToolOutput, error) {
	t.Helper()
	if call.Host == nil {
		call.Host = &toolHost{rules: []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}}
	}
	if call.Input == nil {
		call.Input = []byte("{}")
	}
	return tool.Execute(t.Context(), call)
}

// probe executes the only tool of a guest.
func probe(t testing.TB, guest *bridgetest.Guest, call session.ToolCall) (output session.ToolOutput, log []string, err error) {
	t.Helper()
	plugin, lines := loadGuest(t, guest, abi.ExportTool)
	output, err = execute(t, newTool(t, plugin, session.ToolDefinition{}, nil), call)
	return output, lines.all(), err
}

// wantTold demands a failure that the model is told, of a kind and with a text.
func wantTold(t testing.TB, err error, kind abi.Kind, message string) {
	t.Helper()
	var told *session.ToolError
	if !errors.As(err, &told) || told.Kind != string(kind) || told.Message != message {
		t.Errorf("got  %#v\nwant %s: %s", err, kind, message)
	}
}
