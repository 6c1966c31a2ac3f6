package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// days is a session that several kernels in a row work on, over one folder, while the
// date, a file of instructions and plugins come, change and go.
type days struct {
	*world
	t       *testing.T
	root    string            // of the project
	plugins map[string]string // their values, by name
	running chan struct{}     // a call of the tool wait has begun
	// sent are the requests of turns, of all kernels, and turns and changes what the log
	// says of them; read is how far it was read.
	sent    []session.ModelRequest
	turns   []session.TurnStarted
	changes []string
	read    int64
	// epochs and breaks are the requests that are to begin an epoch, and those whose
	// beginning is to be another.
	epochs, breaks []int
}

func newDays(t *testing.T) *days {
	d := &days{t: t, root: t.TempDir(), read: -1, plugins: map[string]string{}, running: make(chan struct{}, 1)}
	d.start(t.TempDir())
	d.id = d.Create()
	d.set("core/date", "day 0")
	return d
}

// start has a new kernel work on the folder.
func (d *days) start(dir string) {
	w := &world{World: New(d.t, Options{Dir: dir, Agents: append(builder(func(a *session.Agent) { a.System, a.Steps = "You build.", 4 }),
		session.Agent{Name: "sketch", Mode: session.AgentPrimary, System: "You sketch.", Reminder: "Change nothing.", Leaving: "No more sketches."})}),
		states: map[string]session.SourceState{}, asked: map[string]int{}}
	if d.world != nil {
		w.id, w.states = d.id, maps.Clone(d.states)
	}
	d.world = w
	d.Contribute("core/tools", echo(w.World), tool(w.World, "alpha", quiet), tool(w.World, "wait", func(ctx context.Context, _ session.ToolCall) (session.ToolOutput, error) {
		d.running <- struct{}{}
		<-ctx.Done()
		return session.ToolOutput{}, ctx.Err()
	}))
	d.contribute("core/env", "", "core/date")
	d.Contribute("core/files", d.Kinds.Contexts.Contribute("core/files", 0, session.ContextSource(Source{Names: []string{"core/instructions"}, Run: d.instructions})))
	for name, value := range d.plugins {
		d.plugin(name, value)
	}
}

// instructions is a source of the file AGENTS.md as it is on the disk.
func (d *days) instructions(context.Context, session.Observation) ([]session.SourceState, error) {
	state := session.SourceState{Key: "core/instructions", State: session.SourceAbsent}
	content, err := os.ReadFile(filepath.Join(d.root, "AGENTS.md"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []session.SourceState{state}, nil
	case err != nil:
		return nil, err
	}
	value, err := json.Marshal(string(content))
	if err != nil {
		return nil, err
	}
	state.State, state.Value, state.Baseline = session.SourceValue, value, "Instructions: "+string(content)
	state.Update, state.Removed = "The instructions are now: "+string(content), "The instructions no longer apply."
	return []session.SourceState{state}, nil
}

func (d *days) write(instructions string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.root, "AGENTS.md"), []byte(instructions), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *days) erase() {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.root, "AGENTS.md")); err != nil {
		d.t.Fatal(err)
	}
}

// plugin installs a plugin with one source, or an upgrade of it, in this kernel and those
// after it.
func (d *days) plugin(name, value string) {
	d.t.Helper()
	d.plugins[name] = value
	key := name + "/fact"
	d.set(key, value)
	scope := registry.Scope{ID: name, Revision: value, Contributions: []registry.Contribution{
		d.Kinds.Contexts.Contribute(name, 0, session.ContextSource(fact{d.world, key, ""}))}}
	if _, err := d.Registries.Replace(scope); err != nil {
		d.t.Fatal(err)
	}
}

func (d *days) uninstall(name string) {
	d.t.Helper()
	delete(d.plugins, name)
	if _, open := d.Registries.Remove(name, ""); !open {
		d.t.Fatalf("there is no plugin %s", name)
	}
}

// begins says that the next request of a turn is to begin an epoch.
func (d *days) begins() {
	d.epochs = append(d.epochs, len(d.sent))
	d.breaks = append(d.breaks, len(d.sent))
}

// take keeps what was sent since the last time, and what was recorded of it.
func (d *days) take(before int) {
	d.t.Helper()
	for _, request := range d.Provider.Requests()[before:] {
		if request.Purpose == session.PurposeTurn {
			d.sent = append(d.sent, request)
		}
	}
	page, err := d.Log.Read(d.t.Context(), d.id, d.read, 1000)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, event := range page.Events {
		payload, err := session.Decode(event)
		if err != nil {
			d.t.Fatal(err)
		}
		d.read = event.Seq
		switch e := payload.(type) {
		case session.TurnStarted:
			d.turns = append(d.turns, e)
		case session.ContextInitialized:
			d.changes = append(d.changes, "begun")
		case session.ContextReplaced:
			d.changes = append(d.changes, e.Reason)
		}
	}
}

// head is the newest sequence of the session.
func (d *days) head() int64 {
	d.t.Helper()
	page, err := d.Log.Read(d.t.Context(), d.id, d.read, 1000)
	if err != nil {
		d.t.Fatal(err)
	}
	return page.Head.Seq
}

// condense folds everything so far.
func (d *days) condense() {
	d.t.Helper()
	put(d.World, d.id, session.CompactionEnded{Message: message(d.World), Reason: session.CompactionManual, Summary: "So far", Boundary: d.head()})
}

// prune takes away what the model is not sent any more. The epoch that it records is the
// one that goes on.
func (d *days) prune() {
	d.t.Helper()
	if pruning, err := d.Sessions.Prune(d.t.Context(), session.System(), d.id); err != nil || !pruning.Pruned {
		d.t.Fatalf("%+v, %v", pruning, err)
	}
	d.read = d.head()
}

// move has the session work elsewhere.
func (d *days) move(directory string) {
	d.t.Helper()
	if _, err := d.Sessions.Move(d.t.Context(), session.System(), d.id, directory); err != nil {
		d.t.Fatal(err)
	}
}

// fork goes on in a fork of the session.
func (d *days) fork() {
	d.t.Helper()
	fork, _, err := d.Sessions.Fork(d.t.Context(), session.System(), session.ForkRequest{Session: d.id})
	if err != nil {
		d.t.Fatal(err)
	}
	d.id, d.read = fork.ID, -1
}

// says prompts, and has the model answer with the turns.
func (d *days) says(prompt session.Prompt, turns ...Turn) {
	d.t.Helper()
	d.Provider.Script(turns...)
	n := len(d.Provider.Requests())
	ask(d.World, d.id, prompt)
	idle(d.World, d.id)
	if got := len(d.Provider.Requests()); got != n+len(turns) {
		d.t.Fatalf("%d requests for %q, want %d:\n%s", got-n, prompt.Text, len(turns), Text(events(d.World, d.id)))
	}
	d.take(n)
}

// restart closes the kernel and starts another one, which has nothing to do.
func (d *days) restart() {
	d.t.Helper()
	d.Close()
	d.start(d.Dir)
	if again, err := d.Runner.Recover(d.t.Context(), d.id); err != nil || again {
		d.t.Fatalf("goes on by itself: %v, %v", again, err)
	}
}

// restartInCall closes the kernel while a tool runs; the next one goes on.
func (d *days) restartInCall() {
	d.t.Helper()
	n := len(d.Provider.Requests())
	d.Provider.Script(Calls("wait", `{}`))
	d.Prompt(d.id, "Wait", session.Steer)
	<-d.running
	d.take(n)
	d.Close()
	d.start(d.Dir)
	if again, err := d.Runner.Recover(d.t.Context(), d.id); err != nil || !again {
		d.t.Fatalf("goes on by itself: %v, %v", again, err)
	}
	d.Provider.Script(Say("It was stopped"))
	d.Coordinator.Wake(d.id, 0)
	idle(d.World, d.id)
	d.take(0)
}

// happenings are what changes before a prompt.
var happenings = map[int]func(d *days){
	3:  func(d *days) { d.write("Be kind.") },
	5:  func(d *days) { d.plugin("acme/x", "one!") },
	8:  func(d *days) { d.write("Be kind and brief.") },
	11: func(d *days) { d.uninstall("acme/x") },
	13: func(d *days) { d.plugin("acme/y", "one") }, // leaves no text that takes it back
	15: func(d *days) { put(d.World, d.id, session.AgentSwitched{Message: message(d.World), Agent: "sketch"}) },
	17: func(d *days) { d.erase() },
	19: func(d *days) { d.restart() },
	21: func(d *days) { put(d.World, d.id, session.AgentSwitched{Message: message(d.World), Agent: "build"}) },
	23: func(d *days) { d.plugin("acme/y", "two"); d.write("Be quick.") },
	25: func(d *days) { d.restartInCall() },
	28: func(d *days) { d.uninstall("acme/y"); d.begins() },
	31: func(d *days) { d.plugin("acme/x", "two!"); d.restart() },
	34: func(d *days) { d.condense(); d.restart(); d.begins() },
	36: func(d *days) { d.prune() },
	37: func(d *days) { d.uninstall("acme/x"); d.restart() },
	// The epoch cannot be replaced yet, but the messages have another beginning.
	39: func(d *days) { d.condense(); d.set("core/date", ""); d.breaks = append(d.breaks, len(d.sent)) },
	40: func(d *days) { d.prune() },
	41: func(d *days) { d.set("core/date", "day 41"); d.begins() },
	43: func(d *days) { d.move("/elsewhere"); d.set("core/date", "day 43"); d.begins() },
	44: func(d *days) { d.erase(); d.plugin("acme/x", "three!") },
	45: func(d *days) { revert(d.t, d.World, d.id, "Prompt 44", false); d.restart(); d.begins() },
	46: func(d *days) { d.write("Be slow.") },
	47: func(d *days) { d.restartInCall() },
	48: func(d *days) { d.fork(); d.begins() },
}

// Fifty prompts: every request begins with all bytes of the one before, but those that
// begin an epoch, and one after a compaction whose epoch has to wait. They are exactly the
// expected ones, also over restarts and where history is taken away.
func TestFiftyTurnsKeepTheirBeginning(t *testing.T) {
	d := newDays(t)
	d.begins()
	for i := range 50 {
		if i%6 == 4 && i != 40 {
			d.set("core/date", fmt.Sprint("day ", i))
		}
		if happening := happenings[i]; happening != nil {
			happening(d)
		}
		prompt := session.Prompt{Text: fmt.Sprint("Prompt ", i)}
		if i%9 == 7 {
			prompt.System = "Answer in verse."
		}
		switch i % 5 {
		case 1:
			d.says(prompt, Calls("echo", `{"n":1}`), Say("Done"))
		case 3:
			d.says(prompt, Then(Events(Delta("Two at once")), Calls("alpha", `{"n":1}`, `{"n":2}`)), Calls("echo", `{"b":1,"a":2}`), Calls("echo", `{}`), Say("Done"))
		default:
			d.says(prompt, Say("Yes"))
		}
	}
	d.check()
}

// check holds the requests to their beginnings and the log to where epochs began.
func (d *days) check() {
	d.t.Helper()
	turns := d.turns
	if len(d.sent) != len(turns) || len(turns) < 80 {
		d.t.Fatalf("%d requests and %d turns", len(d.sent), len(turns))
	}
	var began, broken []int
	for i, turn := range turns {
		if turn.Epoch == -1 {
			began = append(began, i)
		}
		if i > 0 && !bytes.HasPrefix(sentBytes(d.t, d.sent[i]), sentBytes(d.t, d.sent[i-1])) {
			broken = append(broken, i)
		}
		if turn.Epoch != -1 && d.sent[i].CacheKey != d.sent[i-1].CacheKey {
			d.t.Errorf("request %d has another cache key", i)
		}
	}
	if diff := cmp.Diff(d.epochs, began); diff != "" {
		d.t.Errorf("epochs began with the requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(d.breaks[1:], broken); diff != "" {
		d.t.Errorf("the requests with another beginning (-want +got):\n%s", diff)
		for _, i := range broken {
			if !slices.Contains(d.breaks, i) {
				d.t.Errorf("request %d: %s", i, cmp.Diff(spelled(d.sent[i-1]), spelled(d.sent[i])))
				break
			}
		}
	}
	const gone, condensed = "the source acme/y/fact is gone and left no removal text", "the history before it was compacted, or results in it were pruned"
	if diff := cmp.Diff([]string{"begun", gone, condensed, condensed, "begun", "begun", "begun"}, d.changes); diff != "" {
		d.t.Errorf("epochs (-want +got):\n%s", diff)
	}
}

// sentBytes are a request's bytes in the order in which a provider reads and caches them:
// tools, system text, messages.
func sentBytes(t *testing.T, request session.ModelRequest) []byte {
	t.Helper()
	var all bytes.Buffer
	write := func(value any) {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(append(encoded, '\n'))
	}
	write(request.Tools)
	write(request.System)
	for _, message := range request.Messages {
		write(message)
	}
	return all.Bytes()
}
