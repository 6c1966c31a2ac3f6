package lock_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/plugin/lock"
)

var (
	digestA = strings.Repeat("a", 64)
	digestB = strings.Repeat("b", 64)
)

func entry(id string) lock.Entry {
	return lock.Entry{ID: id, Version: "1.0.0", Digest: digestA, Source: "~/plugins/x.wasm", Grants: []string{}}
}

func TestAFileIsWrittenAndRead(t *testing.T) {
	weather := lock.Entry{ID: "acme/weather", Version: "1.2.0", Digest: digestB, Source: "https://a.example/w.wasm", Grants: []string{"kv", "http:https://a.example"}}
	local := entry("acme/weather")
	local.Location = "/home/me/project"
	path := filepath.Join(t.TempDir(), lock.Name)
	if err := lock.Write(path, lock.File{Plugins: []lock.Entry{local, weather, entry("acme/a")}}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`# What plinth plugin sync makes of this host; plinth plugin lock writes it.
schema = 1

[[plugin]]
id = 'acme/a'
version = '1.0.0'
digest = '%[1]s'
source = '~/plugins/x.wasm'
grants = []

[[plugin]]
id = 'acme/weather'
version = '1.2.0'
digest = '%[2]s'
source = 'https://a.example/w.wasm'
grants = ['http:https://a.example', 'kv']

[[plugin]]
id = 'acme/weather'
version = '1.0.0'
digest = '%[1]s'
source = '~/plugins/x.wasm'
grants = []
location = '/home/me/project'
`, digestA, digestB)
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Error(diff)
	}
	file, err := lock.Read(path)
	weather.Grants = []string{"http:https://a.example", "kv"}
	if diff := cmp.Diff(lock.File{Schema: 1, Plugins: []lock.Entry{entry("acme/a"), weather, local}}, file); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if again, err := file.Encode(); err != nil || string(again) != want {
		t.Errorf("another time: %v\n%s", err, again)
	}
	if !weather.IsURL() || local.IsURL() || local.Path("/home/me") != "/home/me/plugins/x.wasm" || (lock.Entry{Source: "/a/../b"}).Path("/h") != "/b" {
		t.Error("the sources are taken for others")
	}
}

// Writing leaves the old file or the new one, and a link stays a link.
func TestAFileIsReplacedInOneStep(t *testing.T) {
	folder := t.TempDir()
	target, link := filepath.Join(folder, "dotfiles", "my.lock"), filepath.Join(folder, lock.Name)
	if err := errors.Join(os.Mkdir(filepath.Dir(target), 0o700), os.WriteFile(target, []byte("old"), 0o600), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	bad := entry("acme/a")
	bad.Digest = "x"
	if err := lock.Write(link, lock.File{Plugins: []lock.Entry{bad}}); err == nil || !strings.Contains(err.Error(), "plugin.digest") {
		t.Errorf("%v", err)
	}
	if content, err := os.ReadFile(target); err != nil || string(content) != "old" {
		t.Errorf("%q, %v", content, err)
	}
	if err := lock.Write(link, lock.File{Plugins: []lock.Entry{entry("acme/a")}}); err != nil {
		t.Fatal(err)
	}
	if file, err := lock.Read(target); err != nil || len(file.Plugins) != 1 {
		t.Errorf("%+v, %v", file, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(target)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := lock.Write(filepath.Join(folder, "none", lock.Name), lock.File{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	whole := func(change ...string) string {
		text := "schema = 1\n[[plugin]]\nid = \"acme/a\"\nversion = \"1.0.0\"\ndigest = \"" + digestA + "\"\nsource = \"/a.wasm\"\ngrants = []\n"
		return strings.NewReplacer(change...).Replace(text)
	}
	if _, err := lock.Decode("L", []byte(whole())); err != nil {
		t.Fatal(err)
	}
	source := func(text string) string { return whole("/a.wasm", text) }
	const forms = "give an absolute path, one that begins with ~/, or an https address"
	for _, test := range []struct{ name, text, want string }{
		{"not TOML", "schema = \n", "L:1: "},
		{"no schema", "", "L: schema: it is missing; a list begins with schema = 1"},
		{"another schema", "schema = 2\n", "L:1: schema: it is 2; this program knows schema 1"},
		{"an unknown key", whole("grants", "grant"), "L:7: plugin.grant: there is no such key; a plugin has id, "},
		{"a wrong type", whole("grants = []", "grants = \"kv\""), "L:7: plugin.grants: it has the wrong type; grants are a list of strings"},
		{"no id", whole("id = \"acme/a\"\n", ""), "L:2: plugin.id: it is missing"},
		{"a bad id", whole("acme/a\"", "acme\""), `L:3: plugin.id: "acme" is not owner/name`},
		{"a builtin", whole("acme/a\"", "core/files\""), "L:3: plugin.id: core/files is a builtin, which every host has; take it out"},
		{"no version", whole("1.0.0", ""), "L:4: plugin.version: it is missing"},
		{"a short digest", whole(digestA, "abc"), `L:5: plugin.digest: "abc" is not a SHA-256 in 64 lower-case hexadecimal digits; plinth plugin inspect shows it`},
		{"no source", source(""), "L:6: plugin.source: it is missing; " + forms},
		{"a relative source", source("./a.wasm"), `L:6: plugin.source: "./a.wasm" depends on the folder that plinth runs in; ` + forms},
		{"http", source("http://a.example/a"), `L:6: plugin.source: "http://a.example/a" is not an https address without a user; ` + forms},
		{"a password", source("https://me:x@a.example/a"), `L:6: plugin.source: "https://me:x@a.example/a" is not an https address`},
		{"no address", source("https://"), `L:6: plugin.source: "https://" is not an https address`},
		{"a control character", source(`/a\u001b`), `L:6: plugin.source: "/a\x1b" has control characters`},
		{"a key twice", whole("[]", `["kv", "kv"]`), `L:7: plugin.grants: "kv" is there twice`},
		{"an empty key", whole("[]", `[""]`), `L:7: plugin.grants: "" is there twice, or is empty`},
		{"too many keys", whole("[]", `["`+strings.Repeat(`k", "`, 1000)+`k"]`), "L:7: plugin.grants: it has 1001 keys, the limit is 1000"},
		{"a relative location", whole("grants", "location = \"x\"\ngrants"), `L:7: plugin.location: "x" is not the absolute path of a project's root`},
		{"a plugin twice", whole() + strings.TrimPrefix(whole(), "schema = 1\n"), "L:9: plugin.id: acme/a is there twice for this location; leave one"},
		{"too many", "schema = 1\n" + strings.Repeat("[[plugin]]\n", lock.MaxPlugins+1), "L: it has 1001 plugins, the limit is 1000"},
		{"too large", strings.Repeat("#", lock.MaxBytes+1), "L: it has 1048577 bytes, the limit is 1048576"},
	} {
		_, err := lock.Decode("L", []byte(test.text))
		var refused *lock.Error
		if !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", test.name, err, test.want)
		}
	}
	folder := t.TempDir()
	large := filepath.Join(folder, "large")
	if err := errors.Join(os.WriteFile(large, nil, 0o600), os.Truncate(large, lock.MaxBytes+1)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		folder:                        folder + ": it is not a regular file",
		large:                         large + ": it has 1048577 bytes, the limit is 1048576",
		filepath.Join(folder, "none"): folder + "/none: it is not there; plinth plugin lock writes one",
	} {
		if _, err := lock.Read(path); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := lock.Read(filepath.Join(folder, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestPlans(t *testing.T) {
	has := func(id, digest, from string, grants ...string) lock.Current {
		return lock.Current{ID: id, Version: "0.9.0", Digest: digest, From: from, Origin: "/p/x", Grants: grants}
	}
	granted := func(id string, grants ...string) lock.Entry {
		e := entry(id)
		e.Grants = grants
		return e
	}
	local := has("acme/a", digestA, lock.FromUpload)
	local.Location = "/project"
	for _, test := range []struct {
		name    string
		entries []lock.Entry
		current []lock.Current
		want    []string
	}{
		{"nothing at all", nil, nil, nil},
		{"new", []lock.Entry{entry("acme/b"), entry("acme/a")}, nil, []string{"add acme/a: it is not here", "add acme/b: it is not here"}},
		{"the same", []lock.Entry{granted("acme/a", "kv", "process")}, []lock.Current{has("acme/a", digestA, lock.FromURL, "process", "kv")},
			[]string{"nothing acme/a: it is as the list says"}},
		{"the same from a folder", []lock.Entry{entry("acme/a")}, []lock.Current{has("acme/a", digestA, lock.FromFolder)},
			[]string{"nothing acme/a: it is as the list says"}},
		{"another version", []lock.Entry{entry("acme/a")}, []lock.Current{has("acme/a", digestB, lock.FromLock)},
			[]string{"replace acme/a: it is 0.9.0 (bbbbbbbbbbbb), not 1.0.0 (aaaaaaaaaaaa)"}},
		{"other grants", []lock.Entry{granted("acme/a", "process", "fs:location:read")}, []lock.Current{has("acme/a", digestA, lock.FromURL, "kv")},
			[]string{"replace acme/a: it gets fs:location:read, process; it loses kv"}},
		{"none serves", []lock.Entry{entry("acme/a")}, []lock.Current{has("acme/a", "", lock.FromUpload)}, []string{"replace acme/a: no version of it serves"}},
		{"not in the list", nil, []lock.Current{has("acme/u", digestA, lock.FromUpload), has("acme/w", digestA, lock.FromURL), has("acme/l", digestA, lock.FromLock)},
			[]string{"remove acme/l: the list does not have it", "remove acme/u: the list does not have it", "remove acme/w: the list does not have it"}},
		{"none of its business", nil, []lock.Current{has("core/files", digestA, lock.FromBuiltin), has("acme/f", digestA, lock.FromFolder),
			has("acme/p", digestA, lock.FromProject), has("acme/n", digestA, lock.FromNative)},
			[]string{"nothing acme/f: it is here by the configured folders, from /p/x", "nothing acme/n: it is here by the program that Plinth is part of",
				"nothing acme/p: it is here by the project, from /p/x", "nothing core/files: it is here by being built in"}},
		{"against a folder", []lock.Entry{entry("acme/a")}, []lock.Current{has("acme/a", digestB, lock.FromFolder)},
			[]string{"conflict acme/a: it is 0.9.0 (bbbbbbbbbbbb), not 1.0.0 (aaaaaaaaaaaa), but it is here by the configured folders, from /p/x; change it there, or take it out of the list"}},
		{"another location", []lock.Entry{entry("acme/a")}, []lock.Current{local},
			[]string{"remove acme/a in /project: the list does not have it", "add acme/a: it is not here"}},
		{"what goes makes room", []lock.Entry{entry("acme/a"), entry("acme/b")}, []lock.Current{has("acme/b", digestB, lock.FromURL), has("acme/z", digestA, lock.FromURL)},
			[]string{"remove acme/z: the list does not have it", "replace acme/b: it is 0.9.0 (bbbbbbbbbbbb), not 1.0.0 (aaaaaaaaaaaa)", "add acme/a: it is not here"}},
	} {
		var got []string
		for _, step := range lock.Plan(lock.File{Plugins: test.entries}, test.current) {
			got = append(got, step.String())
			if inList := step.Action != lock.Remove && !strings.Contains(step.Reason, "it is here by"); inList && step.Entry == nil {
				t.Errorf("%s: %v has no entry", test.name, step)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}
