// Package toolchain looks at what plugins are built with: the compilers of this machine,
// and a plugin's folder, for what would not work or was forgotten. It reads, and asks
// compilers for their versions; nothing of a plugin runs or is built.
package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Program is one that builds plugins or helps to.
type Program struct {
	Name    string `json:"name"`
	For     string `json:"for"` // languages, or what it does
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	// Problem says what is wrong with it, Fix what to do; both are empty when it is well,
	// and for one that is not there and need not be.
	Problem string `json:"problem,omitempty"`
	Fix     string `json:"fix,omitempty"`
}

// Found reports whether the program is there.
func (p Program) Found() bool { return p.Path != "" }

// Well reports whether it is there and can be used.
func (p Program) Well() bool { return p.Found() && p.Problem == "" }

// wanted is a program with the oldest version that is supported.
type wanted struct {
	name, uses string
	arguments  []string
	oldest     string
	install    string
}

// rustTarget is what Rust compiles a plugin for.
const rustTarget = "wasm32-unknown-unknown"

func programs() []wanted {
	return []wanted{
		{"tinygo", "tinygo", []string{"version"}, "0.41", "install TinyGo 0.41 or newer: https://tinygo.org/getting-started/install"},
		{"go", "go, and by TinyGo", []string{"version"}, "1.26", "install Go 1.26 or newer: https://go.dev/dl"},
		{"cargo", "rust", []string{"--version"}, "1.85", "install Rust 1.85 or newer: https://rustup.rs"},
		{"rustc", "rust", []string{"--version"}, "1.85", "install Rust 1.85 or newer: https://rustup.rs"},
		{"node", "assemblyscript", []string{"--version"}, "20", "install Node.js 20 or newer: https://nodejs.org"},
		{"npm", "assemblyscript", []string{"--version"}, "10", "install npm 10 or newer, which comes with Node.js: https://nodejs.org"},
		{"wasm-opt", "making modules smaller; optional", []string{"--version"}, "", "it comes with Binaryen: https://github.com/WebAssembly/binaryen"},
	}
}

// askTime bounds how long a program may take to tell its version.
const askTime = 20 * time.Second

// Programs looks for the compilers on PATH and asks each for its version.
func Programs(ctx context.Context) []Program {
	var found []Program
	for _, w := range programs() {
		found = append(found, w.look(ctx))
	}
	return found
}

func (w wanted) look(ctx context.Context) Program {
	program := Program{Name: w.name, For: w.uses}
	path, err := exec.LookPath(w.name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		program.Fix = w.install
		return program
	}
	program.Path = path
	said, err := ask(ctx, path, w.arguments...)
	program.Version = versionIn(said)
	switch {
	case err != nil:
		program.Problem, program.Fix = "it does not tell its version: "+err.Error(), w.install
	case w.oldest != "" && older(program.Version, w.oldest):
		program.Problem, program.Fix = "it is older than "+w.oldest, w.install
	case w.name == "rustc" && !hasTarget(ctx, path):
		program.Problem = "it has no target " + rustTarget
		program.Fix = "rustup target add " + rustTarget
	}
	return program
}

// ask runs a program where no project's files steer it, and answers what it prints.
func ask(ctx context.Context, path string, arguments ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	if !filepath.IsAbs(path) {
		return "", errors.New("PATH finds it by a relative path; make that entry of PATH absolute")
	}
	command := exec.CommandContext(ctx, path, arguments...)
	command.Dir = os.TempDir()
	command.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOFLAGS=", "GOWORK=off")
	command.WaitDelay = time.Second
	said, err := command.Output()
	if failed, is := errors.AsType[*exec.ExitError](err); is {
		reason, _, _ := strings.Cut(strings.TrimSpace(string(failed.Stderr)), "\n")
		err = fmt.Errorf("%w: %s", err, reason)
	}
	return strings.TrimSpace(string(said)), err
}

var versionText = regexp.MustCompile(`\d+(\.\d+)*`)

// versionIn is the first version in what a program says.
func versionIn(text string) string { return versionText.FindString(text) }

// older compares versions by their numbers.
func older(version, than string) bool {
	have, want := strings.Split(version, "."), strings.Split(than, ".")
	for i := range want {
		part := ""
		if i < len(have) {
			part = have[i]
		}
		a, _ := strconv.Atoi(part)
		b, _ := strconv.Atoi(want[i])
		if a != b {
			return a < b
		}
	}
	return false
}

// hasTarget looks for the target's libraries below the compiler's own folder.
func hasTarget(ctx context.Context, rustc string) bool {
	sysroot, err := ask(ctx, rustc, "--print", "sysroot")
	if err != nil {
		return false
	}
	info, err := os.Stat(filepath.Join(sysroot, "lib", "rustlib", rustTarget))
	return err == nil && info.IsDir()
}
