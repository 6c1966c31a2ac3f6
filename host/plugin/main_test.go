package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/depot"
	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
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

// world is a manager over a store and empty registries.
type world struct {
	*Manager
	t          *testing.T
	options    Options
	kinds      session.Kinds
	registries *registry.Registries
	log        *sqlite.Store
	dir        string
	closed     bool
}

// newWorld makes a manager that is not started.
func newWorld(t *testing.T, options Options) *world {
	t.Helper()
	w := &world{t: t, options: options, dir: t.TempDir()}
	w.open()
	t.Cleanup(w.shut)
	return w
}

// open makes the kernel's parts and the manager over the world's folder.
func (w *world) open() {
	w.t.Helper()
	w.log, w.kinds, w.closed = sessiontest.OpenStore(w.t, w.dir), session.NewKinds(), false
	w.registries = w.kinds.Registries()
	kept, err := depot.Open(filepath.Join(w.dir, "plugins"))
	if err != nil {
		w.t.Fatal(err)
	}
	options := &w.options
	options.Registries, options.Kinds, options.Depot = w.registries, w.kinds, kept
	options.Services = &bridge.Services{Clock: clock{}, Store: bridge.NewPluginStore(w.log.KV())}
	options.Ledger = session.NewPlugins(w.log, session.Encoder{IDs: session.NewIDs(session.SystemClock{}), Clock: session.SystemClock{}})
	if options.Logger == nil {
		options.Logger = hclog.NewNullLogger()
	}
	if w.Manager, err = NewManager(w.options); err != nil {
		w.t.Fatal(err)
	}
}

// shut closes the manager, and then its store.
func (w *world) shut() {
	if w.closed {
		return
	}
	w.closed = true
	if err := errors.Join(w.Close(), w.log.Close()); err != nil {
		w.t.Error(err)
	}
}

// start starts the manager and waits until what it found has been tried.
func (w *world) start(builtins []Candidate, folders ...string) {
	w.t.Helper()
	if err := w.Start(w.t.Context(), builtins, folders, nil); err != nil {
		w.t.Fatal(err)
	}
	<-w.ready
}

// restart ends the host and starts another over the same folder.
func (w *world) restart(builtins []Candidate, folders ...string) {
	w.t.Helper()
	w.shut()
	w.open()
	w.start(builtins, folders...)
}

var ann = session.Origin{Actor: "local:1000"}

// add has somebody upload a plugin and grant it all that it asks for.
func (w *world) add(candidate Candidate) error {
	grants := append([]string{}, trust.Keys(candidate.Manifest)...)
	_, err := w.Offer(w.t.Context(), Offer{Candidate: candidate, Source: SourceUpload, By: ann, Grants: grants})
	return err
}

// must is add of one that comes to serve. It answers the revision.
func (w *world) must(candidate Candidate) string {
	w.t.Helper()
	if err := w.add(candidate); err != nil {
		w.t.Fatal(err)
	}
	return w.show(candidate.Manifest.ID).Revision
}

// show is the plugin on the global level.
func (w *world) show(id string) Status {
	w.t.Helper()
	status, err := w.Show(Ref{ID: id})
	if err != nil {
		w.t.Fatal(err)
	}
	return status
}

// history is what the log says, one line an event, "activated acme/a".
func (w *world) history() []string {
	w.t.Helper()
	page, err := w.log.Read(w.t.Context(), session.Host, -1, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for _, event := range page.Events {
		var of struct{ Plugin, Root string }
		if err := json.Unmarshal(event.Data, &of); err != nil {
			w.t.Fatal(err)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(event.Type, "host.plugin."), "host.folder.")
		lines = append(lines, name+" "+of.Plugin+of.Root)
	}
	return lines
}

// last is the data of the last event of a type.
func (w *world) last(eventType string) (data map[string]any) {
	w.t.Helper()
	page, err := w.log.Read(w.t.Context(), session.Host, -1, 10_000)
	for _, event := range page.Events {
		if err == nil && event.Type == eventType {
			data = nil
			err = json.Unmarshal(event.Data, &data)
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

// eventually waits until something holds that follows from an event that has come.
func (w *world) eventually(holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); runtime.Gosched() {
		if time.Now().After(end) {
			w.t.Fatalf("it does not come to hold; the log has\n%s", strings.Join(w.history(), "\n"))
		}
	}
}

// await waits until the log has the line for the n-th time, and, where it changes what
// serves, until it does.
func (w *world) await(line string, n int) {
	w.t.Helper()
	tail := store.NewTail(w.log, session.Host, -1)
	defer tail.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for {
		found := 0
		for _, one := range w.history() {
			if one == line {
				found++
			}
		}
		if found >= n {
			w.follows(line)
			return
		}
		if _, err := tail.Next(ctx, 1); err != nil {
			w.t.Fatalf("waiting for %q number %d: %v; so far\n%s", line, n, err, strings.Join(w.history(), "\n"))
		}
	}
}

func (w *world) follows(line string) {
	event, id, _ := strings.Cut(line, " ")
	if !slices.Contains([]string{"activated", "rolled_back", "quarantined", "held", "removed"}, event) {
		return
	}
	for _, s := range w.all() {
		if s.id != id {
			continue
		}
		if err := s.take(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		s.yield()
	}
}

// names lists what is registered: "tool weather", with its scope.
func (w *world) names() []string {
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
func (w *world) call(t *testing.T, name string) (string, error) {
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
