package call_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/call"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const manifest = `schema = 1
id = "acme/asks"
version = "1.0.0"
description = "d"
[[tool]]
name = "ask"
description = "d"
input = '{"type":"object","properties":{"n":{"type":"integer"}}}'
[config]
schema = '{"type":"object","properties":{"n":{"type":"integer"}}}'
[[request.fs]]
root = "location"
access = "write"
reason = "r"
`

// asks is a tool that makes an operation and answers with its answer.
func asks(operation, request string) *bridgetest.Guest {
	return bridgetest.NewAsking().Asks(abi.ExportTool, operation, request, `{"ok":{"structured":`, `}}`)
}

func engine(t *testing.T) *wasm.Engine {
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

func candidate(t *testing.T, guest *bridgetest.Guest) plugin.Candidate {
	t.Helper()
	candidate, err := plugin.Packed("test", guest.Packed(manifest), false)
	if err != nil {
		t.Fatal(err)
	}
	return candidate
}

// location is a folder with a file.
func location(t *testing.T) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "a.txt"), []byte("one two"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// run calls the tool of a guest.
func run(t *testing.T, guest *bridgetest.Guest, folder string, recorded ...plugin.GoldenOperation) (call.Call, call.Result, []string) {
	t.Helper()
	made := candidate(t, guest)
	var told []string
	golden, err := call.Tool(made.Manifest, "ask", json.RawMessage(`{}`), folder)
	if err != nil {
		t.Fatal(err)
	}
	golden.Operations = recorded
	wanted := call.Call{Golden: golden, Folder: folder,
		Log:      func(level, line string) { told = append(told, level+": "+line) },
		Progress: func(text string) { told = append(told, "progress: "+text) }}
	result, err := call.Run(t.Context(), engine(t), made, wanted)
	if err != nil {
		t.Fatal(err)
	}
	if result.Fuel == 0 || result.Duration == 0 || result.Memory == 0 {
		t.Errorf("%+v", result)
	}
	return wanted, result, told
}

func TestOperationsAreAnswered(t *testing.T) {
	folder := location(t)
	read := `{"path":"a.txt"}`
	for _, test := range []struct{ name, operation, request, folder, want string }{
		{"a file", abi.OpFSRead, read, folder, `"size":7`},
		{"a list", abi.OpFSList, `{"path":""}`, folder, `"name":"a.txt"`},
		{"a glob", abi.OpFSGlob, `{"path":"","pattern":"*.txt"}`, folder, `a.txt`},
		{"the directory by its path", abi.OpFSStat, `{"path":"` + folder + `/a.txt"}`, folder, `"size":7`},
		{"in a batch", abi.OpBatch, `{"operations":[{"operation":"fs.stat","request":` + read + `}]}`, folder, `"size":7`},
		{"no file", abi.OpFSRead, `{"path":"b.txt"}`, folder, `"kind":"not_found"`},
		{"outside", abi.OpFSRead, `{"path":"/etc/hosts"}`, folder, `"kind":"denied"`},
		{"by a way up", abi.OpFSRead, `{"path":"../../etc/hosts"}`, folder, `"kind":"denied"`},
		{"without a folder", abi.OpFSRead, read, "", `"kind":"denied","message":"this call has no files; give it some to read with --root FOLDER"`},
		{"a change", abi.OpFSCommit, `{"changes":[{"op":"remove","path":"a.txt"}]}`, folder, `fs.commit is not carried out by plinth plugin call; record an answer`},
		{"a change in a batch", abi.OpBatch, `{"operations":[{"operation":"fs.commit","request":{"changes":[{"op":"remove","path":"a.txt"}]}}]}`, folder, `"kind":"denied"`},
		{"a program", abi.OpProcessRun, `{"command":"true"}`, folder, `process.run is not carried out`},
		{"the network", abi.OpHTTPFetch, `{"url":"https://a.example"}`, folder, `http.fetch is not carried out`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, result, _ := run(t, asks(test.operation, test.request), test.folder)
			if !strings.Contains(string(result.OK), test.want) {
				t.Errorf("%s, want %s", result.OK, test.want)
			}
			if len(result.Operations) != 1 || result.Operations[0].Name != test.operation || string(result.Operations[0].Request) != test.request {
				t.Errorf("%+v", result.Operations)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(folder, "a.txt")); err != nil {
		t.Error(err)
	}
}

func TestLogAndProgressAreShown(t *testing.T) {
	for operation, request := range map[string]string{abi.OpLog: `{"level":"warn","message":"careful"}`, abi.OpProgress: `{"text":"half"}`} {
		_, result, told := run(t, asks(operation, request), "")
		if want := map[string]string{abi.OpLog: "warn: careful", abi.OpProgress: "progress: half"}[operation]; len(told) != 1 || told[0] != want || len(result.Operations) != 0 {
			t.Errorf("%q, %+v, want %q", told, result.Operations, want)
		}
	}
	_, _, told := run(t, bridgetest.NewPrinting().Prints(abi.ExportTool, "a\n", `{"ok":{}}`), "")
	if len(told) != 1 || told[0] != "info: a" {
		t.Errorf("%q", told)
	}
}

func TestRecordedAnswersComeFirst(t *testing.T) {
	answer := abi.EncodeMessage([]byte(`{"ok":{"exit_code":7}}`), nil)
	_, result, _ := run(t, asks(abi.OpProcessRun, `{"command":"true"}`), "",
		plugin.GoldenOperation{Name: abi.OpProcessRun, Request: json.RawMessage(`{"command":"false"}`), Answer: abi.EncodeMessage([]byte(`{"ok":{}}`), nil)},
		plugin.GoldenOperation{Name: abi.OpProcessRun, Request: json.RawMessage(`{ "command": "true" }`), Answer: answer})
	if !strings.Contains(string(result.OK), `"exit_code":7`) {
		t.Errorf("%s", result.OK)
	}
}

func TestWhatEndsACall(t *testing.T) {
	broken := candidate(t, bridgetest.New().Traps(abi.ExportTool))
	golden, err := call.Tool(broken.Manifest, "ask", json.RawMessage(`{}`), "")
	if err != nil {
		t.Fatal(err)
	}
	wanted := call.Call{Golden: golden, Log: func(string, string) {}, Progress: func(string) {}}
	var trap *wasm.TrapError
	if _, err := call.Run(t.Context(), engine(t), broken, wanted); !errors.As(err, &trap) {
		t.Errorf("%v", err)
	}
	if _, err := call.Run(t.Context(), engine(t), candidate(t, bridgetest.New().Answers(abi.ExportTool, `{}`)), wanted); err == nil || !strings.Contains(err.Error(), "neither ok nor error") {
		t.Errorf("%v", err)
	}
	result, err := call.Run(t.Context(), engine(t), candidate(t, bridgetest.New().Answers(abi.ExportTool, `{"error":{"kind":"conflict","message":"m"}}`)), wanted)
	if err != nil || result.Error == nil || result.Error.Kind != abi.KindConflict || result.OK != nil {
		t.Errorf("%+v, %v", result, err)
	}
	wanted.Config = json.RawMessage(`{"n":"text"}`)
	if _, err := call.Run(t.Context(), engine(t), broken, wanted); err == nil || !strings.Contains(err.Error(), "does not fit the plugin's schema") {
		t.Errorf("%v", err)
	}
	for input, want := range map[string]string{`{"n":"a"}`: "the input does not fit the schema of ask, so the model would be told", `{`: "does not fit"} {
		if _, err := call.Tool(broken.Manifest, "ask", json.RawMessage(input), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", input, err, want)
		}
	}
	if _, err := call.Tool(broken.Manifest, "tell", nil, ""); err == nil || !strings.Contains(err.Error(), `has no tool "tell"; it has ["ask"]`) {
		t.Errorf("%v", err)
	}
}

// What would fail in a session fails here, with what to do.
func TestWhatASessionWouldRefuse(t *testing.T) {
	promises := strings.Replace(manifest, "name = \"ask\"", "timeout_ms = 50\noutput = '{\"type\":\"object\",\"required\":[\"n\"]}'\nname = \"ask\"", 1)
	for _, test := range []struct {
		guest *bridgetest.Guest
		entry string
		want  string
	}{
		{bridgetest.New().Answers(abi.ExportTool, `{"ok":{"structured":{"n":1}}}`), abi.ExportTool, ""},
		{bridgetest.New().Answers(abi.ExportTool, `{"error":{"kind":"conflict","message":"m"}}`), abi.ExportTool, ""},
		{bridgetest.New().Answers(abi.ExportTool, `{"ok":{"title":"t"}}`), abi.ExportTool, "the answer of ask has no structured output, so the call fails in a session; answer one, or take output out of its [[tool]]"},
		{bridgetest.New().Answers(abi.ExportTool, `{"ok":{"structured":{}}}`), abi.ExportTool, "the structured output of ask does not fit its output schema, so the call fails in a session: missing property 'n'"},
		{bridgetest.New().Loops(abi.ExportTool), abi.ExportTool, "deadline passed after 50ms; let it end sooner, or raise timeout_ms of its [[tool]]"},
		{bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`), abi.ExportTransform, "no such entry: acme/asks offers none, and its module does not export plinth_transform_apply"},
	} {
		made, err := plugin.Packed("test", test.guest.Packed(promises), false)
		if err != nil {
			t.Fatal(err)
		}
		golden, err := call.Tool(made.Manifest, "ask", json.RawMessage(`{}`), "")
		if err != nil {
			t.Fatal(err)
		}
		golden.Entry = test.entry
		_, err = call.Run(t.Context(), engine(t), made, call.Call{Golden: golden, Log: func(string, string) {}, Progress: func(string) {}})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasSuffix(err.Error(), test.want)) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

// What is saved is a golden, without the paths of this machine.
func TestACallIsSaved(t *testing.T) {
	files, folder := location(t), t.TempDir()
	guest := asks(abi.OpFSRead, `{"path":"`+files+`/a.txt"}`)
	for name, text := range map[string]string{plugin.ManifestName: manifest, "guest.wasm": string(guest.Bytes())} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wanted, result, _ := run(t, guest, files)
	saved, err := call.Save(folder, "first", "tool", wanted, result)
	if err != nil || saved != (call.Saved{Input: "testdata/first.json", Output: "testdata/first.out.json"}) {
		t.Fatalf("%+v, %v", saved, err)
	}
	goldens, err := plugin.Goldens(folder)
	if err != nil || len(goldens) != 1 || len(goldens[0].Operations) != 1 {
		t.Fatalf("%+v, %v", goldens, err)
	}
	for _, name := range []string{saved.Input, saved.Output} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || strings.Contains(string(text), files) {
			t.Errorf("%s, %v: the folder of this machine is in it", text, err)
		}
	}
	_, raw, err := abi.DecodeMessage(goldens[0].Operations[0].Answer)
	if err != nil || string(raw) != "one two" || string(goldens[0].Operations[0].Request) != `{"path":"/location/a.txt"}` && !strings.Contains(string(goldens[0].Operations[0].Request), "/location/a.txt") {
		t.Errorf("%q, %+v, %v", raw, goldens[0].Operations[0], err)
	}
	before, err := os.ReadFile(filepath.Join(folder, plugin.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Save(folder, "first", "tool", wanted, result); err == nil || !strings.Contains(err.Error(), "testdata/first.json is there already; save the call under another name") {
		t.Errorf("%v", err)
	}
	if after, err := os.ReadFile(filepath.Join(folder, plugin.ManifestName)); err != nil || string(after) != string(before) {
		t.Errorf("%s, %v", after, err)
	}
	if _, err := call.Save(folder, "../first", "tool", wanted, result); err == nil || !strings.Contains(err.Error(), "is no name for a golden") {
		t.Errorf("%v", err)
	}
}
