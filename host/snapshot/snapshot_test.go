package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/snapshot"
	"github.com/plinthhost/plinth/session"
)

// project is a git work tree with a store beside it.
type project struct {
	t        testing.TB
	root     string
	folder   string
	options  snapshot.Options
	store    *snapshot.Store
	location session.Location
}

// newProject has the files, each a path followed by its content.
func newProject(t testing.TB, options snapshot.Options, files ...string) *project {
	t.Helper()
	p := &project{t: t, root: filepath.Join(t.TempDir(), "project"), folder: filepath.Join(t.TempDir(), "snapshots")}
	options.Folder = p.folder
	p.options = options
	p.location = session.Location{Directory: p.root, Root: p.root, Git: true}
	if err := os.MkdirAll(p.root, 0o755); err != nil {
		t.Fatal(err)
	}
	p.git("init", "--quiet")
	for i := 0; i+1 < len(files); i += 2 {
		p.write(files[i], files[i+1])
	}
	p.reopen()
	return p
}

// reopen is another process on the same folders.
func (p *project) reopen() {
	p.t.Helper()
	store, err := snapshot.New(p.options)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { store.Close() })
	p.store = store
}

// git runs the person's git in the project.
func (p *project) git(args ...string) string {
	p.t.Helper()
	command := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	command.Dir = p.root
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := command.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (p *project) write(name, content string) {
	p.t.Helper()
	full := filepath.Join(p.root, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) remove(name string) {
	p.t.Helper()
	if err := os.RemoveAll(filepath.Join(p.root, name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) link(target, name string) {
	p.t.Helper()
	if err := os.Symlink(target, filepath.Join(p.root, name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) capture() string {
	p.t.Helper()
	name, err := p.store.Capture(p.t.Context(), p.location)
	if err != nil || name == "" {
		p.t.Fatalf("capture: %q, %v", name, err)
	}
	return name
}

func (p *project) diff(from, to string) []session.FileDiff {
	p.t.Helper()
	files, err := p.store.Diff(p.t.Context(), p.location, from, to)
	if err != nil {
		p.t.Fatal(err)
	}
	return files
}

func (p *project) restore(to string, paths ...string) []session.FileDiff {
	p.t.Helper()
	restored, err := p.store.Restore(p.t.Context(), p.location, to, paths)
	if err != nil {
		p.t.Fatal(err)
	}
	return restored.Files
}

// files are the project's, by path, without its repository; a link has an arrow.
func (p *project) files() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(p.root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if entry != nil && entry.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		name, err := filepath.Rel(p.root, path)
		if err != nil {
			return err
		}
		if entry.Type()&os.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			all[name] = "→ " + target
			return err
		}
		data, err := os.ReadFile(path)
		all[name] = string(data)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

func (p *project) want(want map[string]string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.files()); diff != "" {
		p.t.Error(diff)
	}
}

func TestDiffAndRestore(t *testing.T) {
	p := newProject(t, snapshot.Options{}, "a.txt", "one\ntwo\n", "sub/b.txt", "b\n", "gone.txt", "x\n", "run.sh", "#!/bin/sh\n", ".gitignore", "*.log\n", "x.log", "1")
	p.link("a.txt", "link")
	if err := os.Chmod(filepath.Join(p.root, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	before, files := p.capture(), p.files()
	if again := p.capture(); again != before {
		t.Errorf("the same files are %s and %s", before, again)
	}
	p.write("a.txt", "one\nTWO\nthree\n")
	p.write("new/deep/c.txt", "c\n")
	p.write("data.bin", "\x00\x01\x02")
	p.write("x.log", "2")
	p.remove("gone.txt")
	p.remove("sub")
	p.remove("link")
	p.link("elsewhere", "link")
	if err := os.Chmod(filepath.Join(p.root, "run.sh"), 0o644); err != nil {
		t.Fatal(err)
	}
	after, changed := p.capture(), p.files()
	want := []session.FileDiff{{Path: "a.txt", Additions: 2, Deletions: 1}, {Path: "data.bin"}, {Path: "gone.txt", Deletions: 1},
		{Path: "link", Additions: 1, Deletions: 1}, {Path: "new/deep/c.txt", Additions: 1}, {Path: "run.sh"}, {Path: "sub/b.txt", Deletions: 1}}
	if diff := cmp.Diff(want, p.diff(before, after)); diff != "" {
		t.Error(diff)
	}

	if diff := cmp.Diff(7, len(p.restore(before))); diff != "" {
		t.Error(diff)
	}
	files["x.log"] = "2" // ignored, so nobody's business
	p.want(files)
	if info, err := os.Stat(filepath.Join(p.root, "run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("run.sh has %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(p.root, "new")); !os.IsNotExist(err) {
		t.Error("a folder without files stayed")
	}
	p.reopen() // another process knows the snapshots too
	p.restore(after)
	p.want(changed)
	if got := p.restore(after); got != nil {
		t.Errorf("nothing differs and %v was restored", got)
	}
}

func TestRestoreOfSomePaths(t *testing.T) {
	p := newProject(t, snapshot.Options{}, "a", "1", "b", "1")
	before := p.capture()
	p.write("a", "2")
	p.write("b", "2")
	p.write("c", "2")
	got := p.restore(before, "a", "c", "not there")
	if diff := cmp.Diff([]session.FileDiff{{Path: "a", Additions: 1, Deletions: 1}, {Path: "c", Deletions: 1}}, got); diff != "" {
		t.Error(diff)
	}
	p.want(map[string]string{"a": "1", "b": "2"})
	if restored, err := p.store.Restore(t.Context(), p.location, before, []string{}); err != nil || restored.Files != nil || restored.Left != nil {
		t.Errorf("no paths restored %+v, %v", restored, err)
	}
}

func TestPatches(t *testing.T) {
	p := newProject(t, snapshot.Options{}, "a", "1\n", "b", "1\n")
	before := p.capture()
	p.write("a", "2\n")
	p.write("b", strings.Repeat("line\n", 1000))
	after := p.capture()
	got, err := p.store.Patches(t.Context(), p.location, before, after, []string{"b", "a", "c"}, 400)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != "" || got[2] != "" || !strings.HasSuffix(got[1], "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n") {
		t.Errorf("%q", got)
	}
}

// A snapshot is of the root, wherever below the session works, and that folder stays.
func TestTheRootIsTaken(t *testing.T) {
	p := newProject(t, snapshot.Options{}, "top", "1")
	p.location.Directory = filepath.Join(p.root, "sub", "deep")
	before := p.capture()
	p.write("sub/deep/x", "1")
	p.write("top", "2")
	p.restore(before)
	p.want(map[string]string{"top": "1"})
	if _, err := os.Stat(p.location.Directory); err != nil {
		t.Error("the session has no place to work in any more")
	}
}

func TestUnknownSnapshots(t *testing.T) {
	p := newProject(t, snapshot.Options{}, "a", "1")
	known := p.capture()
	for _, name := range []string{"", "HEAD", "--help", strings.Repeat("a", 40), "../../x", known[:12]} {
		if _, err := p.store.Diff(t.Context(), p.location, known, name); !errors.Is(err, session.ErrNoSnapshot) {
			t.Errorf("diff to %q: %v", name, err)
		}
		if _, err := p.store.Restore(t.Context(), p.location, name, nil); !errors.Is(err, session.ErrNoSnapshot) {
			t.Errorf("restore of %q: %v", name, err)
		}
	}
	p.want(map[string]string{"a": "1"})
}

func TestOutsideOfGit(t *testing.T) {
	p := newProject(t, snapshot.Options{}, "a", "1")
	p.location.Git = false
	if name, err := p.store.Capture(t.Context(), p.location); name != "" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if _, err := p.store.Restore(t.Context(), p.location, strings.Repeat("a", 40), nil); !errors.Is(err, session.ErrNoSnapshot) {
		t.Error(err)
	}
	if _, err := os.Stat(p.folder); !os.IsNotExist(err) {
		t.Error("a folder was made for nothing")
	}
}

func TestNoGit(t *testing.T) {
	if _, err := snapshot.New(snapshot.Options{Folder: t.TempDir(), Git: filepath.Join(t.TempDir(), "git")}); !errors.Is(err, snapshot.ErrNoGit) {
		t.Error(err)
	}
}

// Captures of one root at a time come one after the other, and all are right.
func TestConcurrentCaptures(t *testing.T) {
	p := newProject(t, snapshot.Options{})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if err := os.WriteFile(filepath.Join(p.root, fmt.Sprint(i)), []byte("x"), 0o600); err != nil {
				t.Error(err)
			}
			if _, err := p.store.Capture(t.Context(), p.location); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	last := p.capture()
	p.remove("0")
	if diff := cmp.Diff([]session.FileDiff{{Path: "0", Deletions: 1}}, p.diff(last, p.capture())); diff != "" {
		t.Error(diff)
	}
}

// A git that was killed leaves a lock; the next capture goes on.
func TestAnIndexLockThatWasLeft(t *testing.T) {
	p := newProject(t, snapshot.Options{}, "a", "1")
	p.capture()
	p.reopen()
	folders, err := filepath.Glob(filepath.Join(p.folder, "*", "index"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	if err := os.WriteFile(folders[0]+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.write("a", "2")
	p.capture()
}

// A repository that was not finished is made anew.
func TestARepositoryThatWasNotFinished(t *testing.T) {
	p := newProject(t, snapshot.Options{}, "a", "1")
	p.capture()
	files, err := filepath.Glob(filepath.Join(p.folder, "*", "plinth-root"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	p.reopen()
	p.capture()
}

// clock can be set.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func TestSweep(t *testing.T) {
	at := &clock{time.Now()}
	var named []string
	p := newProject(t, snapshot.Options{Clock: at, Keep: 48 * time.Hour, Named: func(context.Context) ([]string, error) { return named, nil }}, "a", "1")
	old := p.capture()
	p.write("a", "2")
	staged := p.capture()
	named = []string{staged}
	at.now = at.now.Add(36 * time.Hour)
	p.write("a", "3")
	recent := p.capture()
	at.now = at.now.Add(36 * time.Hour)
	if err := p.store.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.reopen()
	if _, err := p.store.Restore(t.Context(), p.location, old, nil); !errors.Is(err, session.ErrNoSnapshot) {
		t.Errorf("the old snapshot: %v", err)
	}
	p.restore(staged)
	p.want(map[string]string{"a": "2"})
	p.restore(recent)
	p.want(map[string]string{"a": "3"})

	named = nil
	at.now = at.now.Add(100 * time.Hour)
	if err := p.store.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(p.folder, "*", "plinth-root")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	p.capture() // makes it anew
}

// Start sweeps at once when no sweep was known, and Close waits for it.
func TestStartAndClose(t *testing.T) {
	swept := make(chan struct{})
	p := newProject(t, snapshot.Options{Named: func(context.Context) ([]string, error) { close(swept); return nil, nil }}, "a", "1")
	p.capture()
	p.store.Start(t.Context())
	p.store.Start(t.Context())
	<-swept
	if err := errors.Join(p.store.Close(), p.store.Close()); err != nil {
		t.Error(err)
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func BenchmarkCaptureOfNothingNew(b *testing.B) {
	p := newProject(b, snapshot.Options{})
	for i := range 200 {
		p.write(fmt.Sprintf("pkg%d/file%d.go", i%20, i), strings.Repeat("package x\n", 50))
	}
	p.capture()
	var times []time.Duration
	for b.Loop() {
		begin := time.Now()
		p.capture()
		times = append(times, time.Since(begin))
	}
	b.ReportMetric(float64(median(times).Microseconds())/1000, "ms/p50")
}

func BenchmarkCaptureOfAChange(b *testing.B) {
	p := newProject(b, snapshot.Options{})
	for i := range 200 {
		p.write(fmt.Sprintf("pkg%d/file%d.go", i%20, i), strings.Repeat("package x\n", 50))
	}
	p.capture()
	for i := 0; b.Loop(); i++ {
		p.write("pkg1/file1.go", fmt.Sprint(i))
		p.capture()
	}
}
