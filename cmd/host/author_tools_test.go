package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/toolchain"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/plugin"
)

// code is the exit code of an error.
func code(err error) int {
	if failed, is := errors.AsType[*exitError](err); is {
		return failed.code
	}
	return exitCode(err)
}

func TestAPluginIsMade(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	printed, err := alone(t, "plugin", "new", "--lang", "tinygo", "word-count")
	for _, want := range []string{"example/word-count  a tool in tinygo, in " + here, "\n  main.go\n", "\nnext:\n  cd word-count\n  plinth plugin test\n  plinth plugin add . --grant-all\n  plinth run --allow read 'call word-count "} {
		if err != nil || !strings.Contains(printed, want) {
			t.Errorf("%s, %v, want %q", printed, err, want)
		}
	}
	if strings.Contains(printed, ".plinth/") {
		t.Errorf("the SDK's files are listed: %s", printed)
	}
	var made madePlugin
	printed, err = alone(t, "plugin", "new", "--lang", "go", "--kind", "context", "acme/place", "--dir", "my places/one", "--json")
	if decodeErr := json.Unmarshal([]byte(printed), &made); err != nil || decodeErr != nil || made.ID != "acme/place" || made.Next[0] != "cd 'my places/one'" || !slices.Contains(made.Files, "plugin.toml") {
		t.Errorf("%s, %v, %v", printed, err, decodeErr)
	}
	if manifest, err := plugin.ManifestOf(made.Folder); err != nil || manifest.ID != "acme/place" || len(manifest.Contexts) != 1 {
		t.Errorf("%+v, %v", manifest, err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"word-count"}, "name the language with --lang: one of rust, tinygo, go, assemblyscript"},
		{[]string{"--lang", "c", "word-count"}, `there is no language "c"`},
		{[]string{"--lang", "go", "--kind", "tools", "word-count"}, `there is no kind "tools"`},
		{[]string{"--lang", "go", "Word"}, `"example/Word" is no name for a plugin`},
		{[]string{"--lang", "go", "word-count"}, "word-count is there already, and nothing is overwritten; name another folder with --dir"},
		{[]string{"--lang", "go", "new", "--dir", "word-count/main.go"}, "is there already, and is no folder"},
		{[]string{"--lang", "go"}, "plugin new --help"},
	} {
		_, err := alone(t, append([]string{"plugin", "new"}, test.args...)...)
		if err == nil || !strings.Contains(err.Error(), test.want) || code(err) != exitUsage {
			t.Errorf("%q: %v (%d), want %q", test.args, err, code(err), test.want)
		}
	}
}

func TestAPluginIsCalled(t *testing.T) {
	folder := author(t)
	guest := bridgetest.NewAsking().Asks(abi.ExportTool, abi.OpProgress, `{"text":"half\u001b[31m"}`, `{"ok":{"title":"t\u001b[31m","structured":`, `}}`)
	manifest := "schema = 1\nid = \"acme/pair\"\nversion = \"1.2.0\"\ndescription = \"d\"\n[[tool]]\nname = \"pair\"\ndescription = \"d\"\ninput = '{\"type\":\"object\",\"additionalProperties\":false}'\n"
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(plugin.ManifestName, manifest)
	put("guest.wasm", string(guest.Bytes()))
	printed, err := alone(t, "plugin", "call", folder, "pair", "{}", "--save", "one")
	for _, want := range []string{"progress: half[31m\n", "title  t[31m\n", "structured  {\"ok\":{}}\n", " fuel  ", "wrote testdata/one.json and testdata/one.out.json\n"} {
		if err != nil || !strings.Contains(printed, want) {
			t.Errorf("%q, %v, want %q", printed, err, want)
		}
	}
	if goldens, err := plugin.Goldens(folder); err != nil || len(goldens) != 1 {
		t.Errorf("%+v, %v", goldens, err)
	}
	put("body.json", `{"body":{"tool":"pair","input":{}}}`)
	var called calledPlugin
	printed, err = alone(t, "plugin", "call", folder, filepath.Join(folder, "body.json"), "--json")
	_, printed, _ = strings.Cut("\n"+printed, "\n{")
	printed, _, _ = strings.Cut("{"+printed, "progress:")
	if decodeErr := json.Unmarshal([]byte(printed), &called); err != nil || decodeErr != nil || called.Export != "tool" || called.Fuel == 0 || !strings.Contains(string(called.Answer), `"structured"`) {
		t.Errorf("%s, %v, %v", printed, err, decodeErr)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{folder}, exitUsage, "name one of the tools of acme/pair: pair"},
		{[]string{folder, "other"}, exitUsage, "name one of the tools of acme/pair: pair"},
		{[]string{folder, "pair", `{"n":1}`}, exitUsage, "the input does not fit the schema of pair"},
		{[]string{folder, "pair", "input.json"}, exitUsage, `the input "input.json" is no JSON object; write one, like '{"path": "todo.txt"}', or say - and give a file`},
		{[]string{folder, "pair", "--root", filepath.Join(folder, "guest.wasm")}, exitUsage, "guest.wasm is a file; name the folder that it is in"},
		{[]string{folder, "--export", "transform", filepath.Join(folder, "body.json")}, exitFailed, "acme/pair offers none, and its module does not export plinth_transform_apply"},
		{[]string{folder, "--export", "tools", "-"}, exitUsage, "--export is \"tools\"; it must be one of context, provider_classify"},
		{[]string{folder, "--export", "context"}, exitUsage, "name the file of the call"},
		{[]string{folder, "pair", "--root", filepath.Join(folder, "none")}, exitUsage, "--root: "},
		{[]string{folder, "pair", "--config", `{"a":1}`}, exitFailed, "the plugin has no settings"},
		{[]string{folder, "pair", "--save", "one"}, exitFailed, "testdata/one.json is there already"},
		{[]string{filepath.Join(folder, "guest.wasm"), "pair", "--save", "two"}, exitUsage, "--save writes into a plugin's folder"},
		{[]string{filepath.Join(folder, "none"), "pair"}, exitUsage, "no such file"},
	} {
		_, err := alone(t, append([]string{"plugin", "call"}, test.args...)...)
		if err == nil || !strings.Contains(err.Error(), test.want) || code(err) != test.code {
			t.Errorf("%q: %v (%d), want %q", test.args, err, code(err), test.want)
		}
	}
	put("guest.wasm", string(bridgetest.New().Answers(abi.ExportTool, `{"error":{"kind":"con\u001bflict\n","message":"m\u001b[31m"}}`).Bytes()))
	if _, err := alone(t, "plugin", "call", folder, "pair"); err == nil || err.Error() != "the plugin answers conflict: m[31m" || code(err) != exitFailed {
		t.Errorf("%v", err)
	}
	put("guest.wasm", string(bridgetest.New().Traps(abi.ExportTool).Bytes()))
	printed, err = alone(t, "plugin", "call", folder, "pair", "--json")
	if err == nil || !strings.Contains(printed, `"problem": "call plinth_tool_execute`) || code(err) != exitFailed {
		t.Errorf("%s, %v", printed, err)
	}
}

func TestAPluginsFolderIsExamined(t *testing.T) {
	folder := author(t)
	printed, err := alone(t, "plugin", "doctor", folder)
	if err != nil || !strings.Contains(printed, "warning  plugin.toml: dev.build: nothing says how the plugin is built\n  fix: add [dev] build") {
		t.Errorf("%s, %v", printed, err)
	}
	if err := os.WriteFile(filepath.Join(folder, "second\x1b[31m.wasm"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	printed, err = alone(t, "plugin", "doctor", folder)
	if err == nil || code(err) != exitFailed || !strings.Contains(printed, "error  the folder: there are 2 modules") || strings.Contains(printed, "\x1b") {
		t.Errorf("%q, %v", printed, err)
	}
	var found pluginCheckup
	printed, err = alone(t, "plugin", "doctor", folder, "--json")
	if decodeErr := json.Unmarshal([]byte(printed), &found); err == nil || decodeErr != nil || found.Healthy || found.Folder != folder || len(found.Programs) == 0 ||
		!slices.ContainsFunc(found.Findings, func(f toolchain.Finding) bool { return f.Severity == toolchain.Error }) {
		t.Errorf("%s, %v, %v", printed, err, decodeErr)
	}
	if printed, err = alone(t, "plugin", "doctor"); err != nil || !strings.Contains(printed, "tinygo") || strings.Contains(printed, "nothing is wrong in") {
		t.Errorf("%s, %v", printed, err)
	}
	if _, err = alone(t, "plugin", "doctor", "--fix"); err == nil || code(err) != exitUsage {
		t.Errorf("%v", err)
	}
	if _, err = alone(t, "plugin", "doctor", folder, "--fix"); err == nil || !strings.Contains(err.Error(), "the SDK in "+folder+" cannot be renewed") {
		t.Errorf("%v", err)
	}
	made := filepath.Join(t.TempDir(), "made")
	if _, err := alone(t, "plugin", "new", "--lang", "go", "made", "--dir", made); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(made, ".plinth/sdk.json"), []byte(`{"sdk":"go","plinth":"v0","sha256":"00"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if printed, err = alone(t, "plugin", "doctor", made); err != nil && !strings.Contains(printed, "is not on PATH") || !strings.Contains(printed, "the SDK is from Plinth v0 and differs") {
		t.Errorf("%s, %v", printed, err)
	}
	if printed, err = alone(t, "plugin", "doctor", made, "--fix"); err != nil && !strings.Contains(printed, "is not on PATH") || strings.Contains(printed, "differs from that") {
		t.Errorf("%s, %v", printed, err)
	}
}
