package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/plugin"
)

// author makes a plugin's folder.
func author(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	manifest := "schema = 1\nid = \"acme/pair\"\nversion = \"1.2.0\"\ndescription = \"Says\\u001b[31m hello\"\nrequires = [\"kv.get\"]\n" +
		"[[tool]]\nname = \"pair\"\ndescription = \"d\"\ninput = \"in.schema.json\"\neffects = [\"read\"]\n" +
		"[request.kv]\nreason = \"remembers\"\n[limits]\nfuel = 9\n[[golden]]\nexport = \"tool\"\ninput = \"in.json\"\noutput = \"out.json\"\n"
	for name, content := range map[string]string{
		plugin.ManifestName: manifest, "in.schema.json": `{ "type": "object" }`, "in.json": `{"body":{}}`, "out.json": `{"ok":{}}`,
		"guest.wasm": string(bridgetest.NewAsking().Answers(abi.ExportTool, `{"ok":{}}`).Bytes()),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// alone is a command that needs no host.
func alone(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return (&rig{t: t, data: filepath.Join(t.TempDir(), "none"), project: t.TempDir()}).command(args...)
}

func TestAPluginIsPackedAndInspected(t *testing.T) {
	folder, here := author(t), t.TempDir()
	t.Chdir(here)
	printed, err := alone(t, "plugin", "pack", folder)
	file := filepath.Join(here, "pair.wasm")
	if err != nil || !strings.Contains(printed, "pair.wasm  acme/pair 1.2.0  ") {
		t.Fatalf("%s, %v", printed, err)
	}
	var made packedPlugin
	printed, err = alone(t, "plugin", "pack", folder, "-o", filepath.Join(here, "other.wasm"), "--json")
	if decodeErr := json.Unmarshal([]byte(printed), &made); err != nil || decodeErr != nil || made.ID != "acme/pair" || made.Version != "1.2.0" || len(made.Digest) != 64 {
		t.Fatalf("%s, %v, %v", printed, err, decodeErr)
	}
	if info, err := os.Stat(made.File); err != nil || info.Size() != int64(made.Bytes) || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, path := range []string{file, made.File, folder} {
		printed, err := alone(t, "plugin", "inspect", path)
		if err != nil || strings.Contains(printed, "\x1b") {
			t.Errorf("%q, %v", printed, err)
		}
		for _, want := range []string{"plugin     acme/pair 1.2.0", made.Digest, "tool       pair (read)", "request    kv", ": remembers",
			"requires   kv.get", "limit      fuel", "isolation  restore", "goldens    1", "import     plinth.host_call (i32,i32,i32,i32)->(i32)",
			"export     plinth_tool_execute (i32,i32)->(i64)"} {
			if !strings.Contains(printed, want) {
				t.Errorf("%s: no %q in\n%s", path, want, printed)
			}
		}
		var report plugin.Report
		printed, err = alone(t, "plugin", "inspect", path, "--json")
		if decodeErr := json.Unmarshal([]byte(printed), &report); err != nil || decodeErr != nil || report.Digest != made.Digest || report.Requests[0].Key != "kv" {
			t.Errorf("%s, %v, %v", printed, err, decodeErr)
		}
	}
	if left, err := filepath.Glob(filepath.Join(here, ".plinth-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestPluginsThatAreNotPacked(t *testing.T) {
	folder, here := author(t), t.TempDir()
	t.Chdir(here)
	broken := author(t)
	if err := os.Remove(filepath.Join(broken, "in.json")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"pack", broken}, exitUsage, filepath.Join(broken, "in.json") + ": no such file or directory"},
		{[]string{"pack", here}, exitUsage, "plugin.toml: it is missing; every plugin folder has one"},
		{[]string{"pack", folder, "-o", filepath.Join(folder, "packed.wasm")}, exitUsage, "lies in the plugin's own folder, which has one module; name another place with -o"},
		{[]string{"pack", folder, "-o", filepath.Join(here, "none", "packed.wasm")}, exitUsage, "no such file or directory"},
		{[]string{"pack"}, exitUsage, "see plinth plugin pack --help"},
		{[]string{"inspect", filepath.Join(folder, "guest.wasm")}, exitUsage, `the module has no section "plinth.manifest"`},
		{[]string{"inspect", filepath.Join(folder, "none")}, exitUsage, "none: no such file or directory"},
	} {
		printed, err := alone(t, append([]string{"plugin"}, test.args...)...)
		if exitCode(err) != test.code || !strings.Contains(err.Error(), test.want) || printed != "" {
			t.Errorf("%v: %s, %v, want %q with exit code %d", test.args, printed, err, test.want, test.code)
		}
	}
	if entries, err := os.ReadDir(here); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// What the depot has is in a backup, and the doctor looks at it.
func TestTheDepotIsBackedUpAndChecked(t *testing.T) {
	r := newRig(t)
	packed := weather("1.0.0", "")
	r.pluginSays(exitOK, nil, "add", r.file("weather.wasm", packed))
	digest := r.plugin("acme/weather", "").Digest
	if printed, err := r.command("backup", r.place("backup")); err != nil || !strings.Contains(printed, fmt.Sprintf(", 1 plugin of %d bytes", len(packed))) {
		t.Fatalf("%s, %v", printed, err)
	}
	to := r.place("restored")
	if printed, err := r.command("--data", to, "restore", r.place("backup")); err != nil {
		t.Fatalf("%s, %v", printed, err)
	}
	if printed, err := r.command("--data", to, "doctor"); err != nil || !strings.Contains(printed, "plugins   1") {
		t.Errorf("%s, %v", printed, err)
	}
	restored := filepath.Join(to, pluginsFolder, digest+".wasm")
	if err := errors.Join(os.Remove(restored), os.WriteFile(restored, []byte("another"), 0o600)); err != nil {
		t.Fatal(err)
	}
	printed, err := r.command("--data", to, "doctor")
	if exitCode(err) != exitFailed || !strings.Contains(printed, "DAMAGED   plugin") || !strings.Contains(printed, digest+"; add it again from where it came") {
		t.Errorf("%s, %v", printed, err)
	}
	var found checkup
	printed, _ = r.command("--data", to, "doctor", "--json")
	if err := json.Unmarshal([]byte(printed), &found); err != nil || found.Healthy || len(found.DamagedPlugins) != 1 || found.DamagedPlugins[0] != digest || found.Depot.Plugins != 1 {
		t.Errorf("%s, %v", printed, err)
	}
}
