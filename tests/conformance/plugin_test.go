package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/session"
)

// contextOfTests outlives a single test: modules are shared.
var contextOfTests = context.Background()

// plugin is a guest behind the ports, with what it logged.
type plugin struct {
	*bridge.Plugin
	lines *lines
}

func newPlugin(t *testing.T, load func() (loaded, error)) *plugin {
	t.Helper()
	l, err := load()
	if err != nil {
		t.Fatal(err)
	}
	p := &plugin{lines: new(lines)}
	p.Plugin = &bridge.Plugin{ID: id, Revision: revision, Caller: bridge.NewCaller(l.module), Log: p.lines.add}
	return p
}

// lines gathers texts of other goroutines.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) add(level, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, level+": "+line)
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.text)
}

// send calls an entry with these very bytes and splits its answer.
func (p *plugin) send(t *testing.T, entry string, message []byte) (body json.RawMessage, raw []byte) {
	t.Helper()
	answer, err := p.Caller.Call(t.Context(), bridge.Call{Entry: entry, Message: message, Deadline: 10 * time.Second, Log: func(string) {}})
	if err != nil {
		t.Fatalf("%s: %v", entry, err)
	}
	body, raw, err = abi.DecodeMessage(answer)
	if err != nil {
		t.Fatalf("the answer of %s: %v", entry, err)
	}
	return body, raw
}

// ask calls an entry with a body and decodes its answer: an ok or an error.
func ask[OK any](t *testing.T, p *plugin, entry string, body any) (ok OK, raw []byte, err *abi.Error) {
	t.Helper()
	message, failed := json.Marshal(abi.Call[any]{DeadlineMS: 10_000, Meta: abi.Meta{Plugin: id, Revision: revision}, Body: body})
	if failed != nil {
		t.Fatal(failed)
	}
	encoded, raw := p.send(t, entry, abi.EncodeMessage(message, nil))
	var answer abi.Answer[OK]
	if failed := json.Unmarshal(encoded, &answer); failed != nil || (answer.OK == nil) == (answer.Error == nil) {
		t.Fatalf("the answer of %s: %v in %.200s", entry, failed, encoded)
	}
	if answer.Error != nil {
		return ok, raw, answer.Error
	}
	return *answer.OK, raw, nil
}

// sameJSON compares values: members in any order, numbers by their digits.
func sameJSON(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if g, w := canonical(t, what, got), canonical(t, what, want); g != w {
		t.Errorf("%s:\ngot  %.1000s\nwant %.1000s", what, g, w)
	}
}

func canonical(t *testing.T, what string, encoded []byte) string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%s: %v in %.200q", what, err, encoded)
	}
	again, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return string(again)
}

// clock stands still, one hour east of UTC.
type clock struct{}

func (clock) Now() time.Time {
	return time.Date(2026, 11, 20, 9, 30, 0, 0, time.FixedZone("", 3600))
}

// toolHost decides by rules, and asks person where they say so.
type toolHost struct {
	rules  []session.Rule
	person func(ctx context.Context) error
	shown  lines
}

// everything is allowed.
func everything() []session.Rule {
	return []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
}

func (h *toolHost) Authorise(ctx context.Context, request session.PermissionRequest) error {
	switch effect, resource := session.Decide(h.rules, nil, request.Action, request.Resources); effect {
	case session.Deny:
		return &session.DeniedError{Action: request.Action, Resource: resource}
	case session.Ask:
		return h.person(ctx)
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

func (h *toolHost) Progress(text string) { h.shown.add("progress", text) }

func services() *bridge.Services {
	return &bridge.Services{Clock: clock{}, Rules: permissive{}}
}

// nothing is the reach of a plugin without grants.
func nothing() *bridge.Reach { return &bridge.Reach{Services: services()} }

// tool puts a tool of the guest behind the kernel's port.
func (p *plugin) tool(t *testing.T, name string, reach *bridge.Reach) *bridge.Tool {
	t.Helper()
	tool, err := bridge.NewTool(p.Plugin, session.ToolDefinition{Name: name, Input: []byte(`{}`)}, reach)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// execute calls a tool that reaches no files, with everything allowed.
func (p *plugin) execute(t *testing.T, name, input string) (session.ToolOutput, error) {
	t.Helper()
	return p.tool(t, name, nothing()).Execute(t.Context(), session.ToolCall{Input: []byte(input), Host: &toolHost{rules: everything()}})
}

// structured is what a tool answers that must not fail.
func (p *plugin) structured(t *testing.T, name, input string) []byte {
	t.Helper()
	output, err := p.execute(t, name, input)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return output.Structured
}

// wantTold demands a failure that the model is told, of a kind and with a text.
func wantTold(t *testing.T, err error, kind abi.Kind, message string) {
	t.Helper()
	var told *session.ToolError
	if !errors.As(err, &told) || told.Kind != string(kind) || told.Message != message {
		t.Errorf("got  %v\nwant %s: %s", err, kind, message)
	}
}
