package bridge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

// keeping gives the rig a data folder with a kept output and something of Plinth's
// own in it.
func keeping(t *testing.T) (r *rig, data string) {
	t.Helper()
	r = newRig(t)
	data, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plinth.db": "own", "tool-output/tool_1": "one\nneedle\n", "tool-output/tool_2": "other\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(data, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../plinth.db", filepath.Join(data, "tool-output", "tool_link")); err != nil {
		t.Fatal(err)
	}
	r.reach.Private = []string{data}
	r.reach.Outputs = filepath.Join(data, "tool-output")
	return r, data
}

// Kept outputs are read and searched like other files outside of the location, by
// their absolute paths.
func TestReadingKeptOutputs(t *testing.T) {
	r, data := keeping(t)
	folder := filepath.Join(data, "tool-output")
	file := folder + "/tool_1"
	external := session.PermissionRequest{Action: "external_directory", Resources: []string{folder + "/*"}, Save: []string{folder + "/*"}, Before: true}
	reading := func(name string) session.PermissionRequest {
		return session.PermissionRequest{Action: "read", Resources: []string{name}, Save: []string{name}, Before: true}
	}
	for _, test := range []struct {
		operation string
		request   map[string]any
		want      string // in the answer
		asked     []session.PermissionRequest
	}{
		{"fs.read", map[string]any{"path": file}, file, []session.PermissionRequest{external, reading(file)}},
		{"fs.stat", map[string]any{"path": file}, file, []session.PermissionRequest{external}},
		{"fs.list", map[string]any{"path": folder}, file, []session.PermissionRequest{external, reading(folder)}},
		{"fs.glob", map[string]any{"path": folder, "pattern": "tool_*"}, file, []session.PermissionRequest{external, reading(folder)}},
		{"fs.grep", map[string]any{"path": folder, "pattern": "needle"}, file, []session.PermissionRequest{external, reading(folder)}},
	} {
		r.host.asked, r.host.rules = nil, []session.Rule{rule("read", "*", session.Allow), rule("external_directory", folder+"/*", session.Allow)}
		answer := r.ask(t, test.operation, encoded(t, test.request))
		if failed := failure(t, answer); failed.Kind != "" || !strings.Contains(answer, encoded(t, test.want)) {
			t.Errorf("%s: %s", test.operation, answer)
		}
		if r.host.asked != nil {
			t.Errorf("%s asks where the rules allow: %+v", test.operation, r.host.asked)
		}
		r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
		r.ask(t, test.operation, encoded(t, test.request))
		if diff := cmp.Diff(test.asked, r.host.asked); diff != "" {
			t.Errorf("%s: %s", test.operation, diff)
		}
		r.host.rules = []session.Rule{rule("*", "*", session.Allow), rule("external_directory", folder+"/*", session.Deny)}
		if failed := failure(t, r.ask(t, test.operation, encoded(t, test.request))); failed.Kind != abi.KindDenied {
			t.Errorf("%s where the rules deny: %+v", test.operation, failed)
		}
	}
}

// The way to kept outputs leads nowhere else, and changes nothing.
func TestKeptOutputsOpenNothingElse(t *testing.T) {
	r, data := keeping(t)
	folder := filepath.Join(data, "tool-output")
	for _, test := range []struct {
		operation string
		request   map[string]any
	}{
		{"fs.read", map[string]any{"path": data + "/plinth.db"}},
		{"fs.read", map[string]any{"path": folder + "/../plinth.db"}},
		{"fs.read", map[string]any{"path": folder + "/tool_link"}},
		{"fs.read", map[string]any{"path": folder + "-not/x"}},
		{"fs.list", map[string]any{"path": data}},
		{"fs.list", map[string]any{"path": folder + "/.."}},
		{"fs.grep", map[string]any{"path": data, "pattern": "own"}},
		{"fs.glob", map[string]any{"path": data, "pattern": "**"}},
		{"fs.commit", map[string]any{"changes": []any{map[string]any{"op": "remove", "path": folder + "/tool_1"}}}},
		{"fs.commit", map[string]any{"changes": []any{map[string]any{"op": "rename", "path": folder + "/tool_1", "to": folder + "/tool_3"}}}},
		{"fs.commit", map[string]any{"changes": []any{map[string]any{"op": "write", "path": folder + "/tool_1", "data": map[string]any{"$bytes": []int{0, 0}}}}}},
	} {
		answer := r.ask(t, test.operation, encoded(t, test.request))
		if failed := failure(t, answer); failed.Kind != abi.KindDenied && failed.Kind != abi.KindNotFound {
			t.Errorf("%s %v: %s", test.operation, test.request, answer)
		}
	}
	if content, err := os.ReadFile(folder + "/tool_1"); err != nil || string(content) != "one\nneedle\n" {
		t.Errorf("%q, %v", content, err)
	}
	r.reach.Outputs = ""
	if failed := failure(t, r.ask(t, "fs.read", encoded(t, map[string]any{"path": folder + "/tool_1"}))); failed.Kind != abi.KindDenied {
		t.Errorf("without the folder: %+v", failed)
	}
}

// A location above Plinth's data makes no difference, but that nothing is outside.
func TestReadingKeptOutputsInTheLocation(t *testing.T) {
	r, data := keeping(t)
	r.location.Directory, r.location.Root = filepath.Dir(data), filepath.Dir(data)
	r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
	file := filepath.Join(data, "tool-output", "tool_1")
	answer := r.ask(t, "fs.read", encoded(t, map[string]any{"path": file}))
	if failed := failure(t, answer); failed.Kind != "" || !strings.Contains(answer, encoded(t, file)) {
		t.Error(answer)
	}
	name := filepath.Join(filepath.Base(data), "tool-output", "tool_1")
	if diff := cmp.Diff([]session.PermissionRequest{{Action: "read", Resources: []string{name}, Save: []string{name}, Before: true}}, r.host.asked); diff != "" {
		t.Error(diff)
	}
	if failed := failure(t, r.ask(t, "fs.read", encoded(t, map[string]any{"path": data + "/plinth.db"}))); failed.Kind != abi.KindDenied {
		t.Errorf("%+v", failed)
	}
}
