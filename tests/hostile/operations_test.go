package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store/sqlite"
)

// somebody is a plugin in a session, with a marker that nobody else may see.
type somebody struct {
	plugin, session, marker string

	module  bridge.Caller
	request []byte // a batch, when it asks through relays

	mu       sync.Mutex
	progress []string
	log      []string
	asked    []session.PermissionRequest
	task     func(ctx context.Context) error
}

// Call has a guest of Relays ask for a batch.
func (s *somebody) Call(ctx context.Context, call bridge.Call) ([]byte, error) {
	if s.request != nil {
		call.Message = bridgetest.Relay(abi.OpBatch, s.request)
	}
	return s.module.Call(ctx, call)
}

// Authorise allows what is asked, and remembers who was.
func (s *somebody) Authorise(_ context.Context, request session.PermissionRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, request)
	return nil
}

// Effects answers that everything is asked for.
func (s *somebody) Effects(_ context.Context, _ string, resources []string) ([]session.Effect, error) {
	return slices.Repeat([]session.Effect{session.Ask}, len(resources)), nil
}

// Progress keeps what is shown.
func (s *somebody) Progress(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = append(s.progress, text)
}

// RunTask lets the test decide.
func (s *somebody) RunTask(ctx context.Context, _ session.Task) (session.TaskResult, error) {
	return session.TaskResult{Session: "ses_child"}, s.task(ctx)
}

// execute calls the plugin's tool in the session.
func (s *somebody) execute(ctx context.Context, services *bridge.Services) (string, error) {
	plugin := &bridge.Plugin{ID: s.plugin, Revision: "r", Caller: s, Log: func(_, line string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = append(s.log, line)
	}}
	reach := &bridge.Reach{Services: services, Grants: bridge.Grants{KV: true, Roots: map[string]bridge.Access{"location": bridge.AccessRead},
		Session: map[string]bool{abi.OpTaskRun: true}}}
	tool, err := bridge.NewTool(plugin, session.ToolDefinition{Name: "probe", Input: []byte(`{"type":"object"}`)}, reach)
	if err != nil {
		return "", err
	}
	output, err := tool.Execute(ctx, session.ToolCall{ID: "call", Input: []byte("{}"), Session: s.session, Host: s,
		Location: session.Location{Directory: "/", Root: "/"}})
	return string(output.Structured), err
}

// bridged is an engine for guests of the bridge.
func bridged(t *testing.T) (*wasm.Engine, *bridge.Services) {
	t.Helper()
	engine, err := wasm.New(wasm.Options{Contract: bridge.Contract(), Refuse: bridge.Refuse, CacheDir: t.TempDir() + "/cache"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	kept, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine, &bridge.Services{Store: bridge.NewPluginStore(kept.KV()), Blobs: kept.Blobs(), Clock: session.SystemClock{}}
}

func loadGuest(t *testing.T, engine *wasm.Engine, name string, guest *bridgetest.Guest, isolation wasm.Isolation) *wasm.Module {
	t.Helper()
	module, err := engine.Load(t.Context(), wasm.Spec{Name: name, Wasm: guest.Bytes(), Entries: []string{abi.ExportTool},
		CheckInit: bridge.CheckInit, Isolation: isolation})
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// batch is what everybody does: leave the marker in every place that there is.
func (s *somebody) batch(t *testing.T, known []string) []byte {
	t.Helper()
	var batch abi.Batch
	add := func(operation string, request any) {
		encoded, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		batch.Operations = append(batch.Operations, abi.BatchOperation{Operation: operation, Request: encoded})
	}
	add(abi.OpLog, abi.Log{Level: "info", Message: s.marker})
	add(abi.OpProgress, abi.Progress{Text: s.marker})
	value, err := json.Marshal(s.marker)
	if err != nil {
		t.Fatal(err)
	}
	add(abi.OpKVSet, abi.KVSet{Scope: abi.KVSession, Key: "shared", Value: value})
	add(abi.OpKVSet, abi.KVSet{Scope: abi.KVSession, Key: s.marker, Value: value})
	add(abi.OpKVGet, abi.KVGet{Scope: abi.KVSession, Key: "shared"})
	add(abi.OpKVList, abi.KVList{Scope: abi.KVSession})
	add(abi.OpPermissionAsk, abi.PermissionAsk{Action: "deploy", Resources: []string{"shared", s.marker}})
	add(abi.OpFSRead, map[string]string{"path": "none/" + s.marker})
	for _, key := range known { // as if it had guessed the others' keys
		add(abi.OpKVGet, abi.KVGet{Scope: abi.KVSession, Key: key})
	}
	encoded, err := json.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	return abi.EncodeMessage(encoded, nil)
}

// Two plugins and two sessions cannot see each other's values, memory, approvals,
// progress, log or errors, in every mode of isolation, however many call at once.
func TestNobodySeesAnothersMarker(t *testing.T) {
	for _, isolation := range []wasm.Isolation{wasm.Restore, wasm.Fresh, wasm.Sticky} {
		t.Run(fmt.Sprint(isolation), func(t *testing.T) {
			engine, services := bridged(t)
			var all []*somebody
			var markers []string
			for _, plugin := range []string{"acme/one", "acme/two"} {
				module := bridge.NewCaller(loadGuest(t, engine, plugin, bridgetest.NewAsking().Relays(abi.ExportTool, `{"ok":{"structured":`, `}}`), isolation))
				for _, id := range []string{"ses_1", "ses_2"} {
					marker := fmt.Sprintf("marker-%d", len(all))
					all = append(all, &somebody{plugin: plugin, session: id, marker: marker, module: module})
					markers = append(markers, marker)
				}
			}
			const rounds = 10
			answers := make([][]string, len(all))
			var group sync.WaitGroup
			for i, one := range all {
				one.request = one.batch(t, slices.DeleteFunc(slices.Clone(markers), func(m string) bool { return m == one.marker }))
				group.Go(func() {
					for range rounds {
						answer, err := one.execute(t.Context(), services)
						if err != nil {
							t.Error(err)
						}
						answers[i] = append(answers[i], answer)
					}
				})
			}
			group.Wait()
			for i, one := range all {
				if len(one.progress) != rounds || len(one.log) != rounds || len(one.asked) != rounds {
					t.Errorf("%s in %s: %d progress, %d log, %d asked", one.plugin, one.session, len(one.progress), len(one.log), len(one.asked))
				}
				for _, marker := range markers {
					if marker == one.marker {
						continue
					}
					seen := fmt.Sprint(one.progress, one.log, one.asked)
					for _, answer := range answers[i] {
						// It names the keys that it guessed itself, in errors that they are not there.
						seen += strings.ReplaceAll(answer, fmt.Sprintf(`there is no key \"%s\"`, marker), "")
					}
					if strings.Contains(seen, marker) {
						t.Errorf("%s in %s sees %s: %s", one.plugin, one.session, marker, seen)
					}
				}
				if own := strings.Count(strings.Join(answers[i], ""), one.marker); own < rounds {
					t.Errorf("%s in %s sees its own marker only %d times", one.plugin, one.session, own)
				}
			}
		})
	}
}

// What a call leaves in memory and globals is found by no call of another session, and
// by no call at all unless its isolation says so.
func TestMemoryIsApart(t *testing.T) {
	for _, isolation := range []wasm.Isolation{wasm.Restore, wasm.Fresh, wasm.Sticky} {
		t.Run(fmt.Sprint(isolation), func(t *testing.T) {
			engine, services := bridged(t)
			module := loadGuest(t, engine, "acme/memory", bridgetest.New().AnswersThen(abi.ExportTool,
				`{"ok":{"structured":"first"}}`, `{"ok":{"structured":"again"}}`), isolation)
			for round := range 3 {
				for _, id := range []string{"ses_1", "ses_2", "ses_3"} {
					one := &somebody{plugin: "acme/memory", session: id, module: bridge.NewCaller(module)}
					want := `"first"`
					if isolation == wasm.Sticky && round > 0 {
						want = `"again"` // of its own session
					}
					if answer, err := one.execute(t.Context(), services); err != nil || answer != want {
						t.Errorf("round %d of %s: %s, %v", round, id, answer, err)
					}
				}
			}
		})
	}
}

// A guest that asks without end gets a bounded number of operations and a bounded
// log, is told so, and leaves the next call its own.
func TestFloodsOfOperations(t *testing.T) {
	for operation, request := range map[string]any{
		abi.OpLog:             abi.Log{Level: "info", Message: strings.Repeat("x", 4<<10)},
		abi.OpProgress:        abi.Progress{Text: strings.Repeat("x", 4<<10)},
		abi.OpKVSet:           abi.KVSet{Key: "k", Value: []byte(`"` + strings.Repeat("x", 4<<10) + `"`)},
		abi.OpPermissionCheck: abi.PermissionCheck{Action: "a", Resources: []string{"r"}},
		"no.such":             abi.None{},
	} {
		t.Run(operation, func(t *testing.T) {
			engine, services := bridged(t)
			encoded, err := json.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			module := loadGuest(t, engine, "acme/flood", bridgetest.NewAsking().AsksOften(abi.ExportTool, 1500, operation, string(encoded), `{"ok":{"structured":`, `}}`), wasm.Restore)
			for range 2 {
				one := &somebody{plugin: "acme/flood", session: "ses_1", module: bridge.NewCaller(module)}
				answer, err := one.execute(t.Context(), services)
				if err != nil || !strings.Contains(answer, `"kind":"limit"`) {
					t.Errorf("%s, %v", answer, err)
				}
				logged, refused := 0, 0
				for _, line := range one.log {
					if strings.Contains(line, "operations in one call: 1001, the limit is 1000") {
						refused++ // by the host
						continue
					}
					logged += len(line)
				}
				if refused != 1 || logged > bridge.MaxLogBytes || len(one.progress) > 1000 {
					t.Errorf("%d bytes of log, %d of progress, told %d times", logged, len(one.progress), refused)
				}
			}
		})
	}
}

// A tool whose task calls the same tool again, and so on, in the only place of its
// module: every call waits without a place, so each inner one has it, and all end.
func TestToolsThatCallThemselves(t *testing.T) {
	engine, services := bridged(t)
	guest := bridgetest.NewAsking().Asks(abi.ExportTool, abi.OpTaskRun, `{"description":"d","prompt":"p","agent":"build"}`, `{"ok":{"structured":`, `}}`)
	module, err := engine.Load(t.Context(), wasm.Spec{Name: "acme/ring", Wasm: guest.Bytes(), Entries: []string{abi.ExportTool}, CheckInit: bridge.CheckInit,
		Limits: wasm.Limits{Instances: 1, PoolMiB: 64}})
	if err != nil {
		t.Fatal(err)
	}
	const depth = 10
	reached := 0
	one := &somebody{plugin: "acme/ring", session: "ses_1", module: bridge.NewCaller(module)}
	one.task = func(ctx context.Context) error {
		if reached++; reached == depth {
			return nil
		}
		_, err := one.execute(ctx, services)
		return err
	}
	answer, err := one.execute(t.Context(), services)
	if err != nil || reached != depth || !strings.Contains(answer, `"session":"ses_child"`) {
		t.Errorf("%s, %v, %d deep", answer, err, reached)
	}
	if stats := module.Stats(); stats.Leased != 0 || stats.Parked != 0 {
		t.Errorf("%+v", stats)
	}
}
