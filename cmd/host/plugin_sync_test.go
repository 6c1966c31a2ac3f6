package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/plugin"
)

// The plugins come to be as plinth.lock says, and the file as the plugins are.
func TestPluginsAreSynchronised(t *testing.T) {
	r := newRig(t)
	folder := author(t)
	candidate, err := plugin.At(folder)
	if err != nil {
		t.Fatal(err)
	}
	file := lockFile(r.config.File)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	list := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("schema = 1\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entry := func(digest, grants string) string {
		return fmt.Sprintf("[[plugin]]\nid = \"acme/pair\"\nversion = \"1.2.0\"\ndigest = %q\nsource = %q\ngrants = [%s]\n", digest, folder, grants)
	}
	says := func(want string, code int, args ...string) string {
		t.Helper()
		printed, err := r.command(append([]string{"plugin"}, args...)...)
		if !strings.Contains(printed+fmt.Sprint(err), want) || exitCode(err) != code {
			t.Fatalf("%v: %s, %v; want %q and exit code %d", args, printed, err, want, code)
		}
		return printed
	}
	says("plinth.lock: it is not there; plinth plugin lock writes one", exitFailed, "sync")
	list("nonsense = 1\n")
	says("plinth.lock:2: nonsense: there is no such key", exitUsage, "sync")

	list(entry(candidate.Digest, `"kv"`))
	says("add       acme/pair  it is not here", 0, "sync", "--dry-run")
	if printed, err := r.command("plugins"); err != nil || strings.Contains(printed, "acme/pair") {
		t.Fatalf("%s, %v", printed, err)
	}
	list(entry(strings.Repeat("0", 64), `"kv"`))
	says("has other bytes now", exitFailed, "sync")
	list(entry(candidate.Digest, ""))
	says("it cannot do without kv.get; grant kv", exitFailed, "sync")
	list(entry(candidate.Digest, `"kv"`))
	says("add       acme/pair  it is not here", 0, "sync")
	if printed, err := r.command("plugins"); err != nil || !strings.Contains(printed, "acme/pair              1.2.0  active") {
		t.Fatalf("%s, %v", printed, err)
	}
	says("nothing   acme/pair  it is as the list says", 0, "sync")

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	says("plinth.lock  1 plugin\n", 0, "lock")
	says("nothing   acme/pair  it is as the list says", 0, "sync")
	list("")
	says("remove    acme/pair  the list does not have it", 0, "sync")
	if printed, err := r.command("plugins"); err != nil || strings.Contains(printed, "acme/pair") {
		t.Fatalf("%s, %v", printed, err)
	}
}

// A plugin that was sent under a name alone cannot be in a list for another host, and the
// message says which one it is.
func TestALockOfWhatHasNoPlace(t *testing.T) {
	r := newRig(t)
	if _, err := r.client().UploadPlugin(r.within(), weather("1.0.0", ""), "", "", nil); err != nil {
		t.Fatal(err)
	}
	r.pluginSays(exitFailed, []string{`conflict: the plugin acme/weather came from "a file that was sent", which is no place`}, "lock")
	if _, err := os.Stat(lockFile(r.config.File)); !os.IsNotExist(err) {
		t.Errorf("a list was written: %v", err)
	}
}
