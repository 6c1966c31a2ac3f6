package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/tests/chat"
)

// garden is a host with a watched folder of small plugins, each with a tool of its own
// name, and a model that calls all of these tools that it is offered.
type garden struct {
	*world
	model   *chat.Server
	host    *host
	planted map[string]string // what is in the folder: versions by name
	// A model that is asked to "[stop]" says so, and answers when it may.
	stopped, goOn chan struct{}
}

// plants are the names of the plugins.
func plants() []string { return []string{"one", "two", "three"} }

func newGarden(t *testing.T, more string) *garden {
	t.Helper()
	g := &garden{world: newWorld(t), planted: map[string]string{}, stopped: make(chan struct{}), goOn: make(chan struct{})}
	var err error
	if g.model, err = chat.Start(g.answer, chat.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.model.Close() })
	g.write("plugins/read.me", "Plugins come here.")
	g.write("config/plinth/config.toml", configuration(g.model)+fmt.Sprintf(`[plugins]
folders = [%q]
development = true
[runner]
shutdown_grace_ms = 200
retry_attempts = 0
[permissions]
rules = [{ action = "*", resource = "*", effect = "allow" }]
%s`, filepath.Join(g.folder, "plugins"), more))
	g.host = g.serve()
	return g
}

func (g *garden) answer(request chat.Request) chat.Turn {
	last := request.Messages[len(request.Messages)-1]
	turn := chat.Turn{Text: "Done.", Deltas: 1}
	if last.Role != "user" {
		return turn
	}
	for _, name := range plants() {
		if slices.Contains(request.Tools, name) {
			turn.Calls = append(turn.Calls, chat.ToolCall{ID: fmt.Sprintf("call-%s-%d", name, len(request.Messages)), Name: name, Arguments: "{}"})
		}
	}
	if strings.Contains(last.Content, "[stop]") {
		g.stopped <- struct{}{}
		<-g.goOn
	}
	return turn
}

// versioned is a plugin whose tool answers name and version.
func versioned(name, version string) []byte {
	return bridgetest.New().Answers(abi.ExportTool, fmt.Sprintf(`{"ok":{"content":[{"type":"text","text":"%s %s"}]}}`, name, version)).Packed(declared(name, version, ""))
}

// declared is the manifest of a plugin with a tool, and more.
func declared(name, version, more string) string {
	return fmt.Sprintf("schema = 1\nid = \"test/%s\"\nversion = %q\ndescription = \"A test\"\n[[tool]]\nname = %q\ndescription = \"Answers\"\n"+
		"input = '{\"type\":\"object\"}'\npermission = \"by-operation\"\n%s", name, version, name, more)
}

// plant puts a version into the folder.
func (g *garden) plant(name, version string, packed []byte) {
	g.t.Helper()
	g.write("plugins/"+name+".wasm", string(packed))
	g.planted[name] = version
}

// uproot takes a plugin out of the folder.
func (g *garden) uproot(name string) {
	g.t.Helper()
	if err := os.Remove(filepath.Join(g.folder, "plugins", name+".wasm")); err != nil {
		g.t.Fatal(err)
	}
	delete(g.planted, name)
}

func (g *garden) within() context.Context {
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	g.t.Cleanup(cancel)
	return ctx
}

// say sends a prompt and answers what the tools told the model in its work, by their order.
func (g *garden) say(id, text string) (told []string) {
	g.t.Helper()
	told, err := g.ask(g.within(), id, text)
	if err != nil {
		g.t.Fatalf("%s: %v\n%s", text, err, g.host.notes)
	}
	return told
}

func (g *garden) ask(ctx context.Context, id, text string) (told []string, err error) {
	answer, err := g.host.client.PromptAndWait(ctx, id, protocol.Prompt{PromptBody: protocol.PromptBody{Text: text}})
	if err == nil && (answer.Result == nil || answer.Result.Outcome != protocol.OutcomeCompleted) {
		err = fmt.Errorf("the work ends with %+v", answer.Result)
	}
	if err != nil {
		return nil, err
	}
	for _, message := range slices.Backward(g.sent().Messages) {
		if message.Role == "user" {
			break
		}
		if message.Role == "tool" {
			told = append(told, message.Content)
		}
	}
	slices.Reverse(told)
	return told, nil
}

// sent is the last request to the model.
func (g *garden) sent() chat.Request {
	requests := g.model.Requests()
	return requests[len(requests)-1]
}

// row is a plugin as the kernel's tables have it.
type row struct {
	State, Revision, Version, Error string
}

// ledger is what the log says of the plugins of the garden.
type ledger struct {
	plugins map[string]row    // by the id
	folded  map[string]string // revisions that serve, by the id, from the events
	open    []string          // revisions that are staged or retire
	digests []string          // of all revisions
	events  []string          // the types of all events of plugins of the garden, in their order
}

// read reads the log beside the host, which may be running.
func (g *garden) read() (ledger, error) {
	l := ledger{plugins: map[string]row{}, folded: map[string]string{}}
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(g.folder, "data/plinth/plinth.db")+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		return l, err
	}
	defer db.Close()
	tx, err := db.BeginTx(g.t.Context(), nil) // one state of all tables
	if err != nil {
		return l, err
	}
	defer func() { _ = tx.Rollback() }()
	return l, errors.Join(l.readEvents(g.t.Context(), tx), l.readTables(g.t.Context(), tx))
}

func (l *ledger) readEvents(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, `SELECT type, version, data FROM log_event WHERE type LIKE 'host.plugin.%' ORDER BY position`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		event := store.Event{Aggregate: session.Host}
		if err := rows.Scan(&event.Type, &event.Version, &event.Data); err != nil {
			return err
		}
		payload, err := session.Decode(event)
		if err != nil {
			return err
		}
		l.fold(payload)
		if !strings.Contains(string(event.Data), `"core/`) {
			l.events = append(l.events, event.Type)
		}
	}
	return rows.Err()
}

// fold says what serves after an event.
func (l *ledger) fold(payload session.Payload) {
	switch e := payload.(type) {
	case session.PluginActivated:
		l.folded[e.Plugin] = e.Revision
	case session.PluginRolledBack:
		l.folded[e.Plugin] = e.Revision
	case session.PluginQuarantined:
		delete(l.folded, e.Plugin)
	case session.PluginDisabled:
		delete(l.folded, e.Plugin)
	case session.PluginRemoved:
		delete(l.folded, e.Plugin)
	}
}

func (l *ledger) readTables(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, `SELECT p.plugin, p.state, p.revision, p.error, r.revision, r.state, r.body FROM plugin p LEFT JOIN plugin_revision r USING (plugin, location)`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var p row
		var revision, state, body sql.NullString
		if err := rows.Scan(&id, &p.State, &p.Revision, &p.Error, &revision, &state, &body); err != nil {
			return err
		}
		var staged session.PluginStaged
		if body.Valid {
			if err := json.Unmarshal([]byte(body.String), &staged); err != nil {
				return err
			}
			if staged.Source != "builtin" && staged.Source != "native" {
				l.digests = append(l.digests, staged.Digest)
			}
			if s := session.RevisionState(state.String); s == session.RevisionStaged || s == session.RevisionRetiring {
				l.open = append(l.open, id+" "+revision.String+" "+state.String)
			}
		}
		if before, ok := l.plugins[id]; ok {
			p = before
		}
		if revision.String == p.Revision {
			p.Version = staged.Version
		}
		l.plugins[id] = p
	}
	slices.Sort(l.digests)
	l.digests = slices.Compact(l.digests)
	return rows.Err()
}

// depot are the digests whose bytes are kept, and what else lies there.
func (g *garden) depot() (digests []string) {
	g.t.Helper()
	entries, err := os.ReadDir(filepath.Join(g.folder, "data/plinth/plugins"))
	if err != nil {
		g.t.Fatal(err)
	}
	for _, entry := range entries {
		digests = append(digests, strings.TrimSuffix(entry.Name(), ".wasm"))
	}
	return digests
}

// rests waits until the host is as it is to be: what is in the folder serves, what serves
// is the fold of the log, nothing is in the middle and the depot has what the log names.
func (g *garden) rests() {
	g.t.Helper()
	g.until(func() string {
		l, err := g.read()
		if err != nil {
			return err.Error()
		}
		versions := map[string]string{}
		serving := map[string]string{}
		list, err := g.host.client.Plugins(g.within())
		if err != nil {
			return err.Error()
		}
		for _, plugin := range list.Plugins {
			if name, ours := strings.CutPrefix(plugin.ID, "test/"); ours || plugin.ID == "" {
				versions[name] = plugin.Version + strings.Repeat(" "+string(plugin.State), len(strings.TrimPrefix(string(plugin.State), "active")))
			}
			serving[plugin.ID] = plugin.Revision
		}
		digests := l.digests
		return cmp.Diff(g.planted, versions) + cmp.Diff(l.folded, serving) + cmp.Diff([]string(nil), l.open) + cmp.Diff(digests, g.depot())
	})
}

// until waits for a condition, which says what is not so yet.
func (g *garden) until(condition func() (wrong string)) {
	g.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		wrong := condition()
		if wrong == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			g.t.Fatalf("after %s: %s\n%s", patience, wrong, g.host.notes)
		}
	}
}

// works holds every plugin in the folder to answering a call with its version.
func (g *garden) works() {
	g.t.Helper()
	var want []string
	for _, name := range plants() {
		if version, ok := g.planted[name]; ok {
			want = append(want, name+" "+version)
		}
	}
	if diff := cmp.Diff(want, g.say(g.host.session(g.world), "[call]")); diff != "" {
		g.t.Errorf("what the plugins answer (-in the folder +told): %s", diff)
	}
}
