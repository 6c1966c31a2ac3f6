package fsys_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/fsys"
)

// tree makes a folder with a project in it and things around it:
//
//	outside/secret.txt
//	project/  the root
//	project/plinth-data/plinth.db  barred
func tree(t *testing.T) (base, root string, roots *fsys.Roots) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(base, "project")
	for _, dir := range []string{"outside", "project/docs/deep", "project/plinth-data", "project2", "project/docs/empty"} {
		must(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	for name, text := range map[string]string{
		"outside/secret.txt": "secret", "project2/near.txt": "near",
		"project/go.mod": "module x\n", "project/docs/a.md": "aaaa", "project/docs/deep/b.md": "bb",
		"project/plinth-data/plinth.db": "db", "project/Case.txt": "case",
	} {
		must(t, os.WriteFile(filepath.Join(base, name), []byte(text), 0o644))
	}
	for link, target := range map[string]string{
		"in":        "docs/deep",
		"in-file":   "docs/a.md",
		"in-abs":    filepath.Join(root, "docs"),
		"out":       "../outside",
		"out-abs":   filepath.Join(base, "outside", "secret.txt"),
		"out-in":    "../project/docs",
		"loop-a":    "loop-b",
		"loop-b":    "loop-a",
		"broken":    "nowhere",
		"to-data":   "plinth-data",
		"docs/back": "../go.mod",
		"slash":     "docs/deep/",
		"dev":       "/dev/null",
		"self":      ".",
	} {
		must(t, os.Symlink(target, filepath.Join(root, link)))
	}
	must(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644))
	roots, err = fsys.New(map[string]string{"location": root, "missing": filepath.Join(base, "not-yet")}, []string{filepath.Join(root, "plinth-data")})
	if err != nil {
		t.Fatal(err)
	}
	return base, root, roots
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	base, root, roots := tree(t)
	tests := []struct {
		name, path, identity string
		kind                 fsys.Kind // of the error
		text                 string    // in the error
	}{
		{name: "file", path: "go.mod", identity: "go.mod"},
		{name: "root by nothing", path: "", identity: "."},
		{name: "root by dot", path: ".", identity: "."},
		{name: "untidy", path: ".//docs/./deep/../a.md", identity: "docs/a.md"},
		{name: "absolute", path: filepath.Join(root, "docs/a.md"), identity: "docs/a.md"},
		{name: "absolute root", path: root, identity: "."},
		{name: "directory with slash", path: "docs/", identity: "docs"},
		{name: "link inside", path: "in/b.md", identity: "docs/deep/b.md"},
		{name: "link to file", path: "in-file", identity: "docs/a.md"},
		{name: "absolute link inside", path: "in-abs/a.md", identity: "docs/a.md"},
		{name: "link upward inside", path: "docs/back", identity: "go.mod"},
		{name: "link with slash", path: "slash", identity: "docs/deep"},
		{name: "link to itself as folder", path: "self/self/go.mod", identity: "go.mod"},
		{name: "parent of what a link leads to", path: "in/../a.md", identity: "docs/a.md"},

		{name: "parent", path: "..", kind: fsys.KindDenied, text: "leads outside"},
		{name: "parent below", path: "docs/../../outside/secret.txt", kind: fsys.KindDenied, text: "leads outside"},
		{name: "parent and back", path: "../project/go.mod", kind: fsys.KindDenied, text: "leads outside"},
		{name: "absolute outside", path: filepath.Join(base, "outside/secret.txt"), kind: fsys.KindDenied, text: "leads outside"},
		{name: "absolute neighbour with the same prefix", path: root + "2/near.txt", kind: fsys.KindDenied, text: "leads outside"},
		{name: "absolute with parent", path: root + "/../outside/secret.txt", kind: fsys.KindDenied, text: "leads outside"},
		{name: "link outside", path: "out/secret.txt", kind: fsys.KindDenied, text: "leads outside"},
		{name: "absolute link outside", path: "out-abs", kind: fsys.KindDenied, text: "leads outside"},
		{name: "link outside and back", path: "out-in/a.md", kind: fsys.KindDenied, text: "leads outside"},
		{name: "link to a device", path: "dev", kind: fsys.KindDenied, text: "leads outside"},
		{name: "link loop", path: "loop-a", kind: fsys.KindInvalid, text: "symbolic links"},
		{name: "broken link", path: "broken", kind: fsys.KindNotFound, text: "no such file"},
		{name: "missing", path: "docs/none.md", kind: fsys.KindNotFound, text: `"docs/none.md": no such file`},
		{name: "wrong case", path: "case.TXT", kind: fsys.KindNotFound, text: "no such file"},
		{name: "file with slash", path: "go.mod/", kind: fsys.KindNotFound, text: "not a directory"},
		{name: "below a file", path: "go.mod/x", kind: fsys.KindNotFound, text: "not a directory"},
		{name: "pipe", path: "pipe", kind: fsys.KindInvalid, text: "a pipe"},
		{name: "NUL", path: "go.mod\x00.txt", kind: fsys.KindInvalid, text: "NUL"},
		{name: "not UTF-8", path: "a\xff", kind: fsys.KindInvalid, text: "UTF-8"},
		{name: "very long", path: strings.Repeat("x/", 3000), kind: fsys.KindInvalid, text: "6000 bytes"},
		{name: "long name", path: strings.Repeat("x", 300), kind: fsys.KindInvalid, text: "longer than"},
		{name: "deep", path: strings.Repeat("self/", 41) + "go.mod", kind: fsys.KindInvalid, text: "symbolic links"},
		{name: "own folder", path: "plinth-data", kind: fsys.KindDenied, text: "belongs to Plinth"},
		{name: "own file", path: "plinth-data/plinth.db", kind: fsys.KindDenied, text: "belongs to Plinth"},
		{name: "own folder left again", path: "plinth-data/../go.mod", kind: fsys.KindDenied, text: "belongs to Plinth"},
		{name: "own folder by link", path: "to-data/plinth.db", kind: fsys.KindDenied, text: "belongs to Plinth"},
		{name: "not there in own folder", path: "plinth-data/none", kind: fsys.KindDenied, text: "belongs to Plinth"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "wrong case" && foldsCase(root) {
				t.Skip("this file system folds case")
			}
			file, err := roots.Open("location", test.path)
			if test.kind == "" {
				must(t, err)
				defer file.Close()
				if file.Identity() != test.identity {
					t.Errorf("identity %q, want %q", file.Identity(), test.identity)
				}
				return
			}
			wantError(t, err, test.kind, test.text)
			var e *fsys.Error
			if errors.As(err, &e); e.Path != test.path {
				t.Errorf("the error names %q", e.Path)
			}
		})
	}
}

func foldsCase(root string) bool {
	_, err := os.Stat(filepath.Join(root, "cASE.txt"))
	return err == nil
}

func wantError(t *testing.T, err error, kind fsys.Kind, text string) {
	t.Helper()
	var e *fsys.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a *fsys.Error", err, err)
	}
	if e.Kind != kind || !strings.Contains(e.Error(), text) {
		t.Errorf("%s: %v; want %s with %q", e.Kind, e, kind, text)
	}
}

func TestSocketAndDepth(t *testing.T) {
	_, root, roots := tree(t)
	t.Chdir(root) // a socket's path is short
	listener, err := net.Listen("unix", "sock")
	must(t, err)
	defer listener.Close()
	_, err = roots.Open("location", "sock")
	wantError(t, err, fsys.KindInvalid, "a socket")

	deep := strings.TrimSuffix(strings.Repeat("d/", 130), "/")
	must(t, os.MkdirAll(deep, 0o755))
	_, err = roots.Open("location", deep)
	wantError(t, err, fsys.KindInvalid, "folders deep")
	file, err := roots.Open("location", strings.TrimSuffix(strings.Repeat("d/", 128), "/"))
	must(t, err)
	must(t, file.Close())
}

func TestRootsThatAreNotThere(t *testing.T) {
	base, _, roots := tree(t)
	_, err := roots.Open("elsewhere", "x")
	wantError(t, err, fsys.KindDenied, `no root called "elsewhere"`)
	_, err = roots.Open("missing", "AGENTS.md")
	wantError(t, err, fsys.KindNotFound, "no such file")

	must(t, os.MkdirAll(filepath.Join(base, "not-yet"), 0o755))
	must(t, os.WriteFile(filepath.Join(base, "not-yet", "AGENTS.md"), []byte("rules"), 0o644))
	file, err := roots.Open("missing", "AGENTS.md")
	must(t, err)
	must(t, file.Close())

	if _, err := fsys.New(map[string]string{"location": "relative"}, nil); err == nil || !strings.Contains(err.Error(), `"relative"`) {
		t.Errorf("a relative folder: %v", err)
	}
	if _, err := fsys.New(nil, []string{"relative"}); err == nil {
		t.Error("a relative denied folder passed")
	}
}

func TestRootReachedThroughALink(t *testing.T) {
	base, root, _ := tree(t)
	alias := filepath.Join(base, "alias")
	must(t, os.Symlink(root, alias))
	roots, err := fsys.New(map[string]string{"location": alias}, nil)
	must(t, err)
	for _, path := range []string{alias + "/docs/a.md", root + "/docs/a.md", "in-abs/a.md"} {
		file, err := roots.Open("location", path)
		must(t, err)
		if file.Identity() != "docs/a.md" {
			t.Errorf("%s: identity %q", path, file.Identity())
		}
		must(t, file.Close())
	}
}

func TestOwnFoldersStayOutOfReach(t *testing.T) {
	base, root, _ := tree(t)
	data := filepath.Join(root, "plinth-data")
	must(t, os.MkdirAll(filepath.Join(data, "blobs"), 0o755))

	t.Run("root inside", func(t *testing.T) {
		roots, err := fsys.New(map[string]string{"location": filepath.Join(data, "blobs")}, []string{data})
		must(t, err)
		_, err = roots.Open("location", ".")
		wantError(t, err, fsys.KindDenied, "belongs to Plinth")
	})
	t.Run("configured through a link", func(t *testing.T) {
		alias := filepath.Join(base, "data-alias")
		must(t, os.Symlink(data, alias))
		roots, err := fsys.New(map[string]string{"location": root}, []string{alias})
		must(t, err)
		_, err = roots.Open("location", "plinth-data/plinth.db")
		wantError(t, err, fsys.KindDenied, "belongs to Plinth")
	})
	t.Run("made later", func(t *testing.T) {
		later := filepath.Join(root, "later")
		roots, err := fsys.New(map[string]string{"location": root}, []string{later})
		must(t, err)
		must(t, os.Mkdir(later, 0o755))
		_, err = roots.Open("location", "later")
		wantError(t, err, fsys.KindDenied, "belongs to Plinth")
	})
	t.Run("a neighbour with the same prefix", func(t *testing.T) {
		must(t, os.Mkdir(data+"-public", 0o755))
		roots, err := fsys.New(map[string]string{"location": root}, []string{data})
		must(t, err)
		file, err := roots.Open("location", "plinth-data-public")
		must(t, err)
		must(t, file.Close())
	})
}

func TestTheHandleIsTheFileThatWasChecked(t *testing.T) {
	base, root, roots := tree(t)
	file, err := roots.Open("location", "docs/a.md")
	must(t, err)
	defer file.Close()
	// Between the check and the read the name becomes a link to a secret.
	must(t, os.Rename(filepath.Join(root, "docs/a.md"), filepath.Join(root, "docs/old.md")))
	must(t, os.Symlink(filepath.Join(base, "outside/secret.txt"), filepath.Join(root, "docs/a.md")))
	buffer := make([]byte, 16)
	n, err := file.ReadAt(buffer, 0)
	if !errors.Is(err, io.EOF) || string(buffer[:n]) != "aaaa" {
		t.Errorf("read %q, %v", buffer[:n], err)
	}
	_, err = roots.Open("location", "docs/a.md")
	wantError(t, err, fsys.KindDenied, "leads outside")
}

// TestSwapping opens a name while another goroutine swaps what it stands for:
// whatever wins, no byte from outside appears and nothing blocks.
func TestSwapping(t *testing.T) {
	base, root, roots := tree(t)
	must(t, os.WriteFile(filepath.Join(root, "inside.txt"), []byte("inside"), 0o644))
	must(t, os.Mkdir(filepath.Join(root, "real"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "real/secret.txt"), []byte("inside"), 0o644))
	stop, swapped := make(chan struct{}), make(chan error, 1)
	go func() { swapped <- swap(root, base, stop) }()
	for range 2000 {
		for _, path := range []string{"file", "dir/secret.txt"} {
			file, err := roots.Open("location", path)
			if err != nil {
				continue
			}
			buffer := make([]byte, 16)
			n, _ := file.ReadAt(buffer, 0)
			if n > 0 && string(buffer[:n]) != "inside" {
				t.Errorf("%s: read %q", path, buffer[:n])
			}
			must(t, file.Close())
		}
	}
	close(stop)
	must(t, <-swapped)
}

// swap makes "file" and "dir" by turns the real thing, a link outside, and a pipe.
func swap(root, base string, stop chan struct{}) error {
	next := func(name string, make func(path string) error) error {
		temporary := filepath.Join(root, name+".new")
		if err := make(temporary); err != nil {
			return err
		}
		return os.Rename(temporary, filepath.Join(root, name))
	}
	link := func(target string) func(string) error {
		return func(path string) error { return os.Symlink(target, path) }
	}
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o644) }
	for {
		for _, make := range []func(string) error{link("inside.txt"), link(base + "/outside/secret.txt"), pipe,
			func(path string) error { return os.Link(root+"/inside.txt", path) }} {
			if err := next("file", make); err != nil {
				return err
			}
		}
		for _, make := range []func(string) error{link("real"), link(base + "/outside"), pipe} {
			if err := next("dir", make); err != nil {
				return err
			}
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

func TestInfoAndRanges(t *testing.T) {
	_, root, roots := tree(t)
	when := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	must(t, os.Chtimes(filepath.Join(root, "docs/a.md"), when, when))
	file, err := roots.Open("location", "in-file")
	must(t, err)
	want := fsys.Info{Path: "docs/a.md", Name: "a.md", Size: 4, Modified: when}
	if diff := cmp.Diff(want, file.Info(), cmp.Transformer("utc", time.Time.UTC)); diff != "" {
		t.Error(diff)
	}
	buffer := make([]byte, 2)
	if n, err := file.ReadAt(buffer, 1); n != 2 || err != nil {
		t.Errorf("a range: %d, %v", n, err)
	}
	if n, err := file.ReadAt(buffer, 9); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("past the end: %d, %v", n, err)
	}
	_, err = file.ReadAt(buffer, -1)
	wantError(t, err, fsys.KindInvalid, "negative")
	_, _, err = file.List(t.Context(), 0, 0)
	wantError(t, err, fsys.KindInvalid, "it is a file")
	must(t, file.Close())
	must(t, file.Close())
	_, err = file.ReadAt(buffer, 0)
	wantError(t, err, fsys.KindFailed, "closed")

	directory, err := roots.Open("location", "docs")
	must(t, err)
	defer directory.Close()
	_, err = directory.ReadAt(buffer, 0)
	wantError(t, err, fsys.KindInvalid, "it is a directory")
}

func TestUnreadable(t *testing.T) {
	if unprivileged(t) {
		return
	}
	_, root, roots := tree(t)
	must(t, os.Chmod(filepath.Join(root, "go.mod"), 0))
	_, err := roots.Open("location", "go.mod")
	wantError(t, err, fsys.KindDenied, "operating system")
}
