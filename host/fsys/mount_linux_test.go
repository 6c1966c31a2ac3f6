package fsys_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plinthhost/plinth/host/fsys"
)

// mountChild tells a process of this test binary, which has mounts of its own, to
// mount things into that folder and look.
const mountChild = "PLINTH_FSYS_MOUNTS_IN"

// TestMounts runs in a process that may mount: a private folder and a device by
// other names, a read-only file system, and one that is full.
func TestMounts(t *testing.T) {
	g := newGrove(t)
	g.file("p/private/own.db", "own needle")
	g.file("p/a.txt", "a")
	g.file("p/b.txt", "b")
	g.file("p/c.txt", "c")
	for _, name := range []string{"p/bound", "p/full", "p/read-only"} {
		g.folder(name)
	}
	g.file("p/null", "")
	g.file("p/version", "")
	g.folder("p/processes")
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), mountChild+"="+g.path("p"))
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var output bytes.Buffer
	child.Stdout, child.Stderr = &output, &output
	if err := child.Run(); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || child.ProcessState != nil && child.ProcessState.ExitCode() == cannotMount {
		t.Skip("this system lets no process of ours mount: ", err, output.String())
	} else if err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}
	if output.Len() > 0 {
		t.Error(output.String())
	}
}

// cannotMount is what the child ends with where it has no right to mount.
const cannotMount = 77

func mounted() int {
	folder := os.Getenv(mountChild)
	for _, mount := range []struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}{
		{"none", "/", "", syscall.MS_REC | syscall.MS_PRIVATE, ""},
		{"private", "bound", "", syscall.MS_BIND, ""},
		{"/dev/null", "null", "", syscall.MS_BIND, ""},
		{"/proc/version", "version", "", syscall.MS_BIND, ""},
		{"/proc", "processes", "", syscall.MS_BIND | syscall.MS_REC, ""},
		{"c.txt", "c.txt", "", syscall.MS_BIND, ""},
		{"none", "full", "tmpfs", 0, "size=64k"},
		{"none", "read-only", "tmpfs", syscall.MS_RDONLY, ""},
	} {
		inside := func(name string) string {
			if filepath.IsAbs(name) || name == "none" {
				return name
			}
			return filepath.Join(folder, name)
		}
		if err := syscall.Mount(inside(mount.source), inside(mount.target), mount.kind, mount.flags, mount.data); err != nil {
			fmt.Println("mount", mount.target, err)
			return cannotMount
		}
	}
	for _, complaint := range lookAtMounts(folder) {
		fmt.Println(complaint)
	}
	return 0
}

// lookAtMounts answers what is wrong.
func lookAtMounts(folder string) (wrong []string) {
	roots, err := fsys.New(map[string]string{"location": folder}, []string{filepath.Join(folder, "private")})
	if err != nil {
		return []string{err.Error()}
	}
	expect := func(what string, err error, kind fsys.Kind, text string) {
		var failed *fsys.Error
		if !errors.As(err, &failed) || failed.Kind != kind || !strings.Contains(failed.Error(), text) {
			wrong = append(wrong, fmt.Sprintf("%s: %v, want %s with %q", what, err, kind, text))
		}
	}
	apply := func(changes ...fsys.Change) ([]fsys.Changed, error) {
		var writer fsys.Writer
		return writer.Commit(context.Background(), roots, "location", changes, fsys.Permit{})
	}
	for _, path := range []string{"bound", "bound/own.db", "bound/../a.txt"} {
		_, err := roots.Open("location", path)
		expect("open "+path, err, fsys.KindDenied, "belongs to Plinth")
	}
	_, err = roots.Open("location", "null")
	expect("a bound device", err, fsys.KindInvalid, "a device")
	for _, path := range []string{"version", "processes", "processes/version", "processes/self/environ"} {
		_, err = roots.Open("location", path)
		expect("open "+path, err, fsys.KindDenied, "the running processes")
	}
	found, err := roots.Grep(context.Background(), fsys.GrepQuery{Selection: fsys.Selection{Root: "location", Hidden: true, Ignored: true}, Pattern: "needle|Linux"})
	if err != nil || found.Matches > 0 {
		wrong = append(wrong, fmt.Sprintf("a search found %v, %v", found.Files, err))
	}
	_, err = apply(write("bound/new.db", "x", ""))
	expect("write to a private folder", err, fsys.KindDenied, "belongs to Plinth")
	_, err = apply(fsys.Change{Op: fsys.OpRename, Path: "a.txt", To: "full/a.txt"})
	expect("rename to another file system", err, fsys.KindInvalid, "another file system")
	_, err = apply(write("read-only/a.txt", "x", ""))
	expect("write where nothing can be written", err, fsys.KindDenied, "read-only")

	results, err := apply(write("a.txt", "new", ""), write("full/big", strings.Repeat("x", 1<<20), ""))
	expect("write more than there is room for", err, fsys.KindLimit, "no room")
	if len(results) != 2 || results[0].Outcome != fsys.NotDone || results[1].Outcome != fsys.Failed {
		wrong = append(wrong, fmt.Sprintf("no room: %+v", results))
	}
	// A file that something is mounted on can be looked at and not be replaced.
	results, err = apply(write("a.txt", "new", ""), write("c.txt", "new", ""), write("b.txt", "new", ""))
	if err == nil || len(results) != 3 || results[0].Outcome != fsys.Done || results[1].Outcome != fsys.Failed || results[2].Outcome != fsys.NotDone {
		wrong = append(wrong, fmt.Sprintf("a file that cannot be replaced: %+v, %v", results, err))
	}
	for name, want := range map[string]string{"a.txt": "new", "b.txt": "b", "c.txt": "c"} {
		if content, err := os.ReadFile(filepath.Join(folder, name)); string(content) != want || err != nil {
			wrong = append(wrong, fmt.Sprintf("%s holds %q, %v", name, content, err))
		}
	}
	return wrong
}
