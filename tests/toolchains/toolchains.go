// Package toolchains gives tests a machine with one compiler of plugins: a PATH on which there
// is nothing else to compile with. Which compilers are there is said by the flag -toolchains
// of the tests that need them.
package toolchains

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Help is the help of the flag -toolchains.
const Help = "languages whose compilers are on PATH: rust, tinygo, go, assemblyscript"

// rustTarget is what Rust compiles plugins for.
const rustTarget = "wasm32-unknown-unknown"

// common are the programs of any machine, as far as they are there.
func common() []string {
	return strings.Fields(`sh bash env cat ls mkdir rm rmdir cp mv ln touch chmod sed awk grep find head tail wc sort uniq tr cut
		echo printf test true false pwd date dirname basename uname id ps sleep tee xargs cmp diff od expr mktemp readlink git cc gcc ld as ar`)
}

// compilers are the programs of a language.
func compilers(language string) []string {
	switch language {
	case "tinygo":
		return []string{"tinygo", "go", "wasm-opt"} // TinyGo runs the other two
	case "go":
		return []string{"go"}
	case "rust":
		return []string{"cargo", "rustc"}
	case "assemblyscript":
		return []string{"node", "npm", "npx"}
	}
	return nil
}

// Machine is where plugins of one language can be built.
type Machine struct {
	// Path is a folder of programs, for PATH.
	Path string
	// Environ are variables beside PATH and HOME: caches that are shared between homes.
	Environ []string
}

// New makes a machine with the compiler of a language. It fails the test when that is not
// on PATH.
func New(t testing.TB, language string) Machine {
	t.Helper()
	folder := t.TempDir()
	for _, name := range common() {
		if path, err := exec.LookPath(name); err == nil {
			script(t, folder, name, fmt.Sprintf("exec '%s' \"$@\"", path))
		}
	}
	for _, name := range compilers(language) {
		path, err := exec.LookPath(name)
		if err != nil && name == "wasm-opt" {
			continue // it may lie beside tinygo
		}
		if err != nil {
			t.Fatalf("-toolchains names %s: %v", language, err)
		}
		script(t, folder, name, fmt.Sprintf("exec '%s' \"$@\"", path))
	}
	if language == "rust" {
		apart(t, folder)
	}
	return Machine{Path: folder, Environ: environ(t, language)}
}

// apart has cargo-wasm and rustc-wasm stand in where the compiler for the target of plugins is
// installed apart from the machine's.
func apart(t testing.TB, folder string) {
	t.Helper()
	native, err := exec.LookPath("cargo")
	if err != nil {
		t.Fatal(err)
	}
	cargo, err := exec.LookPath("cargo-wasm")
	if err != nil || hasTarget() {
		return
	}
	// It calls cargo itself, which must be the machine's.
	script(t, folder, "cargo", fmt.Sprintf("case \" $* \" in\n*%s*) PATH='%s':\"$PATH\" exec '%s' \"$@\" ;;\nesac\nexec '%s' \"$@\"",
		rustTarget, filepath.Dir(native), cargo, native))
	if rustc, err := exec.LookPath("rustc-wasm"); err == nil {
		// cargo test compiles for this machine, so cargo is told which compiler is its own.
		script(t, folder, "rustc", fmt.Sprintf("exec '%s' \"$@\"", rustc))
	}
}

func hasTarget() bool {
	sysroot, err := exec.Command("rustc", "--print", "sysroot").Output()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(strings.TrimSpace(string(sysroot)), "lib", "rustlib", rustTarget))
	return err == nil
}

// environ has what compilers keep between runs stay where it is, whatever HOME says.
func environ(t testing.TB, language string) []string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	kept := func(variable, place string) string {
		if value := os.Getenv(variable); value != "" {
			return variable + "=" + value
		}
		return variable + "=" + filepath.Join(home, place)
	}
	switch language {
	case "tinygo":
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		return []string{"XDG_CACHE_HOME=" + cache}
	case "rust":
		shared := filepath.Join(os.TempDir(), "plinth-tests-cargo")
		if err := os.MkdirAll(shared, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
		variables := []string{kept("CARGO_HOME", ".cargo"), kept("RUSTUP_HOME", ".rustup"), "CARGO_TARGET_DIR=" + shared,
			"CARGO_PROFILE_DEV_DEBUG=0", "CARGO_INCREMENTAL=0"} // what a test builds once needs neither
		if native, err := exec.LookPath("rustc"); err == nil {
			variables = append(variables, "RUSTC="+native)
		}
		return variables
	case "assemblyscript":
		return []string{kept("npm_config_cache", ".npm")}
	}
	return nil
}

func script(t testing.TB, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}
