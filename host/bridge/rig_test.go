package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store/sqlite"
)

// rig is a guest that relays one operation per call, with a whole host behind it.
type rig struct {
	project
	plugin *Plugin
	log    *logged
	host   *wholeHost
	relay  *relay
}

// relay has the guest ask for an operation, and keeps what the host answered.
type relay struct {
	module    Caller
	operation string
	request   []byte
	answer    []byte
}

func (r *relay) Call(ctx context.Context, call Call) ([]byte, error) {
	served := call.Operations
	call.Message = bridgetest.Relay(r.operation, r.request)
	call.Operations = operationFunc(func(ctx context.Context, operation string, request []byte) []byte {
		r.answer = served.Call(ctx, operation, request)
		return r.answer
	})
	return r.module.Call(ctx, call)
}

type operationFunc func(ctx context.Context, operation string, request []byte) []byte

func (f operationFunc) Call(ctx context.Context, operation string, request []byte) []byte {
	return f(ctx, operation, request)
}

// newRig grants everything but the network, and allows everything.
func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{project: newProject(t), relay: &relay{}, host: &wholeHost{}}
	r.host.rules = allows("*")
	r.host.shown = r.host.show
	guest := bridgetest.NewAsking().Relays(abi.ExportTool, `{"ok":{"structured":`, `}}`)
	r.plugin, r.log = load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{abi.ExportTool}})
	r.relay.module, r.plugin.Caller = r.plugin.Caller, r.relay
	r.reach.Roots = map[string]Access{RootLocation: AccessWrite, RootProject: AccessWrite, RootConfig: AccessRead}
	r.reach.KV, r.reach.Process, r.reach.Grants.Session = true, true, map[string]bool{}
	for _, operation := range SessionOperations() {
		r.reach.Grants.Session[operation] = true
	}
	return r
}

// stored gives the rig a store of values and blobs.
func (r *rig) stored(t testing.TB) *rig {
	t.Helper()
	opened, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	r.reach.Store, r.reach.Blobs = NewPluginStore(opened.KV()), opened.Blobs()
	return r
}

// running gives the rig programs.
func (r *rig) running(t *testing.T, options process.Options) *rig {
	t.Helper()
	options.Shell = "/bin/sh"
	processes, err := process.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := processes.Close(); err != nil {
			t.Error(err)
		}
	})
	r.reach.Processes = processes
	return r
}

// ask has the guest ask for an operation and answers the JSON of the host's answer.
func (r *rig) ask(t *testing.T, operation, request string, raw ...byte) string {
	t.Helper()
	return r.askIn(t, session.ToolCall{Session: "ses_1"}, operation, request, raw...)
}

func (r *rig) askIn(t *testing.T, call session.ToolCall, operation, request string, raw ...byte) string {
	t.Helper()
	r.relay.operation, r.relay.request = operation, abi.EncodeMessage([]byte(request), raw)
	call.Location, call.Host = r.location, r.host
	output, err := execute(t, newTool(t, r.plugin, session.ToolDefinition{}, r.reach), call)
	if err != nil {
		t.Fatalf("%s %.200s: %v", operation, request, err)
	}
	return string(output.Structured)
}

// bytes are those that came with the last answer.
func (r *rig) bytes(t *testing.T) string {
	t.Helper()
	_, raw, err := abi.DecodeMessage(r.relay.answer)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func allows(action string) []session.Rule {
	return []session.Rule{{Action: action, Resource: "*", Effect: session.Allow}}
}

func rule(action, resource string, effect session.Effect) session.Rule {
	return session.Rule{Action: action, Resource: resource, Effect: effect}
}

// failure reads the error of an answer; its kind is "" when it is none.
func failure(t testing.TB, answer string) abi.Error {
	t.Helper()
	var read struct{ Error abi.Error }
	if err := json.Unmarshal([]byte(answer), &read); err != nil {
		t.Fatalf("%v in %.300s", err, answer)
	}
	return read.Error
}

// read decodes an answer that must be ok.
func read[R any](t testing.TB, answer string) R {
	t.Helper()
	var decoded struct {
		OK    *R
		Error *abi.Error
	}
	if err := json.Unmarshal([]byte(answer), &decoded); err != nil || decoded.OK == nil {
		t.Fatalf("got %.300s, %v", answer, err)
	}
	return *decoded.OK
}

func encoded(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wholeHost serves all that a session has.
type wholeHost struct {
	toolHost
	fails error // of every session operation

	mu        sync.Mutex
	questions []session.Question
	before    []bool // as each ask for answers said it
	tasks     []session.Task
	todos     []session.Todo
	progress  []string
}

func (h *wholeHost) show(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.progress = append(h.progress, text)
}

func (h *wholeHost) Describe(context.Context) (session.Description, error) {
	return session.Description{Title: "Weather", Model: session.ModelRef{Provider: "local", Model: "m/1"}}, h.fails
}

func (h *wholeHost) Question(_ context.Context, questions []session.Question, before bool) ([][]string, error) {
	h.questions = append(h.questions, questions...)
	h.before = append(h.before, before)
	return [][]string{{"yes"}}, h.fails
}

func (h *wholeHost) RunTask(_ context.Context, task session.Task) (session.TaskResult, error) {
	h.tasks = append(h.tasks, task)
	return session.TaskResult{Session: "ses_child", Text: "done"}, h.fails
}

func (h *wholeHost) Todos(context.Context) ([]session.Todo, error) { return h.todos, h.fails }

func (h *wholeHost) SetTodos(_ context.Context, todos []session.Todo) error {
	if h.fails == nil {
		h.todos = todos
	}
	return h.fails
}

func (h *wholeHost) Skills(context.Context) ([]session.Skill, error) {
	return []session.Skill{{Name: "go", Description: "writes Go"}}, h.fails
}

func (h *wholeHost) Skill(_ context.Context, name string) (session.Skill, error) {
	if name != "go" {
		return session.Skill{}, errors.Join(errors.New("skill"), session.ErrNotFound)
	}
	return session.Skill{Name: name, Description: "writes Go", Text: "gofmt", Directory: "/skills/go"}, h.fails
}
