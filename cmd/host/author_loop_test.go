package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/meter"
)

// sourced is an author's folder with a plugin that is built by copying a module.
func sourced(t *testing.T, build, test string) string {
	t.Helper()
	folder := author(t)
	path := filepath.Join(folder, plugin.ManifestName)
	text, err := os.ReadFile(path)
	if err == nil {
		manifest := strings.Replace(string(text), "[[golden]]", "[dev]\nbuild = '''"+build+"'''\ntest = '''"+test+"'''\n[[golden]]", 1)
		manifest = strings.Replace(manifest, "fuel = 9\n", "", 1)
		err = errors.Join(os.WriteFile(path, []byte(manifest), 0o600), os.Mkdir(filepath.Join(folder, "out"), 0o700),
			os.Rename(filepath.Join(folder, "guest.wasm"), filepath.Join(folder, "out", "guest.wasm")))
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

const copies = "echo compiling; cp out/guest.wasm pair.wasm"

func TestAPluginIsBuilt(t *testing.T) {
	folder := sourced(t, copies, "")
	printed, err := alone(t, "plugin", "build", folder)
	if err != nil || !strings.HasPrefix(printed, "acme/pair 1.2.0  built in ") || !strings.Contains(printed, " bytes packed\n") || !strings.HasSuffix(printed, "compiling\n") {
		t.Errorf("%q, %v", printed, err)
	}
	var built builtPlugin
	t.Chdir(folder) // which is meant without an argument
	printed, err = alone(t, "plugin", "build", "--json")
	if decodeErr := json.NewDecoder(strings.NewReader(printed)).Decode(&built); err != nil || decodeErr != nil || built.ID != "acme/pair" || len(built.Digest) != 64 || built.Command != copies || built.TookNS <= 0 {
		t.Errorf("%s, %v, %v", printed, err, decodeErr)
	}
	if err := os.Remove("out.json"); err != nil {
		t.Fatal(err)
	}
	if printed, err = alone(t, "plugin", "build"); err != nil || !strings.Contains(printed, "out.json is still to be recorded: plinth plugin test --update") {
		t.Errorf("%s, %v", printed, err)
	}
}

func TestPluginsThatAreNotBuilt(t *testing.T) {
	for _, test := range []struct {
		args func() []string
		code int
		want string
	}{
		{func() []string { return []string{"build", sourced(t, "exit 4", "")} }, exitFailed, "dev.build: `exit 4` in "},
		{func() []string { return []string{"build", author(t)} }, exitUsage, "plugin.toml: dev.build: the manifest has no such command; add build = "},
		{func() []string { return []string{"build", t.TempDir()} }, exitUsage, "plugin.toml: it is missing; every plugin folder has one"},
		{func() []string {
			return []string{"build", filepath.Join(sourced(t, copies, ""), "plugin.toml")}
		}, exitUsage, "plugin.toml is a file; name the folder that has plugin.toml"},
		{func() []string { return []string{"build", ""} }, exitUsage, "the path of the plugin's folder is empty"},
		{func() []string { return []string{"build", "a", "b"} }, exitUsage, "see plinth plugin build --help"},
		{func() []string { return []string{"test", sourced(t, "exit 4", "")} }, exitFailed, "ended with exit status 4"},
		{func() []string { return []string{"test", sourced(t, copies, ""), "--as-built"} }, exitFailed, "there is no .wasm file beside plugin.toml"},
		{func() []string { return []string{"dev", author(t)} }, exitUsage, `[dev] must have build, the command that builds the module, and watch`},
		{func() []string { return []string{"dev", t.TempDir()} }, exitUsage, "plugin.toml: it is missing"},
		{func() []string { return []string{"dev", "--grant", "kv", "--yes"} }, exitUsage, "give one"},
		{func() []string { return []string{"bench", author(t), "--count", "-1"} }, exitUsage, "--count is -1; it must be from 1 to 1000000"},
		{func() []string { return []string{"bench", author(t), "--golden", "none"} }, exitUsage, `there is no golden "none"; there are in.json`},
		{func() []string { return []string{"record"} }, exitUsage, "name the file of a recording, below "},
		{func() []string { return []string{"record", "--last", "acme/none", author(t)} }, exitUsage, `set record = "all" in [plugins."acme/none"]`},
		{func() []string { return []string{"record", filepath.Join(author(t), "in.json"), author(t)} }, exitUsage, "recording "},
	} {
		args := append([]string{"plugin"}, test.args()...)
		printed, err := alone(t, args...)
		if err == nil || exitCode(err) != test.code || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %s, %d %v, want %q", args, printed, exitCode(err), err, test.want)
		}
	}
}

func TestAPluginIsTested(t *testing.T) {
	folder := sourced(t, copies, "echo native $PLINTH_UPDATE; touch ran")
	printed, err := alone(t, "plugin", "test", folder)
	if err != nil {
		t.Fatal(printed, err)
	}
	for _, want := range []string{"built in ", "ok    native tests  ", "ok    in.json  ", " fuel  ", " MiB\n", "1 of 1 goldens passed\n", "compiling\nnative\n"} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	output := filepath.Join(folder, "out.json")
	if err := os.WriteFile(output, []byte(`{"ok":{"title":"\u001b[31mno"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	printed, err = alone(t, "plugin", "test", "--as-built", folder)
	if exitCode(err) != exitFailed || !strings.Contains(printed, "FAIL  in.json") || !strings.Contains(printed, "        - \"\\u001b[31mno\"\n        + nothing\n") ||
		strings.Contains(printed, "\x1b") || strings.Contains(printed, "compiling") {
		t.Errorf("%q, %v", printed, err)
	}
	var tested testedPlugin
	printed, err = alone(t, "plugin", "test", "--as-built", "--json", folder)
	if decodeErr := json.NewDecoder(strings.NewReader(printed)).Decode(&tested); exitCode(err) != exitFailed || decodeErr != nil || tested.Passed || len(tested.Goldens) != 1 ||
		len(tested.Goldens[0].Differences) != 1 || tested.Native == nil || !tested.Native.Passed || tested.Plugin.Command != "" {
		t.Errorf("%s, %v, %v", printed, err, decodeErr)
	}
	printed, err = alone(t, "plugin", "test", "--update", folder)
	if text, readErr := os.ReadFile(output); err != nil || readErr != nil || string(text) != "{\n  \"ok\": {}\n}\n" || !strings.Contains(printed, "wrote in.json") || !strings.Contains(printed, "native 1\n") {
		t.Errorf("%s, %v; %s, %v", printed, err, text, readErr)
	}
}

// Native tests fail the whole, and keep no golden from being told.
func TestNativeTestsThatFail(t *testing.T) {
	printed, err := alone(t, "plugin", "test", sourced(t, copies, "echo main_test.go:3: no; exit 2"))
	if exitCode(err) != exitFailed || !strings.Contains(printed, "FAIL  native tests") || !strings.Contains(printed, "dev.test: `echo main_test.go:3: no; exit 2`") || !strings.Contains(printed, "1 of 1 goldens passed") {
		t.Errorf("%s, %v", printed, err)
	}
}

// With --update the tests run first: they write the schemas that the manifest names.
func TestNativeTestsWriteWhatTheManifestNames(t *testing.T) {
	folder := sourced(t, copies, `test -n "$PLINTH_UPDATE" && echo '{"type":"object"}' >in.schema.json`)
	if err := os.Remove(filepath.Join(folder, "in.schema.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := alone(t, "plugin", "test", folder); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "in.schema.json") {
		t.Errorf("%v", err)
	}
	if printed, err := alone(t, "plugin", "test", "--update", folder); err != nil {
		t.Errorf("%s, %v", printed, err)
	}
}

func TestAPluginIsMeasured(t *testing.T) {
	folder := author(t)
	path := filepath.Join(folder, plugin.ManifestName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "fuel = 9\n", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	printed, err := alone(t, "plugin", "bench", folder, "--golden", "in", "--count", "7", "--json")
	var measured []benchedGolden
	if decodeErr := json.Unmarshal([]byte(printed), &measured); err != nil || decodeErr != nil || len(measured) != 1 {
		t.Fatalf("%s, %v, %v", printed, err, decodeErr)
	}
	if m := measured[0]; m.Calls != 7 || m.Input != "in.json" || m.Export != "tool" || m.MedianNS <= 0 || m.P95NS < m.MedianNS || m.CallsPerSecond <= 0 || m.Memory == 0 || m.StartNS <= 0 {
		t.Errorf("%+v", m)
	}
	if printed, err = alone(t, "plugin", "bench", folder, "--count", "3"); err != nil || !strings.HasPrefix(printed, "golden   median") || !strings.Contains(printed, "\nin.json  ") {
		t.Errorf("%s, %v", printed, err)
	}
	if err := os.WriteFile(filepath.Join(folder, "out.json"), []byte(`{"ok":{"title":"T"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := alone(t, "plugin", "bench", folder); exitCode(err) != exitFailed || !strings.Contains(err.Error(), "in.json: the answer is not what out.json holds") {
		t.Errorf("%v", err)
	}
}

// recordedCall writes the recording of a call of acme/pair, with what must not be told.
func recordedCall(t *testing.T, at string, when time.Time) {
	t.Helper()
	call := &replay.Recording{
		Header: replay.Header{Format: replay.Format, Plugin: "acme/pair", Revision: "r1", Module: strings.Repeat("0", 64), Meter: meter.Version, Isolated: wasm.Restore,
			Time: when, Entry: abi.ExportTool, Deadline: time.Second, Input: bridgetest.Message(`{"body":{"tool":"pair","input":{"note":"ghp_abcdefghijklmnopqrstuvwxyz0123456789","who":"customer-77"}}}`),
			Limits: replay.Limits{MemoryMiB: 32, StackKiB: 1024, InputBytes: 1 << 20, OutputBytes: 1 << 20, LogBytes: 1 << 16, Operations: 10, OperationBytes: 1 << 20}},
		End: replay.End{Output: bridgetest.Message(`{"ok":{}}`)},
	}
	folder, err := replay.OpenFolder(at, 0)
	if err == nil {
		err = folder.Keep(call)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestACallIsRecorded(t *testing.T) {
	folder, data := sourced(t, copies, ""), t.TempDir()
	if _, err := alone(t, "plugin", "build", folder); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	recordedCall(t, filepath.Join(data, recordingsFolder), now.Add(-time.Hour))
	recordedCall(t, developed(data, "acme/pair"), now)
	printed, err := alone(t, "--data", data, "plugin", "record", "--last", "acme/pair", folder, "--name", "mine", "--redact", "customer-[0-9]+")
	if err != nil || !strings.Contains(printed, "testdata/mine.json made of "+filepath.Join(data, developedFolder)) || !strings.Contains(printed, "taken out: 1 × match of customer-[0-9]+, 1 × token\n") ||
		!strings.Contains(printed, "ok    testdata/mine.json") {
		t.Fatalf("%s, %v", printed, err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "testdata", "mine.json"))
	if err != nil || strings.Contains(string(text), "ghp_") || strings.Contains(string(text), "customer-77") {
		t.Errorf("%s, %v", text, err)
	}
	if printed, err := alone(t, "plugin", "test", "--as-built", folder); err != nil || !strings.Contains(printed, "2 of 2 goldens passed") {
		t.Errorf("%s, %v", printed, err)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--last", "acme/pair", folder, "--name", "mine"}, exitFailed, "testdata/mine.json is there already; choose another --name, or remove it"},
		{[]string{"--last", "acme/pair", "file", folder}, exitUsage, "--last is in the place of FILE"},
		{[]string{"--last", "acme/pair", folder, "--redact", "("}, exitUsage, `--redact "("`},
		{[]string{"--last", "acme/pair", folder, "--redact", "x*"}, exitUsage, "matches nothing at all, and so everywhere"},
	} {
		if _, err := alone(t, append([]string{"--data", data, "plugin", "record"}, test.args...)...); exitCode(err) != test.code || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v", test.args, err)
		}
	}
}

// What one run has compiled, no other compiles again: neither the next, nor the host of the
// data folder.
func TestTestsShareTheHostsCache(t *testing.T) {
	folder, data := sourced(t, copies, ""), t.TempDir()
	if _, err := alone(t, "plugin", "build", folder); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(data, cacheName)
	var before []string
	for run := range 2 {
		if printed, err := alone(t, "--data", data, "plugin", "test", "--as-built", folder); err != nil {
			t.Fatal(printed, err)
		}
		entries, err := filepath.Glob(filepath.Join(cache, "*", "*"))
		if err != nil || len(entries) == 0 || run == 1 && !slices.Equal(before, entries) {
			t.Errorf("run %d: %q, before %q, %v", run, entries, before, err)
		}
		before = entries
	}
	if info, err := os.Stat(cache); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	code, err := filepath.Glob(filepath.Join(cache, "*", "code", "sum"))
	if err != nil || len(code) != 1 {
		t.Errorf("%q, %v", code, err)
	}
	if err := os.Chmod(cache, 0o755); err != nil { // others could plant code in it
		t.Fatal(err)
	}
	if _, err := alone(t, "--data", data, "plugin", "test", "--as-built", folder); err == nil || !strings.Contains(err.Error(), "chmod 700 it") {
		t.Errorf("%v", err)
	}
}
