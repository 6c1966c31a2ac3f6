package fsys_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/fsys"
)

// grove is a temporary folder, by its canonical path, to build places in.
type grove struct {
	t    *testing.T
	root string
}

func newGrove(t *testing.T) *grove {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &grove{t, root}
}

func (f *grove) path(name string) string { return filepath.Join(f.root, name) }

func (f *grove) folder(name string) string {
	f.t.Helper()
	if err := os.MkdirAll(f.path(name), 0o700); err != nil {
		f.t.Fatal(err)
	}
	return f.path(name)
}

func (f *grove) file(name, text string) {
	f.t.Helper()
	f.folder(filepath.Dir(name))
	if err := os.WriteFile(f.path(name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *grove) link(name, to string) {
	f.t.Helper()
	if err := os.Symlink(to, f.path(name)); err != nil {
		f.t.Fatal(err)
	}
}

// git runs a git command in a folder, with nothing of this machine's configuration.
func (f *grove) git(name string, args ...string) {
	f.t.Helper()
	command := exec.CommandContext(f.t.Context(), "git", append([]string{"-C", f.path(name), "-c", "protocol.file.allow=always",
		"-c", "user.name=t", "-c", "user.email=t@example.test", "-c", "commit.gpgsign=false"}, args...)...)
	command.Env = []string{"HOME=" + f.root, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := command.CombinedOutput(); err != nil {
		f.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// TestFindPlaceInGit asks in what git itself has made: a work tree, a further work
// tree of it and a submodule. The nearest one is the project.
func TestFindPlaceInGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is a prerequisite: ", err)
	}
	f := newGrove(t)
	for _, name := range []string{"main", "part"} {
		f.folder(name)
		f.git(name, "init", "-q")
		f.file(name+"/a/b/file", "x")
		f.git(name, "add", ".")
		f.git(name, "commit", "-q", "-m", "first")
	}
	f.git("main", "worktree", "add", "-q", f.path("second"))
	f.git("main", "submodule", "--quiet", "add", f.path("part"), "sub")
	f.link("short", f.path("main/a"))
	f.link("main/out", f.path("second/a"))
	for directory, want := range map[string]fsys.Place{
		"main":            {Directory: f.path("main"), Root: f.path("main"), Git: true},
		"main/a/b":        {Directory: f.path("main/a/b"), Root: f.path("main"), Git: true},
		"main/a/../a/b/":  {Directory: f.path("main/a/b"), Root: f.path("main"), Git: true},
		"second":          {Directory: f.path("second"), Root: f.path("second"), Git: true},
		"second/a/b":      {Directory: f.path("second/a/b"), Root: f.path("second"), Git: true},
		"main/sub":        {Directory: f.path("main/sub"), Root: f.path("main/sub"), Git: true},
		"main/sub/a":      {Directory: f.path("main/sub/a"), Root: f.path("main/sub"), Git: true},
		"short/b":         {Directory: f.path("main/a/b"), Root: f.path("main"), Git: true},
		"main/out/b":      {Directory: f.path("second/a/b"), Root: f.path("second"), Git: true},
		"main/.git/hooks": {Directory: f.path("main/.git/hooks"), Root: f.path("main"), Git: true},
	} {
		place, err := fsys.FindPlace(f.root + "/" + directory)
		if diff := cmp.Diff(want, place); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", directory, err, diff)
		}
	}
}

func TestFindPlaceWithoutGit(t *testing.T) {
	f := newGrove(t)
	f.folder("plain/inside")
	f.link("link", f.path("plain/inside"))
	f.link("chain", f.path("link"))
	f.file("marked/.git", "gitdir: /nowhere\n") // what it points to is not asked
	f.link("dangling", f.path("nothing"))
	f.folder("odd")
	f.link("odd/.git", f.path("nothing"))
	for directory, want := range map[string]fsys.Place{
		"plain/inside": {Directory: f.path("plain/inside"), Root: f.path("plain/inside")},
		"link":         {Directory: f.path("plain/inside"), Root: f.path("plain/inside")},
		"chain":        {Directory: f.path("plain/inside"), Root: f.path("plain/inside")},
		"marked":       {Directory: f.path("marked"), Root: f.path("marked"), Git: true},
		"odd":          {Directory: f.path("odd"), Root: f.path("odd"), Git: true},
	} {
		place, err := fsys.FindPlace(f.path(directory))
		if diff := cmp.Diff(want, place); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", directory, err, diff)
		}
	}
	if place, err := fsys.FindPlace("/"); err != nil || place.Directory != "/" || place.Root != "/" {
		t.Errorf("/: %+v, %v", place, err)
	}
}

func TestFindPlaceRefuses(t *testing.T) {
	f := newGrove(t)
	f.file("file", "x")
	f.link("file-link", f.path("file"))
	f.link("dangling", f.path("nothing"))
	f.link("loop", f.path("loop"))
	for name, test := range map[string]struct {
		directory string
		kind      fsys.Kind
		text      string
	}{
		"empty":           {"", fsys.KindInvalid, "absolute"},
		"relative":        {"here", fsys.KindInvalid, "absolute"},
		"nothing":         {f.path("nothing"), fsys.KindNotFound, "no such"},
		"dangling":        {f.path("dangling"), fsys.KindNotFound, "no such"},
		"loop":            {f.path("loop"), fsys.KindFailed, "links"},
		"a file":          {f.path("file"), fsys.KindInvalid, "it is a file"},
		"a link to one":   {f.path("file-link"), fsys.KindInvalid, "it is a file"},
		"below a file":    {f.path("file/x"), fsys.KindNotFound, "no such"},
		"long name":       {f.path(strings.Repeat("x", 300)), fsys.KindInvalid, "longer"},
		"NUL in the path": {f.path("a\x00b"), fsys.KindFailed, "invalid"},
	} {
		_, err := fsys.FindPlace(test.directory)
		var e *fsys.Error
		if !errors.As(err, &e) || e.Kind != test.kind || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, want %s with %q", name, err, test.kind, test.text)
		}
	}
}
