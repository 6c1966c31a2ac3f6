package plugin

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock stands still.
type clock struct{}

func (clock) Now() time.Time { return time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC) }

// put writes files below a folder; a name that ends in a slash is a folder.
func put(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// manifest is a manifest of an id with more tables.
func manifest(id, tables string) string {
	return "schema = 1\nid = \"" + id + "\"\nversion = \"1.0.0\"\ndescription = \"A test\"\n" + tables
}

// toolTable declares one tool.
func toolTable(name string) string {
	return "[[tool]]\nname = \"" + name + "\"\ndescription = \"d\"\ninput = '{\"type\":\"object\"}'\npermission = \"by-operation\"\n"
}

// saying is a guest whose tool answers a text.
func saying(text string) *bridgetest.Guest {
	return bridgetest.New().Answers(abi.ExportTool, `{"ok":{"content":[{"type":"text","text":"`+text+`"}]}}`)
}

// packed is a candidate of a guest.
func packed(t *testing.T, guest *bridgetest.Guest, manifest string) Candidate {
	t.Helper()
	candidate, err := Packed("test.wasm", guest.Packed(manifest), false)
	if err != nil {
		t.Fatal(err)
	}
	return candidate
}

// world is a manager over empty registries.
type world struct {
	*Manager
	kinds      session.Kinds
	registries *registry.Registries
}

func newWorld(t *testing.T, options Options) world {
	t.Helper()
	w := world{kinds: session.NewKinds()}
	w.registries = w.kinds.Registries()
	options.Registries, options.Kinds, options.Services = w.registries, w.kinds, &bridge.Services{Clock: clock{}}
	if options.Logger == nil {
		options.Logger = hclog.NewNullLogger()
	}
	var err error
	if w.Manager, err = NewManager(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// names lists what is registered: "tool weather", with its scope.
func (w world) names() []string {
	pin := w.registries.Pin("")
	defer pin.Release()
	var all []string
	for _, entry := range registry.All(pin, w.kinds.Tools) {
		all = append(all, "tool "+entry.Name+" of "+entry.Scope)
	}
	for _, entry := range registry.All(pin, w.kinds.Contexts) {
		all = append(all, "context "+entry.Name+" of "+entry.Scope)
	}
	for _, entry := range registry.All(pin, w.kinds.Providers) {
		all = append(all, "provider "+entry.Name+" of "+entry.Scope)
	}
	for _, entry := range registry.All(pin, w.kinds.Transforms) {
		all = append(all, "transform "+entry.Name+" of "+entry.Scope)
	}
	return all
}

// call executes a registered tool and answers its text.
func (w world) call(t *testing.T, name string) (string, error) {
	t.Helper()
	pin := w.registries.Pin("")
	defer pin.Release()
	entry, ok := registry.Lookup(pin, w.kinds.Tools, name)
	if !ok {
		t.Fatalf("there is no tool %s", name)
	}
	output, err := entry.Value.Execute(t.Context(), session.ToolCall{Input: []byte("{}"), Host: struct{ session.ToolHost }{}})
	if err != nil {
		return "", err
	}
	return output.Content[0].Text, nil
}
