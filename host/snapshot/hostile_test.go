package snapshot_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/snapshot"
	"github.com/plinthhost/plinth/session"
)

// A project whose repository is set up to run programs wherever git lets it: none runs,
// files keep their bytes, and the repository is as it was.
func TestNothingOfTheProjectRuns(t *testing.T) {
	p := newProject(t, snapshot.Options{}, "a.txt", "one $Id$\r\ntwo\r\n", "b.bin", "b")
	p.git("add", "-A")
	p.git("commit", "--quiet", "-m", "first")
	trap, sprung := filepath.Join(p.root, ".git", "trap"), filepath.Join(t.TempDir(), "sprung")
	if err := os.WriteFile(trap, []byte("#!/bin/sh\necho \"$0 $@\" >> "+sprung+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"core.fsmonitor", "core.hooksPath", "core.sshCommand", "core.editor", "core.pager", "core.alternateRefsCommand",
		"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.external", "diff.evil.command", "diff.evil.textconv",
		"merge.evil.driver", "gpg.program", "credential.helper", "uploadpack.packObjectsHook", "gc.recentObjectsHook"} {
		p.git("config", setting, trap)
	}
	p.git("config", "filter.evil.required", "true")
	for _, hook := range []string{"pre-commit", "post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"} {
		if err := os.WriteFile(filepath.Join(p.root, ".git", "hooks", hook), []byte("#!/bin/sh\necho "+hook+" >> "+sprung+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	evil := "* filter=evil diff=evil merge=evil text=auto eol=crlf ident working-tree-encoding=UTF-16\n[attr]binary -diff\n"
	p.write(".gitattributes", evil)
	p.write(".git/info/attributes", evil)
	p.write(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::"+trap+"\n\tupdate = !"+trap+"\n")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
	t.Setenv("GIT_CONFIG_VALUE_0", trap)
	t.Setenv("GIT_EXTERNAL_DIFF", trap)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(p.root, ".git", "index"))
	whole := repository(t, p.root)

	before, files := p.capture(), p.files()
	p.write("a.txt", "1\r\n2\n")
	p.write("c.txt", "$Id: x $")
	after := p.capture()
	want := []session.FileDiff{{Path: "a.txt", Additions: 2, Deletions: 2}, {Path: "c.txt", Additions: 1}}
	if diff := cmp.Diff(want, p.diff(before, after)); diff != "" {
		t.Error(diff)
	}
	patches, err := p.store.Patches(t.Context(), p.location, before, after, []string{"a.txt"}, 1<<20)
	if err != nil || !strings.Contains(patches[0], "-one $Id$\r\n") {
		t.Errorf("%q, %v", patches, err)
	}
	p.restore(before)
	p.want(files)
	if err := p.store.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if said, err := os.ReadFile(sprung); err == nil {
		t.Errorf("something ran: %s", said)
	}
	if diff := cmp.Diff(whole, repository(t, p.root)); diff != "" {
		t.Errorf("the project's repository changed: %s", diff)
	}
}

// repository reads all that lies in the project's own.
func repository(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(filepath.Join(root, ".git"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		info, infoErr := entry.Info()
		if infoErr != nil {
			return infoErr
		}
		all[path] = info.ModTime().String() + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Repositories inside the project are not entered, and names that other systems cannot
// have are kept.
func TestStrangeThings(t *testing.T) {
	strange := []string{"new\nline", " spaces ", "-rf", ":(top)x", "quo\"te", "back\\slash", "git~1", "tab\t", "*.go", "\xff\xfe", "é"}
	p := newProject(t, snapshot.Options{}, "a", "1")
	for _, name := range strange {
		p.write(name, "1")
	}
	p.write("inner/file", "1")
	inner := exec.Command("git", "init", "--quiet", filepath.Join(p.root, "inner"))
	if out, err := inner.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := syscall.Mkfifo(filepath.Join(p.root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := p.capture()
	p.write("inner/file", "2")
	for _, name := range strange {
		p.write(name, "2")
	}
	if got := p.diff(before, p.capture()); len(got) != len(strange) {
		t.Errorf("%d of %d: %v", len(got), len(strange), got)
	}
	if err := os.Remove(filepath.Join(p.root, "pipe")); err != nil {
		t.Fatal(err)
	}
	p.restore(before, strange...)
	for name, content := range p.files() {
		if want := map[bool]string{true: "2", false: "1"}[strings.HasPrefix(name, "inner")]; !strings.HasPrefix(name, "inner/.git") && content != want {
			t.Errorf("%q has %q", name, content)
		}
	}
}

// What lies behind a link is not touched, in the project or outside of it.
func TestLinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	p := newProject(t, snapshot.Options{}, "dir/a", "1", "dir/b", "1", "c", "1", "other/a", "other")
	before := p.capture()
	for _, target := range []string{outside, "other", filepath.Join(p.root, "other")} {
		p.remove("dir")
		p.link(target, "dir")
		p.remove("c")
		p.link(filepath.Join(outside, "c"), "c")
		p.restore(before, "dir/a", "dir/b", "c")
		if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
			t.Errorf("outside: %v, %v", entries, err)
		}
		want := map[string]string{"c": "1", "dir": "→ " + target, "other/a": "other"}
		p.want(want)
		p.restore(before) // with the link itself
		p.want(map[string]string{"dir/a": "1", "dir/b": "1", "c": "1", "other/a": "other"})
	}
	p.remove("dir")
	p.write("dir", "a file now")
	p.restore(before, "dir/a")
	p.want(map[string]string{"dir": "a file now", "c": "1", "other/a": "other"})
}

// What a snapshot cannot hold is not restored over: nothing would bring it back.
func TestWhatNoSnapshotHoldsStays(t *testing.T) {
	p := newProject(t, snapshot.Options{MaxFileBytes: 100}, "small", "1", "shadow", "1", "sub/x", "1")
	before := p.capture()
	large := strings.Repeat("x", 101)
	p.write("small", large)
	p.write("new", large)
	p.remove("shadow")
	p.remove("sub")
	p.capture()
	p.write(".gitignore", "shadow\nsub/ignored\n")
	p.write("shadow", "a person's own")
	p.write("sub/ignored", "a person's own")
	restored, err := p.store.Restore(t.Context(), p.location, before, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := session.Restored{Files: []session.FileDiff{{Path: ".gitignore", Deletions: 2}, {Path: "sub/x", Additions: 1}}, Left: []string{"shadow"}}
	if diff := cmp.Diff(want, restored); diff != "" {
		t.Error(diff)
	}
	p.want(map[string]string{"small": large, "new": large, "shadow": "a person's own", "sub/ignored": "a person's own", "sub/x": "1"})
	p.write("small", strings.Repeat("x", 100))
	if after := p.capture(); after == before {
		t.Error("a file at the limit is left out")
	}
}

func TestUnreadableFilesAreLeftOut(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root reads everything; the capture itself is tried")
	}
	p := newProject(t, snapshot.Options{}, "a", "1", "secret", "1")
	if err := os.Chmod(filepath.Join(p.root, "secret"), 0); err != nil {
		t.Fatal(err)
	}
	p.capture()
}

func TestTooManyFiles(t *testing.T) {
	p := newProject(t, snapshot.Options{MaxFiles: 3}, "a", "1", "b", "1", "c", "1")
	p.capture()
	p.write("d", "1")
	for range 2 {
		if name, err := p.store.Capture(t.Context(), p.location); name != "" || err != nil {
			t.Errorf("%q, %v", name, err)
		}
	}
	p.remove("a")
	p.capture()
}

func TestIgnoredByTheProjectsRepository(t *testing.T) {
	p := newProject(t, snapshot.Options{}, "a", "1", ".git/info/exclude", "mine\n")
	before := p.capture()
	p.write("mine", "1")
	if after := p.capture(); after != before {
		t.Error("an excluded file was taken")
	}
	p.git("add", "-A")
	p.git("commit", "--quiet", "-m", "first")
	linked := filepath.Join(t.TempDir(), "linked")
	p.git("worktree", "add", "--quiet", linked)
	p.location = session.Location{Directory: linked, Root: linked, Git: true}
	p.root = linked
	before = p.capture()
	p.write("mine", "1")
	if after := p.capture(); after != before {
		t.Error("an excluded file of a linked work tree was taken")
	}
}

// A project that makes git wait is given up after its time.
func TestTheTimeIsBounded(t *testing.T) {
	p := newProject(t, snapshot.Options{Timeout: 300 * time.Millisecond}, "a", "1")
	if err := syscall.Mkfifo(filepath.Join(p.root, ".gitignore"), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	name, err := p.store.Capture(t.Context(), p.location)
	if err == nil || !strings.Contains(err.Error(), "git took longer than 300ms") {
		t.Errorf("%q, %v", name, err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A restore that was broken off in the middle of a file leaves nothing behind when it
// is made again.
func TestARestoreThatWasBrokenOff(t *testing.T) {
	p := newProject(t, snapshot.Options{}, "a", "1", "sub/b", "1")
	before := p.capture()
	p.write("a", "2")
	p.write("sub/b", "2")
	p.write("sub/.plinth-restore-x", "half")
	after := p.capture()
	if got := p.diff(before, after); len(got) != 2 {
		t.Errorf("%v", got)
	}
	p.restore(before)
	p.want(map[string]string{"a": "1", "sub/b": "1"})
	// Also where every file is as it must be.
	p.write("sub/.plinth-restore-y", "half")
	p.restore(before, "sub/b")
	p.want(map[string]string{"a": "1", "sub/b": "1"})
}

// The host's own folder may lie in a project: no snapshot has it, and nothing restores it.
func TestTheHostsOwnFolderIsLeftOut(t *testing.T) {
	p := newProject(t, snapshot.Options{}, "a", "1", "own [data] */plinth.db", "1")
	p.options.Folder = filepath.Join(p.root, "own [data] *", "snapshots")
	p.options.Exclude = []string{filepath.Join(p.root, "own [data] *")}
	p.reopen()
	before := p.capture()
	if again := p.capture(); again != before {
		t.Error("a capture is in the next one")
	}
	p.write("own [data] */plinth.db", "2")
	p.write("a", "2")
	if diff := cmp.Diff([]session.FileDiff{{Path: "a", Additions: 1, Deletions: 1}}, p.diff(before, p.capture())); diff != "" {
		t.Error(diff)
	}
	p.restore(before)
	if got := p.files(); got["a"] != "1" || got["own [data] */plinth.db"] != "2" {
		t.Errorf("a is %q and the database %q", got["a"], got["own [data] */plinth.db"])
	}
}
