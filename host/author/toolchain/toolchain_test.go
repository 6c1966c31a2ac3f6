package toolchain_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/scaffold"
	"github.com/plinthhost/plinth/host/author/toolchain"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// put writes files below a folder.
func put(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
}

// onPath makes programs that say something, and nothing else can be found.
func onPath(t *testing.T, programs map[string]string) []toolchain.Program {
	t.Helper()
	folder := t.TempDir()
	for name, says := range programs {
		put(t, folder, map[string]string{name: "#!/bin/sh\n" + says + "\n"})
	}
	t.Setenv("PATH", folder)
	return toolchain.Programs(t.Context())
}

func named(t *testing.T, programs []toolchain.Program, name string) toolchain.Program {
	t.Helper()
	for _, program := range programs {
		if program.Name == name {
			return program
		}
	}
	t.Fatalf("%s is not looked for", name)
	return toolchain.Program{}
}

func TestProgramsAreFound(t *testing.T) {
	sysroot := t.TempDir()
	put(t, sysroot, map[string]string{"lib/rustlib/wasm32-unknown-unknown/lib/x": ""})
	rustc := func(folder string) string {
		return `case $1 in --print) echo ` + folder + `;; *) echo "rustc 1.85.1 (4eb161250 2025-03-15)";; esac`
	}
	for _, test := range []struct{ name, says, version, problem, fix string }{
		{"tinygo", `echo "tinygo version 0.41.0 linux/amd64 (using go version go1.26.0 and LLVM version 20.1.1)"`, "0.41.0", "", ""},
		{"tinygo", `echo "tinygo version 0.39.2 linux/amd64"`, "0.39.2", "it is older than 0.41", "install TinyGo 0.41 or newer"},
		{"go", `echo "go version go1.26.8 linux/amd64"`, "1.26.8", "", ""},
		{"go", `echo "go version go1.9 linux/amd64"`, "1.9", "it is older than 1.26", "install Go 1.26 or newer"},
		{"rustc", rustc(sysroot), "1.85.1", "", ""},
		{"rustc", rustc("/nowhere"), "1.85.1", "it has no target wasm32-unknown-unknown", "rustup target add wasm32-unknown-unknown"},
		{"cargo", `echo "error: no default is configured" >&2; exit 1`, "", "it does not tell its version: exit status 1: error: no default is configured", "rustup"},
		{"node", `echo v20.20.2`, "20.20.2", "", ""},
		{"npm", `echo 9.1.0`, "9.1.0", "it is older than 10", "Node.js"},
		{"wasm-opt", `echo "wasm-opt version 108 (version_108)"`, "108", "", ""},
	} {
		programs := onPath(t, map[string]string{test.name: test.says})
		got := named(t, programs, test.name)
		if !got.Found() || got.Version != test.version || got.Problem != test.problem || !strings.Contains(got.Fix, test.fix) || got.Well() != (test.problem == "") {
			t.Errorf("%s: %+v", test.name, got)
		}
		for _, other := range programs {
			if other.Name != test.name && (other.Found() || other.Problem != "" || other.Fix == "") {
				t.Errorf("%+v", other)
			}
		}
	}
}

// all is every program, well.
func all(t *testing.T) []toolchain.Program {
	t.Helper()
	sysroot := t.TempDir()
	put(t, sysroot, map[string]string{"lib/rustlib/wasm32-unknown-unknown/lib/x": ""})
	return onPath(t, map[string]string{"tinygo": "echo 0.41.0", "go": "echo 1.26.0", "cargo": "echo 1.95.0", "node": "echo v20.0.0", "npm": "echo 11.0.0",
		"rustc": `case $1 in --print) echo ` + sysroot + `;; *) echo 1.95.0;; esac`})
}

const (
	tinygo = "tinygo build -target=wasip1 -buildmode=c-shared -o guest.wasm ."
	golden = "[[golden]]\nexport = \"tool\"\ninput = \"in.json\"\noutput = \"out.json\"\n"
)

// manifest is one with a tool, a build command and more.
func manifest(command string, more ...string) string {
	return "schema = 1\nid = \"acme/pair\"\nversion = \"1.2.0\"\ndescription = \"d\"\n[[tool]]\nname = \"pair\"\ndescription = \"d\"\ninput = '{\"type\":\"object\"}'\n" +
		"[dev]\nbuild = '''" + command + "'''\nwatch = [\"*.go\", \"plugin.toml\"]\n" + strings.Join(more, "")
}

// good are the files of a plugin of which nothing is wrong.
func good() map[string]string {
	return map[string]string{"plugin.toml": manifest(tinygo, golden), "in.json": `{"body":{}}`, "out.json": `{"ok":{}}`,
		"guest.wasm": string(bridgetest.New().Answers(abi.ExportTool, `{"ok":{}}`).Bytes())}
}

func TestAGoodFolderHasNoFindings(t *testing.T) {
	folder := t.TempDir()
	put(t, folder, good())
	if found := toolchain.Examine(folder, all(t)); len(found) != 0 {
		t.Errorf("%+v", found)
	}
	for _, language := range scaffold.Languages() {
		for _, kind := range scaffold.Kinds() {
			content, err := scaffold.Files(scaffold.Plugin{Language: language, Kind: kind, ID: "acme/made"})
			if err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(t.TempDir(), "made")
			if err := scaffold.Create(folder, content); err != nil {
				t.Fatal(err)
			}
			found := toolchain.Examine(folder, all(t))
			if len(found) != 1 || found[0].What != "the plugin is not built" || found[0].Severity != toolchain.Warning {
				t.Errorf("%s %s: %+v", language, kind, found)
			}
		}
	}
}

// section is a custom section of a module.
func section(name string, size int) string {
	content := append(append([]byte{byte(len(name))}, name...), bytes.Repeat([]byte{0}, size)...)
	length := len(content)
	return string([]byte{0, byte(length&127 | 128), byte(length >> 7)}) + string(content)
}

func TestMistakesAreFound(t *testing.T) {
	for _, test := range []struct {
		name     string
		files    map[string]string // instead of, or beside, the good ones; empty takes one away
		severity toolchain.Severity
		where    string
		what     string
		fix      string
	}{
		{"a bad manifest", map[string]string{"plugin.toml": manifest(tinygo, "[limit]\n")}, toolchain.Error, "plugin.toml", "plugin.toml:", "correct the manifest"},
		{"no manifest", map[string]string{"plugin.toml": ""}, toolchain.Error, "plugin.toml", "it is missing", "correct the manifest"},
		{"no command", map[string]string{"plugin.toml": manifest("", golden)}, toolchain.Warning, "dev.build", "nothing says how the plugin is built", "add [dev] build"},
		{"TinyGo for the browser", map[string]string{"plugin.toml": manifest("tinygo build -target=wasm -buildmode=c-shared .", golden)}, toolchain.Error, "dev.build", "another target", "-target=wasip1"},
		{"TinyGo as a program", map[string]string{"plugin.toml": manifest("tinygo build -target=wasip1 .", golden)}, toolchain.Error, "dev.build", "runs once", "-buildmode=c-shared"},
		{"Go for the browser", map[string]string{"plugin.toml": manifest("GOOS=js GOARCH=wasm go build -buildmode=c-shared .", golden)}, toolchain.Error, "dev.build", "another system", "GOOS=wasip1"},
		{"Rust as a component", map[string]string{"plugin.toml": manifest("cargo build --release --target wasm32-wasip2", golden)}, toolchain.Error, "dev.build", "Rust builds for wasm32-wasip2", "--target wasm32-unknown-unknown"},
		{"Rust for debugging", map[string]string{"plugin.toml": manifest("cargo build --target wasm32-unknown-unknown", golden)}, toolchain.Warning, "dev.build", "debug build", "--release"},
		{"a crate of another type", map[string]string{"Cargo.toml": "[package]\nname = \"pair\"\n[lib]\ncrate-type = [\"rlib\"]\n"}, toolchain.Error, "Cargo.toml: lib.crate-type", "makes no module", "cdylib"},
		{"a bad Cargo.toml", map[string]string{"Cargo.toml": "[lib\n"}, toolchain.Error, "Cargo.toml", "toml", "correct it"},
		{"an SDK of before", map[string]string{".plinth/sdk.json": `{"sdk":"go","plinth":"v0.9","sha256":"00"}`}, toolchain.Warning, ".plinth/sdk", "from Plinth v0.9 and differs", "doctor --fix"},
		{"an SDK of another world", map[string]string{".plinth/sdk.json": `{"sdk":"c"}`}, toolchain.Error, ".plinth/sdk.json", `no SDK "c"`, "plinth plugin new"},
		{"no goldens", map[string]string{"plugin.toml": manifest(tinygo)}, toolchain.Warning, "golden", "no recorded call proves the plugin", "plinth plugin call"},
		{"a golden without its answer", map[string]string{"out.json": ""}, toolchain.Warning, "out.json", "a golden has no answer yet", "plinth plugin test --update"},
		{"no module", map[string]string{"guest.wasm": ""}, toolchain.Warning, "the folder", "the plugin is not built", "plinth plugin build"},
		{"two modules", map[string]string{"other.wasm": "x"}, toolchain.Error, "the folder", "there are 2 modules: guest.wasm, other.wasm", "remove all but one"},
		{"a component", map[string]string{"guest.wasm": "\x00asm\x0d\x00\x01\x00"}, toolchain.Error, "guest.wasm", "it is a component", "tinygo build -target=wasip1"},
		{"no module at all", map[string]string{"guest.wasm": "text"}, toolchain.Error, "guest.wasm", "this is not a WebAssembly module", "give the .wasm file the compiler wrote"},
		{"an export is missing", map[string]string{"guest.wasm": string(bridgetest.New().Answers(abi.ExportTransform, `{"ok":{}}`).Bytes())}, toolchain.Error, "guest.wasm", "it must export plinth_tool_execute", ""},
		{"debug information", map[string]string{"guest.wasm": good()["guest.wasm"] + section(".debug_info", 5000)}, toolchain.Warning, "guest.wasm", "debug information, 5000 bytes", "-no-debug"},
		{"a large module", map[string]string{"guest.wasm": good()["guest.wasm"] + strings.Repeat(section("x", 16000), 140)}, toolchain.Warning, "guest.wasm", "which a release build does not", "-no-debug"},
		{"a module beyond the limit", map[string]string{"guest.wasm": good()["guest.wasm"] + strings.Repeat("\x00", 16<<20)}, toolchain.Error, "guest.wasm", "the most is 16777216", "-no-debug"},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			files := good()
			for name, text := range test.files {
				if files[name] = text; text == "" {
					delete(files, name)
				}
			}
			put(t, folder, files)
			found := toolchain.Examine(folder, all(t))
			if len(found) == 0 {
				t.Fatal("nothing is found")
			}
			got := found[0]
			if got.Severity != test.severity || !strings.Contains(got.Where, test.where) || !strings.Contains(got.What, test.what) || !strings.Contains(got.Fix, test.fix) || got.Fix == "" {
				t.Errorf("%+v", found)
			}
			if strings.Contains(got.What, folder) {
				t.Errorf("%s names the folder", got.What)
			}
		})
	}
}

func TestASourceThatIsNewerIsFound(t *testing.T) {
	folder := t.TempDir()
	files := good()
	files["main.go"], files["main_test.go"] = "package main\n", "package main\n"
	put(t, folder, files)
	now := time.Now()
	for name, age := range map[string]time.Duration{"guest.wasm": time.Hour, "main.go": 2 * time.Hour, "main_test.go": 0, "plugin.toml": 0} {
		if err := os.Chtimes(filepath.Join(folder, name), now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if found := toolchain.Examine(folder, all(t)); len(found) != 0 {
		t.Errorf("what is not compiled makes the module old: %+v", found)
	}
	if err := os.Chtimes(filepath.Join(folder, "main.go"), now, now); err != nil {
		t.Fatal(err)
	}
	found := toolchain.Examine(folder, all(t))
	if len(found) != 1 || found[0].What != "it is older than main.go" || found[0].Where != "guest.wasm" || found[0].Fix != "plinth plugin build" {
		t.Errorf("%+v", found)
	}
}

func TestTheCompilerOfTheCommandIsNeeded(t *testing.T) {
	for command, want := range map[string]string{
		tinygo: "tinygo is not on PATH",
		"GOWORK=off GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared .": "go is not on PATH",
		"cargo build --release --target wasm32-unknown-unknown":             "cargo is not on PATH",
		"node_modules/.bin/asc index.ts":                                    "node is not on PATH",
		"make":                                                              "",
	} {
		folder := t.TempDir()
		files := good()
		files["plugin.toml"] = manifest(command, golden)
		put(t, folder, files)
		var told []string
		for _, finding := range toolchain.Examine(folder, onPath(t, nil)) {
			told = append(told, finding.What)
		}
		if got := strings.Join(told, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %s", command, got)
		}
	}
	folder := t.TempDir()
	put(t, folder, good())
	found := toolchain.Examine(folder, onPath(t, map[string]string{"tinygo": "echo 0.30", "go": "echo 1.26"}))
	if len(found) != 1 || !strings.Contains(found[0].What, "tinygo 0.30 cannot build the plugin: it is older than 0.41") {
		t.Errorf("%+v", found)
	}
}

// The guests of the conformance cases take randomness: those in AssemblyScript ask for it each
// time, which their module does not tell; those of the Go SDK have plinth_reseed.
func TestRandomnessThatMayRepeatIsFound(t *testing.T) {
	transform := "schema = 1\nid = \"acme/pure\"\nversion = \"1.0.0\"\ndescription = \"d\"\n[[transform]]\nname = \"edit\"\nreads = [\"system\"]\nwrites = [\"system\"]\n" +
		"[dev]\nbuild = \"make\"\n[[golden]]\nexport = \"transform\"\ninput = \"in.json\"\noutput = \"out.json\"\n"
	for guest, want := range map[string]string{"core-assemblyscript-codec": "exports no plinth_reseed", "core-tinygo-codec": ""} {
		module, err := os.ReadFile("../../../tests/conformance/guests/dist/" + guest + ".wasm")
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		put(t, folder, map[string]string{"plugin.toml": transform, "in.json": `{"body":{}}`, "out.json": `{"ok":{}}`, "guest.wasm": string(module)})
		for _, mode := range []string{"", "[isolation]\nmode = \"fresh\"\n"} {
			put(t, folder, map[string]string{"plugin.toml": transform + mode})
			var told []string
			for _, finding := range toolchain.Examine(folder, all(t)) {
				told = append(told, finding.What)
			}
			if got := strings.Join(told, "\n"); (got == "") != (want == "" || mode != "") || mode == "" && !strings.Contains(got, want) {
				t.Errorf("%s %q: %q", guest, mode, got)
			}
		}
		if want == "" {
			continue
		}
		put(t, folder, map[string]string{"plugin.toml": transform, "dice.go": "package main\n\nimport \"math/rand/v2\"\n\nvar _ = rand.Int\n"})
		if found := toolchain.Examine(folder, all(t)); len(found) != 2 || found[1].Where != "dice.go" || !strings.Contains(found[1].What, "math/rand is seeded once") {
			t.Errorf("%+v", found)
		}
	}
}
