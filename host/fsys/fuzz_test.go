package fsys_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/fsys"
)

// FuzzResolve builds a tree of links from a script and follows a path through it:
// whatever both are, nothing outside the root and nothing private is opened, read
// or written.
func FuzzResolve(f *testing.F) {
	for _, path := range []string{"a", "a/b", "../outside/secret", "a/../../outside/secret", "/", "private/own", "b/c/a/", "a//./b", "."} {
		f.Add([]byte("\x01\x02\x00\x13\x24\x35\x46\x57\x68"), path)
	}
	f.Fuzz(func(t *testing.T, script []byte, path string) {
		base, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		root := filepath.Join(base, "root")
		for _, folder := range []string{"outside/deep", "root/private"} {
			must(t, os.MkdirAll(filepath.Join(base, folder), 0o700))
		}
		for _, secret := range []string{"outside/secret", "outside/deep/a", "root/private/own"} {
			must(t, os.WriteFile(filepath.Join(base, secret), []byte("secret"), 0o600))
		}
		grow(root, base, script)
		roots, err := fsys.New(map[string]string{"location": root}, []string{root + "/private"})
		must(t, err)
		path = strings.ReplaceAll(path, "ROOT", root)
		opened := watchOpens(t, base+"/outside", base+"/outside/deep", root+"/private")

		openAndRead(t, roots, root, path)
		searchBelow(t, roots, path)
		writeTo(t, roots, root, path)
		if opened() {
			t.Errorf("%q: something outside the root, or private, was opened", path)
		}
		for _, secret := range []string{"outside/secret", "outside/deep/a", "root/private/own"} {
			if content, err := os.ReadFile(filepath.Join(base, secret)); string(content) != "secret" || err != nil {
				t.Errorf("%q: %s holds %q, %v", path, secret, content, err)
			}
		}
		for folder, entries := range map[string]int{"outside": 2, "outside/deep": 1, "root/private": 1, ".": 2} {
			if list, err := os.ReadDir(filepath.Join(base, folder)); len(list) != entries || err != nil {
				t.Errorf("%q: %s holds %v, %v", path, folder, list, err)
			}
		}
	})
}

// grow makes folders, files and links as a script says: two bytes for each, what it
// is and where, and what a link leads to.
func grow(root, base string, script []byte) {
	names := []string{"a", "b", "c", "a/a", "a/b", "b/a", "b/c", "c/c", "a/b/c", ".x", "A", "private/x", "private/own", "caf\u00e9"}
	targets := []string{"a", "b", "../a", "../../b", "..", "../..", ".", "/", "outside", "../outside", "../../outside/secret", base + "/outside/deep",
		root, root + "/a", root + "/../outside", "private", "../private/own", root + "/private", "a/b/c/../../..", "/proc/self/root", "/dev/null", "c/", "nowhere", "./././b"}
	for len(script) >= 2 {
		name := filepath.Join(root, names[int(script[0]>>2)%len(names)])
		target := targets[int(script[1])%len(targets)]
		// What cannot be made at a place is left out; that the script is odd is no
		// failure, and a link in the way must not make anything elsewhere.
		if parent, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil && strings.HasPrefix(parent+"/", root+"/") && !strings.HasPrefix(parent, root+"/private") {
			switch script[0] & 3 {
			case 0:
				os.Mkdir(name, 0o700)
			case 1:
				if _, err := os.Lstat(name); err != nil {
					os.WriteFile(name, []byte("inside"), 0o600)
				}
			default:
				os.Symlink(target, name)
			}
		}
		script = script[2:]
	}
}

// inside checks that an identity is a plain path in the root that the system finds
// to be canonical.
func inside(t *testing.T, root, identity string) {
	t.Helper()
	if identity != filepath.Clean(identity) || !filepath.IsLocal(identity) || identity == "private" || strings.HasPrefix(identity, "private/") {
		t.Errorf("identity %q", identity)
	}
	if canonical, err := filepath.EvalSymlinks(filepath.Join(root, identity)); err != nil || canonical != filepath.Join(root, identity) {
		t.Errorf("identity %q is %q to the system, %v", identity, canonical, err)
	}
}

func openAndRead(t *testing.T, roots *fsys.Roots, root, path string) {
	t.Helper()
	file, err := roots.Open("location", path)
	if err != nil {
		return
	}
	defer file.Close()
	inside(t, root, file.Identity())
	if file.Info().Directory {
		page, _, err := file.List(t.Context(), 0, 0)
		must(t, err)
		for _, entry := range page {
			inside(t, root, entry.Path)
		}
		return
	}
	buffer := make([]byte, 16)
	if n, err := file.ReadAt(buffer, 0); err != io.EOF || string(buffer[:n]) != "inside" {
		t.Errorf("%q read %q, %v", path, buffer[:n], err)
	}
}

func searchBelow(t *testing.T, roots *fsys.Roots, path string) {
	t.Helper()
	selection := fsys.Selection{Root: "location", Path: path, Hidden: true, Ignored: true}
	if found, err := roots.Grep(t.Context(), fsys.GrepQuery{Selection: selection, Pattern: "secret"}); err == nil && found.Matches > 0 {
		t.Errorf("%q: grep found %v", path, found.Files)
	}
	for _, query := range []fsys.GlobQuery{{Selection: selection, Pattern: "**"}, {Selection: fsys.Selection{Root: "location"}, Pattern: path}} {
		found, err := roots.Glob(t.Context(), query)
		if err != nil {
			continue
		}
		for _, file := range found.Files {
			if !filepath.IsLocal(file.Path) || strings.HasPrefix(file.Path, "private") {
				t.Errorf("%q: glob found %q", path, file.Path)
			}
		}
	}
}

func writeTo(t *testing.T, roots *fsys.Roots, root, path string) {
	t.Helper()
	var writer fsys.Writer
	results, err := writer.Commit(t.Context(), roots, "location", []fsys.Change{{Op: fsys.OpWrite, Path: path, Data: []byte("inside"), Parents: true}}, fsys.Permit{})
	if err != nil {
		return
	}
	inside(t, root, results[0].Path)
}
