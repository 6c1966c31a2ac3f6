package scaffold_test

import (
	"bytes"
	"errors"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/author/scaffold"
	"github.com/plinthhost/plinth/host/plugin"
)

// files makes a plugin's files.
func files(t *testing.T, language, kind, id string) map[string][]byte {
	t.Helper()
	content, err := scaffold.Files(scaffold.Plugin{Language: language, Kind: kind, ID: id, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Every template is a whole plugin whose names are those that were asked for.
func TestEveryTemplateIsAPlugin(t *testing.T) {
	for _, language := range scaffold.Languages() {
		for _, kind := range scaffold.Kinds() {
			folder := filepath.Join(t.TempDir(), "made")
			content := files(t, language, kind, "acme/a-very-long-name-of-a-plugin")
			for name, text := range content {
				if bytes.Contains(text, []byte("new-plugin")) || bytes.Contains(text, []byte("new_plugin")) || bytes.Contains(text, []byte("../../..")) && !strings.HasPrefix(name, ".plinth/") {
					t.Errorf("%s %s: %s still has the template's names", language, kind, name)
				}
				if strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, ".plinth/") {
					if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
						t.Errorf("%s %s: %s is not formatted (%v)", language, kind, name, err)
					}
				}
			}
			if err := scaffold.Create(folder, content); err != nil {
				t.Fatal(err)
			}
			goldens, err := plugin.Goldens(folder)
			if err != nil || len(goldens) == 0 {
				t.Errorf("%s %s: %d goldens, %v", language, kind, len(goldens), err)
			}
			for _, name := range []string{"README.md", ".gitignore", "plugin.toml", ".plinth/sdk.json"} {
				if content[name] == nil {
					t.Errorf("%s %s has no %s", language, kind, name)
				}
			}
			if readme := content["README.md"]; bytes.Contains(readme, []byte("`example`")) || !bytes.Contains(readme, []byte("`acme/a-very-long-name-of-a-plugin`: its owner")) {
				t.Errorf("%s %s: README.md does not say the owner that was given", language, kind)
			}
			candidate, _ := plugin.Unpacked(folder) // its module is not built, but the manifest is read
			if m := candidate.Manifest; m.ID != "acme/a-very-long-name-of-a-plugin" || m.Dev == nil || m.Dev.Build == "" || len(m.Dev.Watch) == 0 {
				t.Errorf("%s %s: %+v", language, kind, m)
			}
		}
	}
}

// TinyGo and Go take the same sources; the command that builds them is all that differs.
func TestGoBuildsWhatTinyGoBuilds(t *testing.T) {
	for _, kind := range scaffold.Kinds() {
		small, large := files(t, "tinygo", kind, "acme/one"), files(t, "go", kind, "acme/one")
		for name := range small {
			if same := bytes.Equal(small[name], large[name]); same == (name == "plugin.toml") {
				t.Errorf("%s: %s is the same: %v", kind, name, same)
			}
		}
		if !bytes.Contains(large["plugin.toml"], []byte(`build = "GOWORK=off GOOS=wasip1 GOARCH=wasm go build `)) {
			t.Errorf("%s: %s", kind, large["plugin.toml"])
		}
	}
}

func TestNames(t *testing.T) {
	for id, want := range map[string]string{
		"acme/word-count":                 "",
		"example/a1":                      "",
		"acme/" + strings.Repeat("a", 40): "",
		"acme/" + strings.Repeat("a", 41): "at most 40 characters",
		"acme/Word":                       "lower-case letters",
		"acme/1st":                        "begins with a letter",
		"acme/a--b":                       "single hyphens",
		"acme/a-":                         "single hyphens",
		"acme/":                           "no name for a plugin",
		"acme/../x":                       "no name for a plugin",
		"acme/a/b":                        "no name for a plugin",
		"core/files":                      "the owner core is the host's own",
		"mcp/files":                       "the owner mcp is the host's own",
		"acme/serde":                      "a crate cannot be called serde; add a word, like serde-tool",
	} {
		_, err := scaffold.Files(scaffold.Plugin{Language: "rust", Kind: "tool", ID: id})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
	if got := scaffold.PluginID("one"); got != "example/one" {
		t.Error(got)
	}
	for want, p := range map[string]scaffold.Plugin{
		`no language "c"; use one of rust, tinygo, go, assemblyscript`:   {Language: "c", Kind: "tool", ID: "a/b"},
		`no kind "tools"; use one of tool, context, provider, transform`: {Language: "go", Kind: "tools", ID: "a/b"},
	} {
		if _, err := scaffold.Files(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// below lists the names in a folder.
func below(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestNothingIsOverwritten(t *testing.T) {
	parent := t.TempDir()
	folder := filepath.Join(parent, "mine")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := scaffold.Create(folder, map[string][]byte{"a/b.txt": []byte("one")}); err != nil {
		t.Fatalf("an empty folder: %v", err)
	}
	err := scaffold.Create(folder, map[string][]byte{"a/b.txt": []byte("two")})
	if !errors.Is(err, scaffold.ErrExists) || !strings.Contains(err.Error(), "nothing is overwritten; name another folder with --dir") {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "a/b.txt")); err != nil || string(text) != "one" {
		t.Errorf("%q, %v", text, err)
	}
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := scaffold.Create(file, map[string][]byte{"a": nil}); !errors.Is(err, scaffold.ErrExists) {
		t.Errorf("a file is in the place of the folder: %v", err)
	}
	if got := below(t, parent); !slices.Equal(got, []string{"file", "mine"}) {
		t.Errorf("%v", got)
	}
}

// A write that fails, here because a file cannot be a folder too, leaves nothing behind.
func TestAllOrNothing(t *testing.T) {
	parent := t.TempDir()
	err := scaffold.Create(filepath.Join(parent, "mine"), map[string][]byte{"a": nil, "a/b": nil})
	if err == nil {
		t.Error("it was written")
	}
	if got := below(t, parent); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestTheSDKIsRenewed(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "mine")
	content := files(t, "go", "tool", "acme/one")
	if err := scaffold.Create(folder, content); err != nil {
		t.Fatal(err)
	}
	state := func() scaffold.State {
		t.Helper()
		state, err := scaffold.SDKState(folder)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	if got := state(); got != (scaffold.State{Unpacked: true, Version: "v1", Current: true}) {
		t.Errorf("%+v", got)
	}
	note := filepath.Join(folder, ".plinth/sdk.json")
	stale := filepath.Join(folder, ".plinth/sdk/stale.go")
	for name, text := range map[string]string{note: `{"sdk": "go", "plinth": "v0", "sha256": "00"}`, stale: "package stale"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := state(); got != (scaffold.State{Unpacked: true, Version: "v0"}) {
		t.Errorf("%+v", got)
	}
	if err := scaffold.Renew(folder, "v2"); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != (scaffold.State{Unpacked: true, Version: "v2", Current: true}) {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("a file of the older SDK is left: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || name != ".plinth/sdk.json" && !bytes.Equal(text, content[name]) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(note, []byte(`{"sdk": "c"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := scaffold.SDKState(folder); err == nil || !strings.Contains(err.Error(), `no SDK "c"`) {
		t.Errorf("%v", err)
	}
	if got, err := scaffold.SDKState(t.TempDir()); err != nil || got.Unpacked {
		t.Errorf("a folder without: %+v, %v", got, err)
	}
}
