package replay_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/plugins/builtin"
	"github.com/plinthhost/plinth/session"
)

// builtinSpec is a committed module as the host loads it.
func builtinSpec(t testing.TB, id string, entries ...string) wasm.Spec {
	t.Helper()
	for _, one := range builtin.All() {
		if one.ID == id {
			return wasm.Spec{Name: id, Wasm: one.Wasm, Entries: entries, Builtin: true, Limits: wasm.Limits{MemoryMiB: 128}}
		}
	}
	t.Fatalf("there is no builtin %s", id)
	return wasm.Spec{}
}

// plugin puts the stage behind a port.
func (s *stage) plugin(t testing.TB) *bridge.Plugin {
	return &bridge.Plugin{ID: s.spec.Name, Revision: "r1", Builtin: true, Caller: bridge.NewCaller(s),
		Log: func(level, line string) { t.Logf("%s: %s", level, line) }}
}

type clock struct{}

func (clock) Now() time.Time { return time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC) }

// permissive allows everything.
type permissive struct{ session.ToolHost }

func (permissive) Authorise(context.Context, session.PermissionRequest) error { return nil }

func (permissive) Effects(_ context.Context, _ string, resources []string) ([]session.Effect, error) {
	effects := make([]session.Effect, len(resources))
	for i := range effects {
		effects[i] = session.Allow
	}
	return effects, nil
}

func (permissive) Progress(string) {}

type rules struct{}

func (rules) Effects(ctx context.Context, _ session.Asker, _, action string, resources []string) ([]session.Effect, error) {
	return permissive{}.Effects(ctx, action, resources)
}

// project is a folder with files, resolved.
func project(t testing.TB) session.Location {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/a\n", "AGENTS.md": "Write short sentences.\n",
		"long.txt": strings.Repeat("a line with <html> & \"quotes\"\n", 3000), "bytes.bin": "\x00\x01\xff\xfe",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return session.Location{Directory: folder, Root: folder}
}

func reach() *bridge.Reach {
	return &bridge.Reach{Services: &bridge.Services{Clock: clock{}, Rules: rules{}},
		Grants: bridge.Grants{Roots: map[string]bridge.Access{bridge.RootLocation: bridge.AccessRead, bridge.RootProject: bridge.AccessRead}}}
}

// A call of a builtin tool over real files is a file that runs without them, with
// the same answer for the same fuel: the first call of an instance and later ones.
func TestToolRunsWithoutItsFiles(t *testing.T) {
	for _, isolation := range []wasm.Isolation{wasm.Restore, wasm.Fresh} {
		t.Run(string(isolation), func(t *testing.T) {
			spec := builtinSpec(t, "core/files", abi.ExportTool)
			spec.Isolation = isolation
			s := newStage(t, spec, replay.Options{})
			tool, err := bridge.NewTool(s.plugin(t), session.ToolDefinition{Name: "read", Input: []byte(`{"type":"object"}`)}, reach())
			if err != nil {
				t.Fatal(err)
			}
			location := project(t)
			failed := 0
			for _, input := range []string{
				`{"path":"long.txt","offset":7,"limit":900}`, `{"path":"."}`, `{"path":"nothing.txt"}`, `{"path":"bytes.bin"}`,
				`{"path":"long.txt","offset":7,"limit":900}`, `{"paht":1}`,
			} {
				_, err := tool.Execute(t.Context(), session.ToolCall{ID: "call_" + input, Input: []byte(input), Session: "ses_1",
					Location: location, Host: permissive{}})
				if err != nil {
					failed++
				}
			}
			if failed == 0 || failed == 6 {
				t.Errorf("%d calls failed", failed)
			}
			if err := os.RemoveAll(location.Directory); err != nil {
				t.Fatal(err)
			}
			asked := 0
			for _, recording := range s.all {
				recording = reread(t, recording)
				if report := mustRepeat(t, spec, recording); report.Got.Fuel < 1000 {
					t.Errorf("a call used %d of fuel", report.Got.Fuel)
				}
				for _, step := range recording.Steps {
					if step.Operation != nil {
						asked++
					}
				}
				if recording.End.Failed {
					failed--
				}
				if recording.Plugin != "core/files" || !strings.HasPrefix(recording.Call, "call_{") || recording.Host != "1.2.3" ||
					recording.Isolated != isolation || !strings.Contains(string(recording.Init), `"body"`) {
					t.Errorf("header %+v", recording.Header)
				}
			}
			if len(s.all) != 6 || asked < 8 || failed != 0 {
				t.Errorf("%d recordings with %d operations, %d failures are missing", len(s.all), asked, failed)
			}
		})
	}
}

// A context source and a codec replay as well.
func TestOtherKindsOfCallsRepeat(t *testing.T) {
	t.Run("context", func(t *testing.T) {
		spec := builtinSpec(t, "core/environment", abi.ExportContext)
		s := newStage(t, spec, replay.Options{})
		location := project(t)
		states, err := bridge.NewContext(s.plugin(t), []string{"core/environment"}, session.SourceSpec{}, reach()).Observe(t.Context(),
			session.Observation{Session: "ses_1", Agent: "build", Location: location, Now: clock{}.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if len(states) != 7 || !strings.Contains(states[3].Baseline, "short sentences") {
			t.Errorf("observed %v", states)
		}
		if err := os.RemoveAll(location.Directory); err != nil {
			t.Fatal(err)
		}
		mustRepeat(t, spec, s.only(t))
	})
	t.Run("codec", func(t *testing.T) {
		spec := builtinSpec(t, "core/openai", abi.ExportProviderClassify)
		spec.Pure = true
		s := newStage(t, spec, replay.Options{})
		input := abi.EncodeMessage([]byte(`{"deadline_ms":20,"meta":{},"body":{"provider":"openai","status":429,"headers":{"Retry-After":"2"},"body":"{\"error\":{}}"}}`), nil)
		if _, err := s.Call(t.Context(), wasm.Request{Entry: abi.ExportProviderClassify, Input: input, Lane: wasm.LaneQuick}); err != nil {
			t.Fatal(err)
		}
		recording := s.only(t)
		if recording.Offered || recording.End.Failed {
			t.Errorf("recorded %+v, %s", recording.Header, recording.End.Output)
		}
		mustRepeat(t, spec, recording)
	})
}
