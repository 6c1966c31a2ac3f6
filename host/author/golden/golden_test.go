package golden_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/build"
	"github.com/plinthhost/plinth/host/author/golden"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const manifest = `schema = 1
id = "acme/gold"
version = "1.0.0"
description = "d"
[[tool]]
name = "a"
description = "d"
input = '{"type":"object"}'
[isolation]
mode = "sticky"
[[golden]]
export = "tool"
input = "in.json"
output = "new/out.json"
`

// built is a plugin's folder with a module and files, as a build left it.
func built(t *testing.T, guest *bridgetest.Guest, files map[string]string) (string, build.Result) {
	t.Helper()
	folder := t.TempDir()
	all := map[string]string{plugin.ManifestName: manifest, "guest.wasm": string(guest.Bytes()), "in.json": `{"body":{"tool":"a"}}`}
	maps.Copy(all, files)
	for name, text := range all {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder, look(t, folder)
}

func look(t *testing.T, folder string) build.Result {
	t.Helper()
	result, err := build.Look(folder)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func newEngine(t *testing.T) *wasm.Engine {
	t.Helper()
	engine, err := plugin.NewEngine(plugin.EngineOptions{}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

func only(t *testing.T, results []golden.Result, err error) golden.Result {
	t.Helper()
	if err != nil || len(results) != 1 {
		t.Fatalf("%+v, %v", results, err)
	}
	return results[0]
}

func TestAGoldenThatHolds(t *testing.T) {
	_, result := built(t, bridgetest.New().Reflects(abi.ExportTool, `{"ok":{"title":"T","metadata":`, `}}`),
		map[string]string{"new/out.json": `{"ok":{"title":"T","metadata":{"deadline_ms":10000,"meta":{"plugin":"acme/gold"},"body":{"tool":"a"}}}}`})
	results, err := golden.Run(t.Context(), newEngine(t), result)
	got := only(t, results, err)
	if !got.Passed || got.Written || got.Fuel <= 0 || got.Memory == 0 || got.Duration() <= 0 || got.Input != "in.json" || got.Output != "new/out.json" || got.Export != "tool" || !golden.Passed(results) {
		t.Errorf("%+v", got)
	}
}

func TestAGoldenThatFailsShowsWhere(t *testing.T) {
	folder, result := built(t, bridgetest.New().Answers(abi.ExportTool, `{"ok":{"title":"T"}}`), map[string]string{"new/out.json": `{"ok":{"title":"U"}}`})
	results, err := golden.Run(t.Context(), newEngine(t), result)
	got := only(t, results, err)
	if diff := cmp.Diff([]golden.Difference{{Path: "ok.title", Want: `"U"`, Got: `"T"`}}, got.Differences); diff != "" || got.Passed ||
		got.Problem != "the answer is not what new/out.json holds" || golden.Passed(results) {
		t.Errorf("%+v %s", got, diff)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "new/out.json")); err != nil || string(text) != `{"ok":{"title":"U"}}` {
		t.Errorf("running a golden changed it: %s, %v", text, err)
	}
}

func TestAGoldenThatIsNotRecordedYet(t *testing.T) {
	for _, answer := range []string{`{"ok":{"title":"T"}}`, `{"ok":null}`} { // also what stands in for it
		folder, result := built(t, bridgetest.New().Answers(abi.ExportTool, answer), nil)
		engine := newEngine(t)
		results, err := golden.Run(t.Context(), engine, result)
		got := only(t, results, err)
		if got.Passed || len(got.Differences) > 0 || got.Problem != filepath.Join(folder, "new/out.json")+" is not there, or holds no answer; plinth plugin test --update writes it" {
			t.Errorf("%s: %+v", answer, got)
		}
		results, err = golden.Update(t.Context(), engine, folder, result)
		if got := only(t, results, err); !got.Passed || !got.Written || got.Problem != "" {
			t.Errorf("%s: %+v", answer, got)
		}
		results, err = golden.Run(t.Context(), engine, look(t, folder))
		if got := only(t, results, err); !got.Passed || got.Written {
			t.Errorf("%s: what was written does not hold: %+v", answer, got)
		}
	}
}

func TestAnUpdateWritesWhatChanged(t *testing.T) {
	for _, test := range []struct{ before, after string }{
		{`{"ok":{"title":"U"}}`, "{\n  \"ok\": {\n    \"title\": \"T\"\n  }\n}\n"},
		{`not JSON`, "{\n  \"ok\": {\n    \"title\": \"T\"\n  }\n}\n"},
		{` {"ok" : {"title":"T"}}`, ` {"ok" : {"title":"T"}}`}, // the same stays as its author wrote it
	} {
		folder, result := built(t, bridgetest.New().Answers(abi.ExportTool, `{"ok":{"title":"T"}}`), map[string]string{"new/out.json": test.before})
		results, err := golden.Update(t.Context(), newEngine(t), folder, result)
		if got := only(t, results, err); !got.Passed || got.Written != (test.before != test.after) || got.Differences != nil {
			t.Errorf("%s: %+v", test.before, got)
		}
		if text, err := os.ReadFile(filepath.Join(folder, "new/out.json")); err != nil || string(text) != test.after {
			t.Errorf("%s: %s, %v", test.before, text, err)
		}
		if left, err := filepath.Glob(filepath.Join(folder, "new", ".*")); err != nil || len(left) > 0 {
			t.Errorf("left: %q, %v", left, err)
		}
	}
}

// What has no answer to record stays as it is.
func TestAnUpdateRecordsNoDoubtfulAnswer(t *testing.T) {
	const before = `{"ok":{"title":"U"}}`
	for _, test := range []struct {
		name, want string
		guest      *bridgetest.Guest
	}{
		{"a trap", "trap in plinth_tool_execute", bridgetest.New().Traps(abi.ExportTool)},
		{"another operation", "the plugin makes other operations than recorded", bridgetest.NewAsking().Asks(abi.ExportTool, "fs.stat", `{}`, `{"ok":{"structured":`, `}}`)},
		{"no answer", "the answer is not what new/out.json holds", bridgetest.New().Answers(abi.ExportTool, `{"content":[]}`)},
		{"two answers", "a second call on the same instance does not repeat the first", bridgetest.New().AnswersThen(abi.ExportTool, `{"ok":{"title":"T"}}`, `{"ok":{"title":"V"}}`)},
	} {
		for _, files := range []map[string]string{{"new/out.json": before}, nil} {
			folder, result := built(t, test.guest, files)
			results, err := golden.Update(t.Context(), newEngine(t), folder, result)
			got := only(t, results, err)
			if got.Passed || got.Written || files != nil && !strings.Contains(got.Problem, test.want) || got.Problem == "" {
				t.Errorf("%s: %+v", test.name, got)
			}
			text, err := os.ReadFile(filepath.Join(folder, "new/out.json"))
			if files == nil && !errors.Is(err, os.ErrNotExist) || files != nil && string(text) != before {
				t.Errorf("%s: %s, %v", test.name, text, err)
			}
		}
	}
}

// Links lead no write out of the folder.
func TestAnUpdateWritesNothingOutside(t *testing.T) {
	outside := t.TempDir()
	for _, link := range []struct{ name, target string }{{"new", outside}, {"new/out.json", filepath.Join(outside, "out.json")}} {
		folder, _ := built(t, bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`), nil)
		path := filepath.Join(folder, link.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(link.target, path)); err != nil {
			t.Fatal(err)
		}
		if _, err := golden.Update(t.Context(), newEngine(t), folder, look(t, folder)); err == nil || !strings.Contains(err.Error(), "new/out.json") {
			t.Errorf("%s: %v", link.name, err)
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v, %v", link.name, entries, err)
		}
	}
}

func TestAModuleThatDoesNotLoad(t *testing.T) {
	guest := bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`).Answers(abi.ExportInit, `{"error":{"kind":"invalid_input","message":"no"}}`)
	folder, result := built(t, guest, map[string]string{"new/out.json": `{"ok":{}}`})
	for _, run := range []func() ([]golden.Result, error){
		func() ([]golden.Result, error) { return golden.Run(t.Context(), newEngine(t), result) },
		func() ([]golden.Result, error) { return golden.Update(t.Context(), newEngine(t), folder, result) },
	} {
		if results, err := run(); err == nil || !strings.HasSuffix(err.Error(), "invalid_input: no") || results != nil {
			t.Errorf("%v, %v", results, err)
		}
	}
}
