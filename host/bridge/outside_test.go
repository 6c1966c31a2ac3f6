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

// Reading outside asks for the folder, then for the file.
func TestReadingOutside(t *testing.T) {
	r := newRig(t)
	elsewhere, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"x": "content", "f*lder/y": "content"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(elsewhere, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(elsewhere, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(r.location.Directory, "away")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(r.location.Directory, "a.txt"), filepath.Join(elsewhere, "back")); err != nil {
		t.Fatal(err)
	}
	external := func(folder string, saved bool) session.PermissionRequest {
		request := session.PermissionRequest{Action: "external_directory", Resources: []string{folder + "/*"}, Before: true}
		if saved {
			request.Save = request.Resources
		}
		return request
	}
	reading := func(file string, saved bool) session.PermissionRequest {
		request := session.PermissionRequest{Action: "read", Resources: []string{file}, Before: true}
		if saved {
			request.Save = request.Resources
		}
		return request
	}
	tests := []struct {
		operation string
		request   map[string]any
		want      []session.PermissionRequest
	}{
		{"fs.read", map[string]any{"path": elsewhere + "/x"}, []session.PermissionRequest{external(elsewhere, true), reading(elsewhere+"/x", true)}},
		{"fs.read", map[string]any{"path": elsewhere + "/f*lder/y"}, []session.PermissionRequest{external(elsewhere+"/f*lder", false), reading(elsewhere+"/f*lder/y", false)}},
		{"fs.stat", map[string]any{"path": elsewhere + "/x"}, []session.PermissionRequest{external(elsewhere, true)}},
		{"fs.list", map[string]any{"path": elsewhere}, []session.PermissionRequest{external(elsewhere, true), reading(elsewhere, true)}},
		{"fs.glob", map[string]any{"path": elsewhere, "pattern": "*"}, []session.PermissionRequest{external(elsewhere, true), reading(elsewhere, true)}},
		{"fs.grep", map[string]any{"path": elsewhere, "pattern": "c"}, []session.PermissionRequest{external(elsewhere, true), reading(elsewhere, true)}},
		{"fs.read", map[string]any{"path": elsewhere + "/../" + filepath.Base(elsewhere) + "/x"}, []session.PermissionRequest{external(elsewhere, true), reading(elsewhere+"/x", true)}},
		// What comes back into the location is what it is there.
		{"fs.read", map[string]any{"path": elsewhere + "/back"}, []session.PermissionRequest{reading("a.txt", true)}},
	}
	for _, test := range tests {
		r.host.asked, r.host.rules = nil, []session.Rule{rule("*", "*", session.Ask)}
		if failed := failure(t, r.ask(t, test.operation, encoded(t, test.request))); failed.Kind != "" {
			t.Errorf("%s %v: %+v", test.operation, test.request, failed)
		}
		if diff := cmp.Diff(test.want, r.host.asked); diff != "" {
			t.Errorf("%s %v: %s", test.operation, test.request, diff)
		}
		r.host.rules = []session.Rule{rule("*", "*", session.Allow), rule("external_directory", "*", session.Deny)}
		refused := failure(t, r.ask(t, test.operation, encoded(t, test.request)))
		if outside := len(test.want) > 0 && test.want[0].Action == "external_directory"; outside != (refused.Kind == abi.KindDenied) {
			t.Errorf("%s %v: %+v", test.operation, test.request, refused)
		}
	}
	// A link out of the location is followed for nobody.
	refused := failure(t, r.ask(t, "fs.read", `{"path":"away/x"}`))
	if refused.Kind != abi.KindDenied || !strings.Contains(refused.Message, "it leads outside the folder") {
		t.Errorf("%+v", refused)
	}
}
