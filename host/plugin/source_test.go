package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// read answers what Folder finds, as ids and as texts without the folder's name.
func read(folder string) (ids, failures []string) {
	found, failed := Folder(folder)
	for _, candidate := range found {
		ids = append(ids, candidate.Manifest.ID)
	}
	for _, err := range failed {
		failures = append(failures, strings.ReplaceAll(err.Error(), folder+"/", ""))
	}
	return ids, failures
}

func TestAFolderOfPlugins(t *testing.T) {
	folder := t.TempDir()
	module := string(saying("x").Bytes())
	put(t, folder, map[string]string{
		"packed.wasm":           string(saying("x").Packed(manifest("acme/packed", toolTable("a")))),
		"unpacked/plugin.toml":  manifest("acme/unpacked", toolTable("b")),
		"unpacked/guest.wasm":   module,
		"unpacked/.#guest.wasm": "an editor's",
		"unpacked/in.json":      "{}",
		".hidden/plugin.toml":   "not looked at",
		".hidden.wasm":          "not looked at",
		"README.md":             "not a plugin",
		"empty/README.md":       "",
		"none/plugin.toml":      manifest("acme/none", toolTable("c")),
		"two/plugin.toml":       manifest("acme/two", toolTable("d")),
		"two/a.wasm":            module,
		"two/b.wasm":            module,
		"broken/plugin.toml":    "schema = 1\nid = 3\n",
		"broken/guest.wasm":     module,
		"reserved/plugin.toml":  manifest("core/files", toolTable("read")),
		"reserved/guest.wasm":   module,
		"bare.wasm":             module,
		"text.wasm":             "this is text",
		"none[0]/plugin.toml":   manifest("acme/brackets", toolTable("e")),
		"none[0]/guest.wasm":    module,
	})
	ids, failures := read(folder)
	if diff := cmp.Diff([]string{"acme/brackets", "acme/packed", "acme/unpacked"}, ids); diff != "" {
		t.Error(diff)
	}
	want := []string{
		`bare.wasm: the module has no section "plinth.manifest"; pack it with its manifest, or put plugin.toml beside it in a folder of its own`,
		`broken/plugin.toml:2: id: it must be a string, not of the type integer`,
		`empty/plugin.toml: it is missing; every plugin folder has one`,
		`none: there is no .wasm file beside plugin.toml; build the plugin, and say how in [dev] build`,
		`reserved: id: "core/files" is reserved for builtins; use an owner of your own`,
		`text.wasm: parse at byte 0: this is not a WebAssembly module; give the .wasm file the compiler wrote, in binary form`,
		`two: there are 2 .wasm files beside plugin.toml, a.wasm, b.wasm; leave one`,
	}
	if diff := cmp.Diff(want, failures); diff != "" {
		t.Error(diff)
	}
}

// A link in the operator's folder is followed; a link inside a plugin leads nowhere
// but into the plugin.
func TestLinks(t *testing.T) {
	elsewhere, folder := t.TempDir(), t.TempDir()
	module := string(saying("x").Bytes())
	put(t, elsewhere, map[string]string{
		"packed.wasm":           string(saying("x").Packed(manifest("acme/packed", toolTable("a")))),
		"unpacked/plugin.toml":  manifest("acme/unpacked", toolTable("b")),
		"unpacked/build/g.wasm": module,
		"guest.wasm":            module,
		"plugin.toml":           manifest("acme/outside", toolTable("c")),
	})
	put(t, folder, map[string]string{"module/plugin.toml": manifest("acme/module", toolTable("d")), "manifest/guest.wasm": module})
	for link, target := range map[string]string{
		filepath.Join(folder, "linked.wasm"):               filepath.Join(elsewhere, "packed.wasm"),
		filepath.Join(folder, "linked"):                    filepath.Join(elsewhere, "unpacked"),
		filepath.Join(elsewhere, "unpacked", "guest.wasm"): "build/g.wasm",
		filepath.Join(folder, "dangling.wasm"):             "nothing",
		filepath.Join(folder, "module", "guest.wasm"):      filepath.Join(elsewhere, "guest.wasm"),
		filepath.Join(folder, "manifest", "plugin.toml"):   filepath.Join(elsewhere, "plugin.toml"),
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	ids, failures := read(folder)
	if diff := cmp.Diff([]string{"acme/unpacked", "acme/packed"}, ids); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"dangling.wasm: no such file or directory",
		"manifest/plugin.toml: it cannot be read: it is a link that cannot be followed within the plugin's folder (path escapes from parent); put the file itself there",
		"module/guest.wasm: it is a link that cannot be followed within the plugin's folder (path escapes from parent); put the file itself there",
	}
	if diff := cmp.Diff(want, failures); diff != "" {
		t.Error(diff)
	}
}

// What is no file, cannot be read or is too large is refused before it is read.
func TestFilesThatAreRefused(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Log("the superuser may read everything, so that case shows nothing here")
	}
	folder := t.TempDir()
	put(t, folder, map[string]string{
		"large/plugin.toml":  "",
		"module/plugin.toml": manifest("acme/module", toolTable("a")),
		"module/guest.wasm":  "",
		"packed.wasm":        "",
		"pipe/plugin.toml":   manifest("acme/pipe", toolTable("b")),
		"folder/plugin.toml": manifest("acme/folder", toolTable("c")),
		"folder/g.wasm/x":    "",
		"closed/plugin.toml": manifest("acme/closed", toolTable("d")),
		"closed/guest.wasm":  string(saying("x").Bytes()),
	})
	err := errors.Join(
		os.Truncate(filepath.Join(folder, "large", "plugin.toml"), MaxManifestBytes+1),
		os.Truncate(filepath.Join(folder, "module", "guest.wasm"), wasm.MaxFileBytes+1),
		os.Truncate(filepath.Join(folder, "packed.wasm"), MaxPackedBytes+1),
		syscall.Mkfifo(filepath.Join(folder, "pipe", "guest.wasm"), 0o600),
		os.Chmod(filepath.Join(folder, "closed", "guest.wasm"), 0),
	)
	if err != nil {
		t.Fatal(err)
	}
	ids, failures := read(folder)
	want := []string{
		"folder/g.wasm: it is not a regular file",
		"large/plugin.toml: it cannot be read: it has 262145 bytes, the limit is 262144",
		"module/guest.wasm: it has 25165825 bytes, the limit is 25165824; build it without debug information: --release and strip = true (Rust), -no-debug (TinyGo), -ldflags='-s -w' (Go)",
		"packed.wasm: it has 25165825 bytes, the limit is 25165824",
		"pipe/guest.wasm: it is not a regular file",
	}
	if os.Geteuid() != 0 {
		want = append([]string{"closed/guest.wasm: permission denied"}, want...)
	} else if diff := cmp.Diff([]string{"acme/closed"}, ids); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, failures); diff != "" {
		t.Error(diff)
	}
}

func TestAFolderThatIsNotThere(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "none")
	found, failed := Folder(folder)
	var source *SourceError
	if found != nil || len(failed) != 1 || !errors.As(failed[0], &source) || source.Origin != folder || failed[0].Error() != folder+": no such file or directory" {
		t.Errorf("%v, %v", found, failed)
	}
}

func TestPackedModulesThatAreRefused(t *testing.T) {
	twice := new(wasmtest.Module)
	twice.Core()
	twice.Custom(abi.ManifestSection, []byte(manifest("acme/a", toolTable("a"))))
	twice.Custom(abi.ManifestSection, []byte(manifest("acme/b", toolTable("b"))))
	component := "\x00asm\x0d\x00\x01\x00"
	tests := []struct{ name, module, want string }{
		{"empty", "", "p.wasm: parse at byte 0: this is not a WebAssembly module; give the .wasm file the compiler wrote, in binary form"},
		{"cut in its header", "\x00asm\x01", "p.wasm: parse at byte 5: the module ends within its header"},
		{"a component", component, "p.wasm: parse at byte 4: this is a component, only core modules are run; "},
		{"two manifests", string(twice.Bytes()), `p.wasm: the custom section "plinth.manifest" is there twice`},
		{"an empty manifest", string(saying("x").Packed("")), "p.wasm: schema: it is missing; a manifest begins with schema = 1"},
		{"a bad manifest", string(saying("x").Packed("schema = 1\nid = \"x\"\n")), `p.wasm:2: id: "x" is not owner/name`},
		{"a manifest that is too large", string(saying("x").Packed(strings.Repeat("#", MaxPackedManifestBytes+1))), "p.wasm: it has 1048577 bytes, the limit is 1048576"},
		{"a builtin's id", string(saying("x").Packed(manifest("core/x", toolTable("a")))), `p.wasm: id: "core/x" is reserved for builtins; use an owner of your own`},
	}
	for _, test := range tests {
		_, err := Packed("p.wasm", []byte(test.module), false)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", test.name, err, test.want)
		}
	}
	if _, err := Packed("builtin core/x", saying("x").Packed(manifest("core/x", toolTable("a"))), true); err != nil {
		t.Errorf("a builtin may: %v", err)
	}
}
