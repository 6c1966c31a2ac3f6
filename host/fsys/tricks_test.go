package fsys_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/plinthhost/plinth/host/fsys"
)

// A trick is a path that is meant to lead astray.
type trick struct {
	name, path string
	root       string    // "" is location
	kind       fsys.Kind // of the error when it is opened
	text       string    // in that error
	// What a write to it answers, when that is something else: with no kind the
	// path may be written, inside the root.
	writable  bool
	writeKind fsys.Kind
	writeText string
}

// traps adds to tree what the tricks need.
func traps(t *testing.T) (base, root string, roots *fsys.Roots) {
	t.Helper()
	base, root, _ = tree(t)
	for link, target := range map[string]string{
		"chain":       "chain2",
		"chain2":      "docs/chain3",
		"docs/chain3": "../../outside",
		"own-loop":    "own-loop",
		"long-link":   strings.Repeat("x", 300),
		"proc-root":   "/proc/self/root" + filepath.Join(base, "outside/secret.txt"),
		"dots":        "docs/../../outside/secret.txt",
		"new-out":     "../outside/new.txt",
		"new-in":      "docs/new.txt",
		"to-pipe":     "pipe",
	} {
		must(t, os.Symlink(target, filepath.Join(root, link)))
	}
	must(t, os.Link(filepath.Join(root, "plinth-data/plinth.db"), filepath.Join(root, "hard.db")))
	must(t, os.WriteFile(filepath.Join(root, "caf\u00e9.txt"), []byte("composed"), 0o600))
	must(t, os.MkdirAll(filepath.Join(root, strings.Repeat("d/", 40)), 0o700))
	t.Chdir(root) // a socket's path is short
	listener, err := net.Listen("unix", "sock")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	roots, err = fsys.New(map[string]string{"location": root, "dev": "/dev", "all": "/", "process": "/proc/self"}, []string{filepath.Join(root, "plinth-data")})
	must(t, err)
	return base, root, roots
}

func tricks(base, root string) []trick {
	outside, private, missing, file := "leads outside", "belongs to Plinth", "no such file", "not a directory"
	folder := fsys.KindInvalid
	return []trick{
		{name: "parent", path: "..", kind: fsys.KindDenied, text: outside},
		{name: "parent further down", path: "docs/../../outside/secret.txt", kind: fsys.KindDenied, text: outside},
		{name: "out and back", path: "../project/go.mod", kind: fsys.KindDenied, text: outside},
		{name: "many parents", path: strings.Repeat("../", 100) + "etc/passwd", kind: fsys.KindDenied, text: outside},
		{name: "parent of a link's target", path: "in/../../../outside/secret.txt", kind: fsys.KindDenied, text: outside},
		{name: "parent of a file", path: "go.mod/../Case.txt", kind: fsys.KindNotFound, text: file},
		{name: "parent of nothing", path: "none/../go.mod", kind: fsys.KindNotFound, text: missing},
		{name: "absolute", path: filepath.Join(base, "outside/secret.txt"), kind: fsys.KindDenied, text: outside},
		{name: "absolute neighbour", path: root + "2/near.txt", kind: fsys.KindDenied, text: outside},
		{name: "absolute with parent", path: root + "/../outside/secret.txt", kind: fsys.KindDenied, text: outside},
		{name: "top of the system", path: "/", kind: fsys.KindDenied, text: outside},
		{name: "two slashes", path: "//etc/passwd", kind: fsys.KindDenied, text: outside},
		{name: "the process", path: "/proc/self/environ", kind: fsys.KindDenied, text: outside},
		{name: "link outside", path: "out/secret.txt", kind: fsys.KindDenied, text: outside},
		{name: "absolute link outside", path: "out-abs", kind: fsys.KindDenied, text: outside},
		{name: "link out and back", path: "out-in/a.md", kind: fsys.KindDenied, text: outside},
		{name: "chain of links", path: "chain/secret.txt", kind: fsys.KindDenied, text: outside},
		{name: "link with parents", path: "dots", kind: fsys.KindDenied, text: outside},
		{name: "link outside to nothing", path: "new-out", kind: fsys.KindDenied, text: outside},
		{name: "link inside to nothing", path: "new-in", kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "link by way of the process", path: "proc-root", kind: fsys.KindDenied, text: outside},
		{name: "link to a device", path: "dev", kind: fsys.KindDenied, text: outside},
		{name: "link to a pipe", path: "to-pipe", kind: fsys.KindInvalid, text: "a pipe"},
		{name: "links in a circle", path: "loop-a", kind: fsys.KindInvalid, text: "symbolic links"},
		{name: "link to itself", path: "own-loop", kind: fsys.KindInvalid, text: "symbolic links"},
		{name: "many links", path: strings.Repeat("self/", 41) + "go.mod", kind: fsys.KindInvalid, text: "symbolic links"},
		{name: "link to a long name", path: "long-link", kind: fsys.KindInvalid, text: "longer than"},
		{name: "broken link", path: "broken", kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "pipe", path: "pipe", kind: fsys.KindInvalid, text: "a pipe"},
		{name: "socket", path: "sock", kind: fsys.KindInvalid, text: "a socket"},
		{name: "device", root: "dev", path: "null", kind: fsys.KindInvalid, text: "a device"},
		{name: "terminal", root: "dev", path: "tty", kind: fsys.KindInvalid, text: "a device"},
		{name: "NUL", path: "go.mod\x00.txt", kind: fsys.KindInvalid, text: "NUL"},
		{name: "NUL at the end", path: "go.mod\x00", kind: fsys.KindInvalid, text: "NUL"},
		{name: "not UTF-8", path: "..\xff/outside", kind: fsys.KindInvalid, text: "UTF-8"},
		{name: "overlong dots", path: "\xc0\xae\xc0\xae/outside", kind: fsys.KindInvalid, text: "UTF-8"},
		{name: "long path", path: strings.Repeat("x/", 3000), kind: fsys.KindInvalid, text: "6000 bytes"},
		{name: "long name", path: strings.Repeat("x", 300), kind: fsys.KindInvalid, text: "longer than"},
		{name: "deep", path: strings.Repeat("d/", 41), kind: fsys.KindNotFound, text: missing, writeKind: folder, writeText: "ends like a folder"},
		{name: "deeper than can be", path: strings.Repeat("d/", 129) + "f", kind: fsys.KindNotFound, text: missing, writeKind: fsys.KindInvalid, writeText: "folders deep"},
		{name: "slash after a file", path: "go.mod/", kind: fsys.KindNotFound, text: file},
		{name: "dot after a file", path: "go.mod/.", kind: fsys.KindNotFound, text: file},
		{name: "below a file", path: "go.mod/x", kind: fsys.KindNotFound, text: file},
		{name: "trailing dot", path: "go.mod.", kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "trailing space", path: "go.mod ", kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "trailing line break", path: "go.mod\n", kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "three dots", path: ".../x", kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "dots of full width", path: "\uff0e\uff0e/outside/secret.txt", kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "slash of full width", path: "..\uff0foutside", kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "backslashes", path: `..\..\outside\secret.txt`, kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "percent encoding", path: "%2e%2e/outside/secret.txt", kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "home", path: "~/.ssh/id_ed25519", kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "drive", path: `C:\outside`, kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "stream of a file", path: "go.mod::$DATA", kind: fsys.KindNotFound, text: missing, writable: true},
		{name: "own folder", path: "plinth-data", kind: fsys.KindDenied, text: private},
		{name: "own file", path: "plinth-data/plinth.db", kind: fsys.KindDenied, text: private},
		{name: "own file, absolute", path: root + "/plinth-data/plinth.db", kind: fsys.KindDenied, text: private},
		{name: "own folder, left again", path: "plinth-data/../go.mod", kind: fsys.KindDenied, text: private},
		{name: "own file by a link", path: "to-data/plinth.db", kind: fsys.KindDenied, text: private},
		{name: "nothing in the own folder", path: "plinth-data/none", kind: fsys.KindDenied, text: private},
		{name: "folder", path: "docs", writeKind: folder, writeText: "a directory"},
		{name: "half written", path: "docs/" + fsys.TemporaryPrefix + "X", kind: fsys.KindNotFound, text: missing, writeKind: fsys.KindInvalid, writeText: "half written"},
		{name: "no such root", root: "elsewhere", path: "go.mod", kind: fsys.KindDenied, text: "no root"},
		// A second name of a private file is a file like any other to the system. It
		// opens; a write puts a new file under the name and leaves the private one.
		{name: "hard link to an own file", path: "hard.db", writable: true},
	}
}

// systemTricks depend on the system or on how the file system compares names.
func systemTricks(base, root string) []trick {
	var all []trick
	if !foldsCase(root) {
		all = append(all,
			trick{name: "other case", path: "CASE.TXT", kind: fsys.KindNotFound, text: "no such file", writable: true},
			trick{name: "own folder in the other case", path: "PLINTH-DATA/plinth.db", kind: fsys.KindNotFound, text: "no such file", writable: true})
	}
	if runtime.GOOS == "linux" {
		processes := "the running processes"
		secret, own := open(filepath.Join(base, "outside/secret.txt")), open(filepath.Join(root, "plinth-data/plinth.db"))
		all = append(all,
			trick{name: "decomposed spelling", path: "cafe\u0301.txt", kind: fsys.KindNotFound, text: "no such file", writable: true},
			trick{name: "open file of the process", path: "/proc/self/fd/" + secret, kind: fsys.KindDenied, text: "leads outside"},
			trick{name: "own file by the descriptor it is open in", root: "all", path: "proc/self/fd/" + own, kind: fsys.KindDenied, text: processes},
			trick{name: "own file by the process's root", root: "all", path: "proc/self/root" + root + "/plinth-data/plinth.db", kind: fsys.KindDenied, text: processes},
			trick{name: "own file by the process's folder", root: "all", path: "proc/self/cwd/plinth-data/plinth.db", kind: fsys.KindDenied, text: processes},
			trick{name: "environment of the process", root: "all", path: "proc/self/environ", kind: fsys.KindDenied, text: processes},
			trick{name: "memory of the process", root: "all", path: "proc/self/mem", kind: fsys.KindDenied, text: processes},
			trick{name: "memory of a thread, by a link of the system", root: "all", path: "proc/thread-self/mem", kind: fsys.KindDenied, text: processes},
			trick{name: "a descriptor of the process, by a link of the system", root: "all", path: "dev/fd/" + own, kind: fsys.KindDenied, text: processes},
			trick{name: "a root in the process", root: "process", path: "environ", kind: fsys.KindDenied, text: processes},
			trick{name: "the folder of all processes", root: "all", path: "proc", kind: fsys.KindDenied, text: processes},
			trick{name: "memory of the machine", root: "all", path: "dev/shm/../mem", kind: fsys.KindNotFound, text: "no such file", writable: true},
		)
		if _, err := os.Stat("/dev/mem"); err == nil {
			all[len(all)-1].kind, all[len(all)-1].text, all[len(all)-1].writable = fsys.KindInvalid, "a device", false
		}
	}
	return all
}

// open opens a file for as long as the process lives, as the host does its database.
func open(name string) (descriptor string) {
	fd, err := syscall.Open(name, syscall.O_RDONLY, 0)
	if err != nil {
		panic(err)
	}
	return strconv.Itoa(fd)
}

func TestPathTricks(t *testing.T) {
	base, root, roots := traps(t)
	all := append(tricks(base, root), systemTricks(base, root)...)
	if len(all) < 40 {
		t.Errorf("only %d tricks", len(all))
	}
	opened := watchOpens(t, filepath.Join(base, "outside"), filepath.Join(root, "plinth-data"))
	for _, trick := range all {
		t.Run(trick.name, func(t *testing.T) {
			name := trick.root
			if name == "" {
				name = "location"
			}
			file, err := roots.Open(name, trick.path)
			if trick.kind != "" {
				wantError(t, err, trick.kind, trick.text)
				_, err = roots.Grep(t.Context(), fsys.GrepQuery{Selection: fsys.Selection{Root: name, Path: trick.path}, Pattern: "."})
				wantError(t, err, trick.kind, trick.text)
				_, err = roots.Glob(t.Context(), fsys.GlobQuery{Selection: fsys.Selection{Root: name, Path: trick.path}, Pattern: "*"})
				wantError(t, err, trick.kind, trick.text)
			} else {
				must(t, err)
				must(t, file.Close())
			}
			tryToWrite(t, roots, name, trick)
			if opened() {
				t.Error("something outside the root, or private, was opened")
			}
		})
	}
	for path, want := range map[string]string{base + "/outside/secret.txt": "secret", root + "/plinth-data/plinth.db": "db", base + "/project2/near.txt": "near"} {
		if content, err := os.ReadFile(path); string(content) != want || err != nil {
			t.Errorf("%s now holds %q, %v", path, content, err)
		}
	}
	for _, folder := range []string{base + "/outside", root + "/plinth-data"} {
		if entries, err := os.ReadDir(folder); len(entries) != 1 || err != nil {
			t.Errorf("%s now holds %v, %v", folder, entries, err)
		}
	}
}

// tryToWrite writes through a trick. What may be written lies in the root and
// outside of Plinth's own folders.
func tryToWrite(t *testing.T, roots *fsys.Roots, root string, trick trick) {
	t.Helper()
	var writer fsys.Writer
	// Nothing is written all over the system: there nobody allows it.
	refusal := errors.New("not here")
	permit := fsys.Permit{Rules: all(fsys.Asks), Ask: func(context.Context, []string) error {
		if root != "location" {
			return refusal
		}
		return nil
	}}
	results, err := writer.Commit(t.Context(), roots, root, []fsys.Change{{Op: fsys.OpWrite, Path: trick.path, Data: []byte("written"), Parents: true}}, permit)
	if !trick.writable {
		kind, text := trick.writeKind, trick.writeText
		if kind == "" {
			kind, text = trick.kind, trick.text
		}
		wantError(t, err, kind, text)
		return
	}
	if root != "location" {
		if !errors.Is(err, refusal) {
			t.Errorf("write: %v", err)
		}
		return
	}
	must(t, err)
	file, err := roots.Open("location", results[0].Path)
	must(t, err)
	if file.Identity() != results[0].Path || file.Info().Size != 7 {
		t.Errorf("wrote %q, found %q of %d bytes", results[0].Path, file.Identity(), file.Info().Size)
	}
	must(t, file.Close())
}
