package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
)

// ruled answers by rules, and counts nothing as allowed by a person.
type ruled struct {
	rules []session.Rule
	fails error

	mu      sync.Mutex // a search asks from several goroutines
	plugins []string
}

func (r *ruled) Effects(_ context.Context, _ session.Asker, plugin, action string, resources []string) ([]session.Effect, error) {
	r.mu.Lock()
	r.plugins = append(r.plugins, plugin)
	r.mu.Unlock()
	effects := make([]session.Effect, len(resources))
	for i := range resources {
		effects[i], _ = session.Decide(r.rules, nil, action, resources[i:i+1])
	}
	return effects, r.fails
}

// ruledBy reaches nothing but what the rules say.
func ruledBy(decide Rules) *Reach {
	return &Reach{Services: &Services{Rules: decide, Clock: clock{}}}
}

func (p project) ruledBy(decide Rules) *Reach {
	p.reach.Rules = decide
	return p.reach
}

func observe(t *testing.T, guest *bridgetest.Guest, observation session.Observation) ([]session.SourceState, error) {
	t.Helper()
	plugin, _ := loadGuest(t, guest, abi.ExportContext)
	return NewContext(plugin, []string{"acme/test/now"}, session.SourceSpec{}, ruledBy(&ruled{})).Observe(t.Context(), observation)
}

func TestASourceSeesItsObservation(t *testing.T) {
	guest := bridgetest.New().Reflects(abi.ExportContext, `{"ok":{"sources":[{"key":"k","state":"value","value":`, `}]}}`)
	states, err := observe(t, guest, session.Observation{Session: "ses_1", Agent: "build", Now: clock{}.Now(),
		Location: session.Location{Directory: "/d", Root: "/d"}, Directories: []string{"/d/a", "/d/a/b c"}, Previous: map[string]json.RawMessage{"acme/test/now": json.RawMessage(`{"a":1}`)}})
	want := `{"deadline_ms":250,"meta":{"plugin":"acme/test","revision":"r1"},"body":{"session":{"id":"ses_1","agent":"build"},` +
		`"location":{"directory":"/d","root":"/d","git":false,"platform":"` + platform + `","utc_offset":60},` +
		`"now_ms":1795163400000,"directories":["a","a/b c"],"previous":{"acme/test/now":{"a":1}}}}`
	if err != nil || len(states) != 1 {
		t.Fatalf("%v, %v", states, err)
	}
	if diff := cmp.Diff(want, string(states[0].Value)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatASourceAnswers(t *testing.T) {
	states, err := observe(t, bridgetest.New().Answers(abi.ExportContext, `{"ok":{"sources":[
		{"key":"acme/test/now","state":"value","value":{"n":1},"baseline":"B","update":"U","removed":"R"},
		{"key":"acme/test/b","state":"absent"},{"key":"acme/test/c","state":"unavailable"}]}}`), session.Observation{})
	want := []session.SourceState{
		{Key: "acme/test/now", State: session.SourceValue, Value: json.RawMessage(`{"n":1}`), Baseline: "B", Update: "U", Removed: "R"},
		{Key: "acme/test/b", State: session.SourceAbsent},
		{Key: "acme/test/c", State: session.SourceUnavailable},
	}
	if diff := cmp.Diff(want, states); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestASourceThatFails(t *testing.T) {
	tests := []struct {
		name  string
		guest *bridgetest.Guest
		kind  abi.Kind
		want  string
	}{
		{"trap", bridgetest.New().Traps(abi.ExportContext), abi.KindFailed, "trap in plinth_context_observe"},
		{"timeout", bridgetest.New().Loops(abi.ExportContext), abi.KindTimeout, "deadline passed"},
		{"no answer", bridgetest.New().Answers(abi.ExportContext, `{"ok":{"sources":3}}`), abi.KindFailed, "the answer of plinth_context_observe cannot be read"},
	}
	for _, test := range tests {
		_, err := observe(t, test.guest, session.Observation{})
		var fault *CallError
		if !errors.As(err, &fault) || fault.Kind != test.kind || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	_, err := observe(t, bridgetest.New().Answers(abi.ExportContext, `{"error":{"kind":"unavailable","message":"no network"}}`), session.Observation{})
	var told *abi.Error
	if !errors.As(err, &told) || told.Kind != abi.KindUnavailable || told.Message != "no network" {
		t.Errorf("%v", err)
	}
}

func TestASourceIsBounded(t *testing.T) {
	for _, field := range []string{"baseline", "update", "removed", "value"} {
		for size, fits := range map[int]bool{MaxSourceBytes: true, MaxSourceBytes + 1: false} {
			text := strings.Repeat("x", size-map[bool]int{true: 2}[field == "value"]) // the quotes of a value count
			guest := bridgetest.New().Answers(abi.ExportContext, fmt.Sprintf(`{"ok":{"sources":[{"key":"k","state":"value",%q:%q}]}}`, field, text))
			_, err := observe(t, guest, session.Observation{})
			want := fmt.Sprintf("plugin acme/test: the source k has %d bytes, the limit is %d", size, MaxSourceBytes)
			if fits != (err == nil) || err != nil && err.Error() != want {
				t.Errorf("%s of %d bytes: %v", field, size, err)
			}
		}
	}
	guest := bridgetest.New().Answers(abi.ExportContext, fmt.Sprintf(`{"ok":{"sources":[{"key":"k","state":"value","baseline":%q}]}}`, strings.Repeat("x", MaxSourceBytes+1)))
	plugin, _ := loadGuest(t, guest, abi.ExportContext)
	plugin.Builtin = true
	if _, err := NewContext(plugin, nil, session.SourceSpec{}, ruledBy(&ruled{})).Observe(t.Context(), session.Observation{}); err != nil {
		t.Errorf("a builtin has more room: %v", err)
	}
}

// What would ask a person is denied to a source, and left out of its lists.
func TestASourceNeverAsks(t *testing.T) {
	p := newProject(t)
	refused := denied("read on .env is denied by the permission rules")
	tests := []struct{ operation, request, want string }{
		{"fs.read", `{"path":".env"}`, refused},
		{"fs.read", `{"path":"innocent.txt"}`, refused},
		{"fs.stat", `{"path":".env"}`, refused},
		{"fs.read", `{"path":"sub/b.txt"}`, denied("read on sub/b.txt is denied by the permission rules")},
		{"fs.read", `{"path":"a.txt"}`, `{"ok":{"data":{"$bytes":[0,5]},"eof":true,"info":{"kind":"file","name":"a.txt","path":"a.txt","size":5}}}`},
		{"fs.list", `{"path":"."}`, `{"ok":{"entries":[{"kind":"file","name":"a.txt","path":"a.txt","size":5}],"path":"."}}`},
		{"progress", `{"text":"x"}`, `{"error":{"kind":"unavailable","message":"progress is for tools"}}`},
		{"fs.glob", `{"pattern":"**"}`, `{"ok":{"denied":2,"files":[{"kind":"file","name":"a.txt","path":"a.txt","size":5}],"matched":1}}`},
		{"fs.move", `{}`, `{"error":{"kind":"unavailable","message":"this host has no operation \"fs.move\""}}`},
	}
	for _, test := range tests {
		guest := bridgetest.NewAsking().Asks(abi.ExportContext, test.operation, test.request, `{"ok":{"sources":[{"key":"k","state":"value","value":`, `}]}}`)
		plugin, _ := loadGuest(t, guest, abi.ExportContext)
		decide := &ruled{rules: rules()}
		states, err := NewContext(plugin, []string{"k"}, session.SourceSpec{}, p.ruledBy(decide)).Observe(t.Context(), session.Observation{Location: p.location})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(withoutTime(t, test.want), withoutTime(t, string(states[0].Value))); diff != "" {
			t.Errorf("%s %s: %s", test.operation, test.request, diff)
		}
		for _, plugin := range decide.plugins {
			if plugin != "acme/test" {
				t.Errorf("%s: asked as %q", test.operation, plugin)
			}
		}
	}
}

func TestASourceWhoseRulesCannotBeRead(t *testing.T) {
	p := newProject(t)
	guest := bridgetest.NewAsking().Asks(abi.ExportContext, "fs.list", `{"path":"."}`, `{"ok":{"sources":[{"key":"k","state":"value","value":`, `}]}}`)
	plugin, _ := loadGuest(t, guest, abi.ExportContext)
	states, err := NewContext(plugin, nil, session.SourceSpec{}, p.ruledBy(&ruled{rules: rules(), fails: errors.New("disk full")})).Observe(t.Context(), session.Observation{Location: p.location})
	if err != nil || string(states[0].Value) != `{"error":{"kind":"failed","message":"disk full"}}` {
		t.Errorf("%s, %v", states[0].Value, err)
	}
}

// The committed core/environment observes a real project.
func TestTheEnvironmentOfAProject(t *testing.T) {
	p := newProject(t)
	plugin := loadBuiltin(t, "core/environment", abi.ExportContext)
	decide := &ruled{rules: rules()}
	source := NewContext(plugin, []string{"core/instructions", "core/date", "core/environment", "core/model"}, session.SourceSpec{}, p.ruledBy(decide))
	if diff := cmp.Diff([]string{"core/date", "core/environment", "core/instructions", "core/model"}, source.Keys()); diff != "" {
		t.Error(diff)
	}
	states, err := source.Observe(t.Context(), session.Observation{Location: p.location, Now: clock{}.Now(), Model: session.ModelRef{Provider: "local", Model: "a/b", Variant: "high"}})
	if err != nil || len(states) != 7 {
		t.Fatalf("%v, %v", states, err)
	}
	for _, state := range states[4:] {
		if state.State != session.SourceAbsent {
			t.Errorf("nothing of it is there: %+v", state)
		}
	}
	states = states[:4]
	text := ""
	for _, state := range states {
		if state.State != session.SourceValue {
			t.Errorf("%+v", state)
		}
		text += state.Baseline + "\n"
	}
	for _, part := range []string{p.location.Directory, "2026", "be kind", "mine", "You run on the model local/a/b."} {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in:\n%s", part, text)
		}
	}
	for _, plugin := range decide.plugins {
		if plugin != "" {
			t.Errorf("a builtin is asked as %q", plugin)
		}
	}
}

// A session's instances are its own; one plugin serves several sessions at once.
func TestSessionsAreKeptApart(t *testing.T) {
	guest := bridgetest.New().AnswersThen(abi.ExportContext,
		`{"ok":{"sources":[{"key":"k","state":"value","baseline":"first"}]}}`, `{"ok":{"sources":[{"key":"k","state":"value","baseline":"again"}]}}`)
	plugin, _ := load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{abi.ExportContext}})
	source := NewContext(plugin, []string{"k"}, session.SourceSpec{}, ruledBy(&ruled{}))
	for _, id := range []string{"ses_1", "ses_2"} {
		states, err := source.Observe(t.Context(), session.Observation{Session: id})
		if err != nil || states[0].Baseline != "first" {
			t.Errorf("%s: %v, %v", id, states, err)
		}
	}
}
