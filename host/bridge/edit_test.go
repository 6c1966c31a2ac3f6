package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// The cases of writing, editing and patching, by the committed core/edit.
func TestCasesOfEditing(t *testing.T) {
	sessiontest.Cases(t, "I", []sessiontest.Case{
		{Number: 232, Text: "`write` and `edit` of a file in the Location ask for `edit`; of one outside for the folder first, then for `edit` on the canonical path; whatever is denied, nothing is written.",
			Ours: "The file is read through the host before it is changed, so where a rule asks for `read` that comes between, and the folder is asked for once.", Run: whatEditingAsks},
		{Number: 233, Text: "`edit` with two equal strings, or with nothing to look for, fails before any permission is asked.", Run: editsThatSayNothing},
		{Number: 235, Text: "`edit` tells no match and several matches apart, and with `replace_all` replaces and counts all.", Run: matchesOfAnEdit},
		{Number: 236, Text: "`edit` with line feeds in its strings matches a CRLF file and keeps its CRLF; a byte-order mark is kept.", Run: endsOfLinesAndMarks},
		{Number: 238, Text: "`apply_patch` adds, updates and deletes in the order of the patch and lists it with A, M and D.", Run: patchOfAllKinds},
		{Number: 239, Text: "`apply_patch` that moves a file fails before any permission, with nothing written.",
			Ours: "Moves work, with or without changes: the same one permission on both paths, one commit, the mode kept, R in the list. Where something is in the way, nothing is asked or written.", Run: patchThatMoves},
		{Number: 241, Text: "`apply_patch` with a later update that does not fit fails before an earlier file is added.", Run: patchThatDoesNotFit},
		{Number: 242, Text: "`apply_patch` that adds a file that is there, or comes up while permission is asked, fails and leaves the file as it is.", Run: patchOntoAFile},
		{Number: 244, Text: "`apply_patch` that is interrupted after its first change finishes the others.", Run: interruptedPatch},
		{Number: 245, Text: "A patch is taken out of a here-document, and found by its context line, at the end of the file, and in spite of trailing space and typographic quotes; a chunk of additions alone goes to the end.",
			Ours: "Behind a context line, additions alone go behind that. Lines that are kept stay as the file has them, and what was not an exact match is told.", Run: patchesThatMatch},
	})
}

// editor is the committed core/edit in front of a folder.
type editor struct {
	project
	*hookedHost
	plugin *Plugin
}

// hookedHost lets a test act while a person is asked.
type hookedHost struct {
	toolHost
	on func(request session.PermissionRequest) error
}

func (h *hookedHost) Authorise(ctx context.Context, request session.PermissionRequest) error {
	if err := h.toolHost.Authorise(ctx, request); err != nil || h.on == nil {
		return err
	}
	return h.on(request)
}

func newEditor(t *testing.T, files map[string]string) *editor {
	t.Helper()
	e := &editor{project: newProject(t), hookedHost: &hookedHost{}, plugin: loadBuiltin(t, "core/edit", abi.ExportTool)}
	e.reach.Roots = map[string]Access{RootLocation: AccessWrite}
	e.rules = append(allows("read"), rule("edit", "*", session.Ask), rule("external_directory", "*", session.Ask))
	for name, content := range files {
		e.put(t, name, content)
	}
	return e
}

func (e *editor) put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(e.location.Directory, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// use calls a tool and answers its text.
func (e *editor) use(ctx context.Context, t *testing.T, name string, input any) (string, error) {
	t.Helper()
	tool := newTool(t, e.plugin, session.ToolDefinition{}, e.reach)
	tool.name = name
	output, err := tool.Execute(ctx, session.ToolCall{Input: []byte(encoded(t, input)), Location: e.location, Host: e.hookedHost})
	if err != nil {
		return "", err
	}
	if len(output.Content) != 1 || !json.Valid(output.Structured) {
		t.Fatalf("%s: %+v", name, output)
	}
	return output.Content[0].Text, nil
}

func (e *editor) edit(t *testing.T, path, old, replacement string, all bool) (string, error) {
	t.Helper()
	return e.use(t.Context(), t, "edit", map[string]any{"path": path, "old_string": old, "new_string": replacement, "replace_all": all})
}

// patch applies a patch, given without its first and last line.
func (e *editor) patch(t *testing.T, body string) (string, error) {
	t.Helper()
	return e.use(t.Context(), t, "apply_patch", map[string]any{"patch": "*** Begin Patch\n" + body + "\n*** End Patch"})
}

// wantAsked demands what was asked, as "action resource resource", and forgets it.
func (e *editor) wantAsked(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, request := range e.asked {
		got = append(got, request.Action+" "+strings.Join(request.Resources, " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	e.asked = nil
}

func whatEditingAsks(t *testing.T) {
	elsewhere, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := newEditor(t, nil)
	write := func(path string) error {
		_, err := e.use(t.Context(), t, "write", map[string]any{"path": path, "content": "written"})
		return err
	}
	inside := filepath.Join(e.location.Directory, "a.txt")
	outside := elsewhere + "/new.txt"
	if err := errors.Join(write(inside), write("deep/er/new.txt")); err != nil {
		t.Fatal(err)
	}
	e.wantAsked(t, "edit a.txt", "edit deep/er/new.txt")
	if err := write(elsewhere + "/../" + filepath.Base(elsewhere) + "/new.txt"); err != nil {
		t.Fatal(err)
	}
	e.wantAsked(t, "external_directory "+elsewhere+"/*", "edit "+outside)
	if _, err := e.edit(t, outside, "written", "edited", false); err != nil {
		t.Fatal(err)
	}
	e.wantAsked(t, "external_directory "+elsewhere+"/*", "edit "+outside)
	e.rules = []session.Rule{rule("*", "*", session.Ask)}
	if _, err := e.edit(t, outside, "edited", "again", false); err != nil {
		t.Fatal(err)
	}
	e.wantAsked(t, "external_directory "+elsewhere+"/*", "read "+outside, "edit "+outside)
	for _, denied := range []string{"external_directory", "read", "edit"} {
		e.rules = append(allows("*"), rule(denied, "*", session.Deny))
		_, edited := e.edit(t, outside, "again", "x", false)
		for _, err := range []error{write(outside), edited} {
			var told *session.ToolError
			if !errors.As(err, &told) || told.Kind != string(abi.KindDenied) {
				t.Errorf("%s is denied: %v", denied, err)
			}
		}
	}
	mustFind(t, elsewhere, map[string]string{"new.txt": "again"})
	mustFind(t, e.location.Directory, map[string]string{"a.txt": "written", "deep/er/new.txt": "written"})
}

func editsThatSayNothing(t *testing.T) {
	e := newEditor(t, nil)
	e.rules = []session.Rule{rule("*", "*", session.Ask)}
	_, err := e.edit(t, "a.txt", "alpha", "alpha", false)
	wantTold(t, err, abi.KindInvalidInput, "old_string and new_string are the same, so there is nothing to change")
	_, err = e.edit(t, "a.txt", "", "alpha", false)
	wantTold(t, err, abi.KindInvalidInput, "old_string is empty; to create or replace a whole file use write")
	e.wantAsked(t)
}

func matchesOfAnEdit(t *testing.T) {
	e := newEditor(t, map[string]string{"x": "one\n\tone two\n"})
	_, err := e.edit(t, "x", "    one two", "y", false)
	wantTold(t, err, abi.KindInvalidInput, "old_string is not in x. Line 2 is like it but for white space or typography: line 2 is \"\\tone two\" where old_string has \"    one two\".")
	_, err = e.edit(t, "x", "one", "1", false)
	wantTold(t, err, abi.KindInvalidInput, "old_string is in x 2 times, at lines 1 and 2; add lines around it until it is unique, or set replace_all")
	e.wantAsked(t)
	text, err := e.edit(t, "x", "one", "1", true)
	if want := "Edited x: 2 replacements, at lines 1 and 2. The first:\n-one\n+1"; err != nil || text != want {
		t.Errorf("%q, %v", text, err)
	}
	mustFind(t, e.location.Directory, map[string]string{"x": "1\n\t1 two\n"})
}

func endsOfLinesAndMarks(t *testing.T) {
	e := newEditor(t, map[string]string{"x": "\ufeffone\r\ntwo\r\n"})
	if _, err := e.edit(t, "x", "one\ntwo\n", "1\n2\n3\n", false); err != nil {
		t.Fatal(err)
	}
	mustFind(t, e.location.Directory, map[string]string{"x": "\ufeff1\r\n2\r\n3\r\n"})
	if _, err := e.use(t.Context(), t, "write", map[string]any{"path": "x", "content": "new\n"}); err != nil {
		t.Fatal(err)
	}
	mustFind(t, e.location.Directory, map[string]string{"x": "\ufeffnew\r\n"})
}

func patchOfAllKinds(t *testing.T) {
	e := newEditor(t, map[string]string{"m": "one\ntwo\n", "d": "gone"})
	text, err := e.patch(t, "*** Add File: deep/a\n+new\n*** Update File: m\n@@\n one\n-two\n+2\n*** Delete File: d")
	if want := "Applied the patch:\nA deep/a (+1 -0)\nM m (+1 -1)\nD d"; err != nil || text != want {
		t.Errorf("%q, %v", text, err)
	}
	e.wantAsked(t, "edit deep/a m d")
	mustFind(t, e.location.Directory, map[string]string{"deep/a": "new\n", "m": "one\n2\n", "d": ""})
}

func patchThatMoves(t *testing.T) {
	e := newEditor(t, map[string]string{"run": "exit 0\n", "plain": "plain"})
	if err := os.Chmod(filepath.Join(e.location.Directory, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := e.patch(t, "*** Update File: run\n*** Move to: plain\n@@\n-exit 0\n+exit 1")
	wantTold(t, err, abi.KindConflict, `"plain": there is a file already (nothing was changed)`)
	e.wantAsked(t)
	text, err := e.patch(t, "*** Update File: run\n*** Move to: bin/run\n@@\n-exit 0\n+exit 1\n*** Update File: plain\n*** Move to: moved")
	if want := "Applied the patch:\nR run -> bin/run (+1 -1)\nR plain -> moved"; err != nil || text != want {
		t.Errorf("%q, %v", text, err)
	}
	e.wantAsked(t, "edit run bin/run plain moved")
	mustFind(t, e.location.Directory, map[string]string{"run": "", "bin/run": "exit 1\n", "plain": "", "moved": "plain"})
	info, err := os.Stat(filepath.Join(e.location.Directory, "bin/run"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	// A file that ends up empty is there, too.
	if _, err := e.patch(t, "*** Update File: bin/run\n*** Move to: empty\n@@\n-exit 1"); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(e.location.Directory, "empty")); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
}

func patchThatDoesNotFit(t *testing.T) {
	e := newEditor(t, nil)
	before := tree(t, e.location.Root)
	_, err := e.patch(t, "*** Add File: first\n+x\n*** Update File: a.txt\n@@\n-beta\n+gamma")
	wantTold(t, err, abi.KindInvalidInput, `chunk 1 of a.txt: its lines are not in the file, beginning with "beta"; read the file and take its lines as they are (nothing was changed)`)
	_, err = e.patch(t, "*** Add File: first\n+x\n*** Delete File: none")
	wantTold(t, err, abi.KindNotFound, `"none": no such file or directory (nothing was changed)`)
	e.wantAsked(t)
	if diff := cmp.Diff(before, tree(t, e.location.Root)); diff != "" {
		t.Error(diff)
	}
}

func patchOntoAFile(t *testing.T) {
	e := newEditor(t, nil)
	_, err := e.patch(t, "*** Add File: first\n+x\n*** Add File: a.txt\n+x")
	wantTold(t, err, abi.KindConflict, "a.txt cannot be added, because it is there already; update it instead (nothing was changed)")
	e.wantAsked(t)
	e.on = func(session.PermissionRequest) error {
		e.put(t, "late.txt", "theirs")
		return nil
	}
	_, err = e.patch(t, "*** Add File: first\n+x\n*** Add File: late.txt\n+x")
	wantTold(t, err, abi.KindConflict, `"late.txt": it is there already (nothing was changed)`)
	e.wantAsked(t, "edit first late.txt")
	mustFind(t, e.location.Directory, map[string]string{"first": "", "a.txt": "alpha", "late.txt": "theirs"})
}

// interruptedPatch tries until an interruption has fallen between the first change and
// the last one.
func interruptedPatch(t *testing.T) {
	e := newEditor(t, nil)
	const files = 300
	for attempt := range 20 {
		name := func(i int) string { return filepath.Join(e.location.Directory, fmt.Sprintf("p%d-%d", attempt, i)) }
		var patch strings.Builder
		for i := range files {
			fmt.Fprintf(&patch, "*** Add File: %s\n+x\n", name(i))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		ended, middle := make(chan struct{}), make(chan bool)
		go func() {
			for !exists(name(0)) && ctx.Err() == nil {
				runtime.Gosched()
			}
			cancel(session.ErrInterrupted)
			between := !exists(name(files - 1))
			<-ended
			middle <- between
		}()
		_, err := e.use(ctx, t, "apply_patch", map[string]any{"patch": "*** Begin Patch\n" + patch.String() + "*** End Patch"})
		cancel(nil)
		close(ended)
		between := <-middle
		for i := range files {
			if !exists(name(i)) {
				t.Fatalf("file %d is missing: %v", i, err)
			}
		}
		if between {
			return
		}
	}
	t.Error("no interruption came in the middle")
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func patchesThatMatch(t *testing.T) {
	for name, c := range map[string]struct{ before, patch, want, note string }{
		"a here-document":    {"a\n", "cat <<'EOF'\n*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\nEOF", "b\n", ""},
		"a context line":     {"f {\n x\n}\ng {\n x\n}\n", patchOf("@@ g {\n- x\n+ y"), "f {\n x\n}\ng {\n y\n}\n", ""},
		"the end":            {"x\ny\nx\n", patchOf("@@\n-x\n+z\n*** End of File"), "x\ny\nz\n", ""},
		"trailing space":     {"a  \nb\t\n", patchOf("@@\n a\n-b\n+B"), "a  \nB\n", "fits line 1 but for white space"},
		"typographic quotes": {"say “yes”\n", patchOf("@@\n-say \"yes\"\n+no"), "no\n", "but for white space or typography"},
		"additions alone":    {"a", patchOf("@@\n+b"), "a\nb\n", ""},
		"behind a context":   {"f {\n}\ng {\n}\n", patchOf("@@ f {\n+ x"), "f {\n x\n}\ng {\n}\n", ""},
	} {
		e := newEditor(t, map[string]string{"f": c.before})
		text, err := e.use(t.Context(), t, "apply_patch", map[string]any{"patch": c.patch})
		if err != nil || !strings.Contains(text, c.note) || strings.Contains(text, "Note:") != (c.note != "") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		mustFind(t, e.location.Directory, map[string]string{"f": c.want})
	}
}

func patchOf(chunks string) string {
	return "*** Begin Patch\n*** Update File: f\n" + chunks + "\n*** End Patch"
}

// The largest files that the tools take fit into the memory that the manifest asks for.
func TestEditingLargeFiles(t *testing.T) {
	const most = 4 << 20
	large := strings.Repeat("0123456789abcde\n", most/16)
	e := newEditor(t, map[string]string{"x": large, "y": large})
	if _, err := e.edit(t, "x", "e\n", "f\n", true); err == nil || !strings.Contains(err.Error(), "more than 100000 times") {
		t.Error(err)
	}
	e.put(t, "z", strings.Repeat("0123456789abcdef0123456789abcdef0123456\n", most/40))
	if _, err := e.edit(t, "z", "6\n", "7\n", true); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
	for _, name := range []string{"x", "y"} {
		if _, err := e.use(t.Context(), t, "write", map[string]any{"path": name, "content": large[:most-1] + "!"}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := e.patch(t, "*** Update File: x\n@@\n-0123456789abcde!\n+end\n*** End of File\n*** Update File: y\n@@\n-0123456789abcde!\n+end\n*** End of File")
	if err != nil || text != "Applied the patch:\nM x (+1 -1)\nM y (+1 -1)" {
		t.Errorf("%q, %v", text, err)
	}
	mustFind(t, e.location.Directory, map[string]string{"x": large[:most-16] + "end\n"})
}
