// Package builtin holds the builtin plugins' tools to their cases over everything that
// is real: the packed modules in the engine, the host operations, a folder on the disk,
// and a kernel that asks for permission, bounds what is shown and records it. Only the
// model is scripted.
//
// A test makes a world with newWorld, has the model call a tool with call, and looks at
// what the model is told, at what a person was asked, and at the folder. Files of cases
// are named after their area: i_read_test.go.
package builtin

import (
	"context"
	"errors"
	"iter"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/depot"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/plugins/builtin"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/tests/warm"
)

// compiled holds what the engine compiled, so that a module is compiled once.
var compiled string

func TestMain(m *testing.M) {
	var err error
	if compiled, err = os.MkdirTemp("", "plinth-builtin-"); err != nil {
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

// options say what a world is made of.
type options struct {
	// Plugins are the ids of the builtins to load.
	Plugins []string
	// Files are put into the folder: their texts by path, with a slash at the end for an
	// empty folder.
	Files map[string]string
	// Rules stand behind the default ones.
	Rules []session.Rule
}

// world is a kernel with builtins, and a session in a folder.
type world struct {
	*sessiontest.World
	// Dir is the session's folder, without links. Outside is another folder beside it.
	Dir, Outside string
	// Session is its id.
	Session string
	// Reply answers who asks for permission: nil, or a reply of "", is ReplyOnce. It is
	// called while the tool waits.
	Reply func(request session.PermissionRequest) session.Reply
	// Answer answers questions; nil dismisses them.
	Answer func(questions []session.Question) [][]string

	model *model
	tail  *store.Tail
}

// newWorld makes a world that is closed with the test.
func newWorld(t *testing.T, options options) *world {
	t.Helper()
	w := &world{World: sessiontest.New(t, sessiontest.Options{Rules: options.Rules}), model: &model{}}
	w.Dir, w.Outside = folder(t), folder(t)
	for name, text := range options.Files {
		w.write(name, text)
	}
	w.Contribute("core/scripted", w.Kinds.Providers.Contribute("scripted", 0, session.Provider(w.model)))
	w.load(options.Plugins)
	made, _, err := w.Sessions.Create(t.Context(), session.System(), session.CreateRequest{Directory: w.Dir})
	if err != nil {
		t.Fatal(err)
	}
	w.Session = made.ID
	w.tail = store.NewTail(w.Log, w.Session, -1)
	t.Cleanup(w.tail.Close)
	return w
}

// folder is a temporary folder by its canonical name.
func folder(t *testing.T) string {
	t.Helper()
	canonical, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return canonical
}

// load starts the builtins as the host does, with what their manifests ask for.
func (w *world) load(ids []string) {
	w.T.Helper()
	processes, err := process.New(process.Options{})
	if err != nil {
		w.T.Fatal(err)
	}
	private := w.T.TempDir()
	kept, err := depot.Open(filepath.Join(private, "plugins"))
	if err != nil {
		w.T.Fatal(err)
	}
	manager, err := plugin.NewManager(plugin.Options{
		Engine: plugin.EngineOptions{CacheDir: compiled}, Registries: w.Registries, Kinds: w.Kinds, Depot: kept, Logger: hclog.NewNullLogger(),
		Ledger: session.NewPlugins(w.Log, w.Encoder),
		Services: &bridge.Services{
			Private: []string{private}, Writer: &fsys.Writer{}, Processes: processes, Store: bridge.NewPluginStore(w.Log.KV()), Blobs: w.Log.Blobs(),
			Clock: sessiontest.Clock{}, Rules: w.Permissions,
		},
	})
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() {
		w.Coordinator.Close(0) // calls end before what serves them
		if err := errors.Join(manager.Close(), processes.Close()); err != nil {
			w.T.Error(err)
		}
	})
	var candidates []plugin.Candidate
	for _, one := range builtin.All() {
		if !slices.Contains(ids, one.ID) {
			continue
		}
		candidate, err := plugin.Packed("builtin "+one.ID, one.Wasm, true)
		if err != nil {
			w.T.Fatal(err)
		}
		candidates = append(candidates, candidate)
	}
	if len(candidates) != len(ids) {
		w.T.Fatalf("of the builtins %q there are %d", ids, len(candidates))
	}
	if err := manager.Start(w.T.Context(), candidates, nil, nil); err != nil {
		w.T.Fatal(err)
	}
	manager.Ready(w.T.Context(), patience)
	for _, id := range ids {
		if _, err := manager.Show(plugin.Ref{ID: id}); err != nil {
			w.T.Fatal(err)
		}
	}
}

// patience bounds the wait for what does not come.
const patience = 2 * time.Minute

// result is what came of a call.
type result struct {
	// Text is what the model is told: the texts of the answer, one after the other.
	Text string
	// Error is why the call failed; nil when it did not.
	Error *session.ToolError
	// Part is the whole settlement.
	Part *session.ToolPart
	// Asked is what a person was asked, in order.
	Asked []session.PermissionRequest
	// Outcome is how the activity ended: a person who says no halts it.
	Outcome session.Outcome
}

// call has the model call a tool once, answers what is asked, and waits until nothing
// works any more.
func (w *world) call(tool, input string) result {
	w.T.Helper()
	w.model.play(sessiontest.Calls(tool, input))
	w.Prompt(w.Session, "Go", session.Steer)
	result := w.follow()
	messages := w.Messages(w.Session)
	for _, part := range messages[len(messages)-1].Parts {
		result.take(part)
	}
	for i := len(messages) - 2; i >= 0 && result.Part == nil; i-- {
		for _, part := range messages[i].Parts {
			result.take(part)
		}
	}
	if result.Part == nil {
		w.T.Fatalf("%s %s: the call is not in the transcript", tool, input)
	}
	return result
}

func (r *result) take(part session.MessagePart) {
	if part.Tool == nil {
		return
	}
	r.Part, r.Error = part.Tool, part.Tool.Error
	for _, content := range part.Tool.Content {
		r.Text += content.Text
	}
}

// follow answers what is asked until the activity has ended.
func (w *world) follow() (r result) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), patience)
	defer cancel()
	for {
		page, err := w.tail.Next(ctx, 100)
		if err != nil {
			w.T.Fatalf("waiting for the end of the activity: %v", err)
		}
		for _, event := range page.Events {
			payload, err := session.Decode(event)
			if err != nil {
				w.T.Fatal(err)
			}
			switch p := payload.(type) {
			case session.PermissionAsked:
				r.Asked = append(r.Asked, p.Ask)
				w.reply(p)
			case session.QuestionAsked:
				w.answer(p)
			case session.ActivityEnded:
				r.Outcome = p.Outcome
				return r
			}
		}
	}
}

func (w *world) reply(asked session.PermissionAsked) {
	w.T.Helper()
	reply := session.ReplyOnce
	if w.Reply != nil {
		if given := w.Reply(asked.Ask); given != "" {
			reply = given
		}
	}
	if _, err := w.Permissions.Reply(w.T.Context(), session.System(), asked.Request, reply, ""); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) answer(asked session.QuestionAsked) {
	w.T.Helper()
	var err error
	if w.Answer == nil {
		_, err = w.Permissions.Dismiss(w.T.Context(), session.System(), asked.Request)
	} else {
		_, err = w.Permissions.Answer(w.T.Context(), session.System(), asked.Request, w.Answer(asked.Questions))
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

// write puts a file into the session's folder, or where an absolute path says.
func (w *world) write(name, text string) {
	w.T.Helper()
	at := w.at(name)
	err := os.MkdirAll(filepath.Dir(at), 0o755)
	if strings.HasSuffix(name, "/") {
		err = os.MkdirAll(at, 0o755)
	} else if err == nil {
		err = os.WriteFile(at, []byte(text), 0o644)
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

// link makes a symbolic link in the session's folder.
func (w *world) link(name, target string) {
	w.T.Helper()
	if err := os.Symlink(target, w.at(name)); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) at(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(w.Dir, name)
}

// rule is a rule in short.
func rule(action, resource string, effect session.Effect) session.Rule {
	return session.Rule{Action: action, Resource: resource, Effect: effect}
}

// asks shows requests as "action resource, resource".
func asks(requests []session.PermissionRequest) []string {
	shown := []string{}
	for _, request := range requests {
		shown = append(shown, request.Action+" "+strings.Join(request.Resources, ", "))
	}
	return shown
}

// ok demands a call that did not fail.
func (w *world) ok(tool, input string) result {
	w.T.Helper()
	r := w.call(tool, input)
	if r.Error != nil {
		w.T.Fatalf("%s %s: %+v", tool, input, r.Error)
	}
	return r
}

// fails demands a call that failed with a text in its reason.
func (w *world) fails(tool, input, want string) result {
	w.T.Helper()
	r := w.call(tool, input)
	if r.Error == nil || !strings.Contains(r.Error.Message, want) {
		w.T.Fatalf("%s %s: error %+v, want one with %q; text %.200q", tool, input, r.Error, want, r.Text)
	}
	return r
}

// model answers the first request after a prompt with the turn that was set, and those
// after it with "Done".
type model struct {
	mu   sync.Mutex
	next sessiontest.Turn
}

func (m *model) play(turn sessiontest.Turn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = turn
}

// Stream plays the turn.
func (m *model) Stream(ctx context.Context, request session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	m.mu.Lock()
	turn := m.next
	m.next = nil
	m.mu.Unlock()
	if turn == nil {
		turn = sessiontest.Say("Done")
	}
	return func(yield func(session.ModelEvent, error) bool) { turn(ctx, request, yield) }
}
