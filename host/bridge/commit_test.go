package bridge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/session"
)

// commitOf is a request to make changes below the location.
func commitOf(t *testing.T, changes ...abi.FSChange) string {
	t.Helper()
	return encoded(t, abi.FSCommit{Changes: changes})
}

// mustFind demands files of a folder with these contents; "" for no file.
func mustFind(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, want := range files {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if (err == nil) != (want != "") || string(content) != want {
			t.Errorf("%s: got %q, %v, want %q", name, content, err, want)
		}
	}
}

func TestACommitChangesFiles(t *testing.T) {
	r := newRig(t)
	request := commitOf(t,
		abi.FSChange{Op: "write", Path: "a.txt", Expect: fsys.Digest([]byte("alpha")), Text: "omega"},
		abi.FSChange{Op: "write", Path: "deep/er/new", Expect: "absent", Data: &abi.Bytes{Offset: 1, Length: 3}, Mode: 0o600, Parents: true},
		abi.FSChange{Op: "remove", Path: "sub/b.txt"},
		abi.FSChange{Op: "rename", Path: ".env", To: "env"},
		abi.FSChange{Op: "write", Path: "empty"},
	)
	got := r.ask(t, abi.OpFSCommit, request, []byte("xabcx")...)
	want := `{"ok":{"changes":[{"path":"a.txt","outcome":"done","existed":true},{"path":"deep/er/new","outcome":"done"},` +
		`{"path":"sub/b.txt","outcome":"done"},{"path":".env","to":"env","outcome":"done"},{"path":"empty","outcome":"done"}]}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	mustFind(t, r.location.Directory, map[string]string{"a.txt": "omega", "deep/er/new": "abc", "sub/b.txt": "", ".env": "", "env": "SECRET=1"})
	if info, err := os.Stat(filepath.Join(r.location.Directory, "deep/er/new")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Join(r.location.Directory, "empty")); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// One question is asked on all files together; what it may be saved for is each file,
// by the host's own reckoning: a name that is a pattern is not saved.
func TestACommitAsksOnceForAll(t *testing.T) {
	r := newRig(t)
	r.host.rules = []session.Rule{rule("edit", "*", session.Ask)}
	request := encoded(t, abi.FSCommit{Root: "project", Changes: []abi.FSChange{
		{Op: "write", Path: "work/a.txt", Text: "1"},
		{Op: "write", Path: "work/*", Text: "2"},
		{Op: "rename", Path: "AGENTS.md", To: "work/sub/AGENTS.md"},
		{Op: "write", Path: "work/innocent.txt", Text: "3"},
	}})
	if failed := failure(t, r.ask(t, abi.OpFSCommit, request)); failed.Kind != "" {
		t.Fatal(failed)
	}
	want := []session.PermissionRequest{{Action: "edit",
		Resources: []string{"a.txt", "*", "../AGENTS.md", "sub/AGENTS.md", ".env"},
		Save:      []string{"a.txt", "../AGENTS.md", "sub/AGENTS.md", ".env"}, Before: true}}
	if diff := cmp.Diff(want, r.host.asked); diff != "" {
		t.Error(diff)
	}
	mustFind(t, r.location.Directory, map[string]string{"a.txt": "1", "*": "2", "sub/AGENTS.md": "be kind", ".env": "3"})
}

// Whatever refuses one change refuses all.
func TestARefusedCommitChangesNothing(t *testing.T) {
	good := abi.FSChange{Op: "write", Path: "a.txt", Text: "changed"}
	deny := []session.Rule{rule("edit", "*", session.Allow), rule("edit", "sub*", session.Deny)}
	ask := []session.Rule{rule("edit", "*", session.Ask)}
	digest := fsys.Digest([]byte("other"))
	tests := []struct {
		name   string
		rules  []session.Rule
		answer error
		bad    abi.FSChange
		kind   abi.Kind
	}{
		{"denied by a rule", deny, nil, abi.FSChange{Op: "write", Path: "sub/b.txt", Text: "x"}, abi.KindDenied},
		{"denied at the end of a rename", deny, nil, abi.FSChange{Op: "rename", Path: ".env", To: "sub/env"}, abi.KindDenied},
		{"refused by a person", ask, &session.DeniedError{Action: "edit", Resource: "x", Feedback: "no"}, abi.FSChange{Op: "write", Path: "x", Text: "x"}, abi.KindDenied},
		{"declined by a person", ask, &session.DeniedError{Action: "edit", Resource: "x", Declined: true}, abi.FSChange{Op: "write", Path: "x", Text: "x"}, abi.KindDenied},
		{"interrupted while it asks", ask, session.ErrInterrupted, abi.FSChange{Op: "write", Path: "x", Text: "x"}, abi.KindCancelled},
		{"the host stops while it asks", ask, session.ErrShutdown, abi.FSChange{Op: "write", Path: "x", Text: "x"}, abi.KindCancelled},
		{"another content than expected", nil, nil, abi.FSChange{Op: "write", Path: ".env", Expect: digest, Text: "x"}, abi.KindConflict},
		{"a file where none is expected", nil, nil, abi.FSChange{Op: "write", Path: ".env", Expect: "absent", Text: "x"}, abi.KindConflict},
		{"nothing to remove", nil, nil, abi.FSChange{Op: "remove", Path: "none"}, abi.KindNotFound},
		{"a rename onto a file", nil, nil, abi.FSChange{Op: "rename", Path: ".env", To: "sub/b.txt"}, abi.KindConflict},
		{"no folder on the way", nil, nil, abi.FSChange{Op: "write", Path: "no/such/folder", Text: "x"}, abi.KindNotFound},
		{"the same file twice", nil, nil, abi.FSChange{Op: "remove", Path: "a.txt"}, abi.KindInvalidInput},
		{"the same file by a link", nil, nil, abi.FSChange{Op: "write", Path: "link", Text: "x"}, abi.KindInvalidInput},
		{"no operation", nil, nil, abi.FSChange{Op: "chmod", Path: ".env"}, abi.KindInvalidInput},
		{"no path", nil, nil, abi.FSChange{Op: "write", Text: "x"}, abi.KindInvalidInput},
		{"a removal with a text", nil, nil, abi.FSChange{Op: "remove", Path: ".env", Text: "x"}, abi.KindInvalidInput},
		{"bytes and text", nil, nil, abi.FSChange{Op: "write", Path: ".env", Text: "x", Data: &abi.Bytes{}}, abi.KindInvalidInput},
		{"an expectation that is none", nil, nil, abi.FSChange{Op: "write", Path: ".env", Expect: "ABC", Text: "x"}, abi.KindInvalidInput},
		{"the bit that makes it root's", nil, nil, abi.FSChange{Op: "write", Path: "x", Mode: 0o4755, Text: "x"}, abi.KindInvalidInput},
		{"bits beyond any mode", nil, nil, abi.FSChange{Op: "write", Path: "x", Mode: 1 << 31, Text: "x"}, abi.KindInvalidInput},
		{"a folder of Plinth", nil, nil, abi.FSChange{Op: "write", Path: "private/p.txt", Text: "x"}, abi.KindDenied},
		{"a folder of Plinth from the top", nil, nil, abi.FSChange{Op: "write", Path: "PRIVATE", Text: "x"}, abi.KindDenied},
		{"out of the location by dots", nil, nil, abi.FSChange{Op: "write", Path: "../AGENTS.md", Text: "x"}, abi.KindDenied},
		{"out of the location by a link", nil, nil, abi.FSChange{Op: "write", Path: "out", Text: "x"}, abi.KindDenied},
		{"a NUL in the name", nil, nil, abi.FSChange{Op: "write", Path: "x\x00y", Text: "x"}, abi.KindInvalidInput},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			if err := os.Symlink("a.txt", filepath.Join(r.location.Directory, "link")); err != nil {
				t.Fatal(err)
			}
			if test.bad.Path == "PRIVATE" {
				test.bad.Path = filepath.Join(r.location.Directory, "..", "work", "private", "p.txt")
			}
			if test.rules != nil {
				r.host.rules = test.rules
			}
			r.host.answer = test.answer
			before := tree(t, r.location.Root)
			refused := failure(t, r.ask(t, abi.OpFSCommit, commitOf(t, good, test.bad)))
			if refused.Kind != test.kind {
				t.Errorf("%s: %s", refused.Kind, refused.Message)
			}
			if diff := cmp.Diff(before, tree(t, r.location.Root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACommitIsBounded(t *testing.T) {
	r := newRig(t)
	changes := make([]abi.FSChange, fsys.MaxChanges+1)
	for i := range changes {
		changes[i] = abi.FSChange{Op: "write", Path: fmt.Sprintf("f%d", i), Text: "x"}
	}
	for _, n := range []int{0, fsys.MaxChanges + 1} {
		refused := failure(t, r.ask(t, abi.OpFSCommit, commitOf(t, changes[:n]...)))
		if want := fmt.Sprintf("there are %d changes; there must be 1 to 500", n); refused.Kind != abi.KindInvalidInput || refused.Message != want {
			t.Errorf("%+v", refused)
		}
	}
	committed := read[abi.FSCommitted](t, r.ask(t, abi.OpFSCommit, commitOf(t, changes[:fsys.MaxChanges]...)))
	if len(committed.Changes) != fsys.MaxChanges || committed.Changes[499].Outcome != "done" {
		t.Errorf("%d", len(committed.Changes))
	}
}

// A commit that is cancelled before it begins changes nothing; once it has begun it
// is made, and says so.
func TestACancelledCommit(t *testing.T) {
	r := newRig(t)
	r.host.rules = []session.Rule{rule("edit", "*", session.Ask)}
	before := tree(t, r.location.Root)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancelling := &cancellingHost{wholeHost: r.host, cancel: func() { cancel(session.ErrInterrupted) }}
	made := &operations{plugin: r.plugin, reach: r.reach, location: r.location, asked: &toolAuthority{host: cancelling}, host: cancelling}
	request := commitOf(t, abi.FSChange{Op: "write", Path: "a.txt", Text: "1"}, abi.FSChange{Op: "write", Path: "b.txt", Text: "2"})
	body, _, err := abi.DecodeMessage(made.Call(ctx, abi.OpFSCommit, abi.EncodeMessage([]byte(request), nil)))
	if err != nil || failure(t, string(body)).Kind != abi.KindCancelled {
		t.Errorf("%s, %v", body, err)
	}
	if diff := cmp.Diff(before, tree(t, r.location.Root)); diff != "" {
		t.Error(diff)
	}
}

// cancellingHost allows what is asked, and cancels the call that asks.
type cancellingHost struct {
	*wholeHost
	cancel func()
}

func (h *cancellingHost) Authorise(context.Context, session.PermissionRequest) error {
	h.cancel()
	return nil
}

// A change that fails in the last moment leaves what came before, and every change
// says what became of it.
func TestACommitThatFailsInTheMiddle(t *testing.T) {
	results := []fsys.Changed{
		{Path: "a", Outcome: fsys.Done, Existed: true},
		{Path: "b", Outcome: fsys.Failed, Err: &fsys.Error{Kind: fsys.KindConflict, Path: "b", Text: "it changed"}},
		{Path: "c", To: "d", Outcome: fsys.NotDone},
	}
	want := `{"changes":[{"path":"a","outcome":"done","existed":true},{"path":"b","outcome":"failed","error":{"kind":"conflict","message":"\"b\": it changed"}},` +
		`{"path":"c","to":"d","outcome":"not_done"}]}`
	if got := encoded(t, folder{}.committed(results)); got != want || !begun(results) || begun(results[1:]) {
		t.Errorf("got %s", got)
	}
}

// Files outside of the location are asked for by their folders first, then as what
// they are.
func TestACommitOutside(t *testing.T) {
	r := newRig(t)
	elsewhere, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
	request := commitOf(t,
		abi.FSChange{Op: "write", Path: elsewhere + "/x/one", Text: "1", Parents: true},
		abi.FSChange{Op: "write", Path: "a.txt", Text: "2"},
		abi.FSChange{Op: "write", Path: r.location.Directory + "/two", Text: "3"})
	if failed := failure(t, r.ask(t, abi.OpFSCommit, request)); failed.Kind != "" {
		t.Fatal(failed)
	}
	want := []session.PermissionRequest{
		{Action: "external_directory", Resources: []string{elsewhere + "/x/*"}, Save: []string{elsewhere + "/x/*"}, Before: true},
		{Action: "edit", Resources: []string{elsewhere + "/x/one", "a.txt", "two"}, Save: []string{elsewhere + "/x/one", "a.txt", "two"}, Before: true},
	}
	if diff := cmp.Diff(want, r.host.asked); diff != "" {
		t.Error(diff)
	}
	mustFind(t, elsewhere, map[string]string{"x/one": "1"})
	mustFind(t, r.location.Directory, map[string]string{"a.txt": "2", "two": "3"})

	// Allowed to edit anything, but not to leave.
	r.host.rules = []session.Rule{rule("*", "*", session.Allow), rule("external_directory", "*", session.Deny)}
	for _, path := range []string{elsewhere + "/x/one", r.location.Directory + "/../../escaped", elsewhere + "/none/../x/one"} {
		request := commitOf(t, abi.FSChange{Op: "write", Path: path, Text: "escaped"})
		if refused := failure(t, r.ask(t, abi.OpFSCommit, request)); refused.Kind != abi.KindDenied && refused.Kind != abi.KindNotFound {
			t.Errorf("%s: %+v", path, refused)
		}
	}
	mustFind(t, elsewhere, map[string]string{"x/one": "1"})
	mustFind(t, filepath.Dir(r.location.Root), map[string]string{"escaped": ""})
}
