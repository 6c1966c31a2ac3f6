// Package authors makes plugins as their authors do: with plinth plugin new, in every
// language and of every kind, on machines that have one compiler each.
//
// `go test ./tests/authors -toolchains=rust,tinygo,go,assemblyscript` takes all of them;
// without the flag only Go is there.
package authors

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/author/scaffold"
	"github.com/plinthhost/plinth/tests/toolchains"
)

var compilers = flag.String("toolchains", "go", toolchains.Help)

// program is the built plinth.
var program string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "authors-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(folder, "plinth")
	command := exec.Command("go", "build", "-o", program, "github.com/plinthhost/plinth/cmd/host")
	command.Stderr = os.Stderr
	code := 1
	if command.Run() == nil {
		code = m.Run()
	}
	os.RemoveAll(folder)
	os.Exit(code)
}

// largest is the most bytes that a module of a template may have, whatever its kind.
func largest(language string) int64 {
	return map[string]int64{"rust": 150_000, "tinygo": 350_000, "go": 4_500_000, "assemblyscript": 30_000}[language]
}

// author is somebody at a machine with one compiler.
type author struct {
	t        *testing.T
	folder   string // where she works
	environ  []string
	packages string // what npm has fetched for the plugin before; empty for none
}

func newAuthor(t *testing.T, language string) *author {
	t.Helper()
	machine := toolchains.New(t, language)
	home := t.TempDir()
	a := &author{t: t, folder: t.TempDir(), environ: append([]string{"HOME=" + home, "PATH=" + machine.Path}, machine.Environ...)}
	names := []string{"GOCACHE", "GOPATH", "GOMODCACHE"}
	values, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, value := range strings.Split(strings.TrimSpace(string(values)), "\n") {
		a.environ = append(a.environ, names[i]+"="+value)
	}
	return a
}

// plinth runs the program and answers what it prints, which must end well.
func (a *author) plinth(arguments ...string) string {
	a.t.Helper()
	command := exec.CommandContext(a.t.Context(), program, arguments...)
	command.Dir, command.Env = a.folder, a.environ
	var told strings.Builder
	command.Stderr = &told
	output, err := command.Output()
	if err != nil {
		a.t.Fatalf("plinth %s: %v\n%s%s", strings.Join(arguments, " "), err, output, told.String())
	}
	return string(output)
}

// TestEveryTemplate makes each plugin, whose tests pass at once, whose folder has nothing wrong
// with it, and whose module is small.
func TestEveryTemplate(t *testing.T) {
	for language := range strings.SplitSeq(*compilers, ",") {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			a := newAuthor(t, language)
			for _, kind := range scaffold.Kinds() {
				// All of them before any is built: cargo then builds the SDK, which has the same place in
				// each plugin, once for all.
				a.plinth("plugin", "new", "--lang", language, "--kind", kind, "acme/"+named(language, kind))
			}
			for _, kind := range scaffold.Kinds() {
				t.Run(kind, func(t *testing.T) {
					a.t = t
					a.works(language, kind)
				})
			}
		})
	}
}

// named is the name of a template's plugin: of its own, since cargo tells crates in one target
// folder by it.
func named(language, kind string) string {
	return language + "-" + kind
}

// works tests a plugin that is made already.
func (a *author) works(language, kind string) {
	a.t.Helper()
	name := named(language, kind)
	a.sharePackages(name)
	var tested struct {
		Passed  bool `json:"passed"`
		Goldens []struct {
			Passed bool  `json:"passed"`
			Fuel   int64 `json:"fuel"`
		} `json:"goldens"`
	}
	printed := a.plinth("plugin", "test", name, "--json")
	if err := json.Unmarshal([]byte(printed), &tested); err != nil {
		a.t.Fatalf("%v in %s", err, printed)
	}
	if !tested.Passed || len(tested.Goldens) < 2 {
		a.t.Errorf("%s", printed)
	}
	var examined struct {
		Findings []any `json:"findings"`
		Healthy  bool  `json:"healthy"`
	}
	printed = a.plinth("plugin", "doctor", name, "--json")
	if err := json.Unmarshal([]byte(printed), &examined); err != nil || !examined.Healthy || len(examined.Findings) > 0 {
		a.t.Errorf("%v\n%s", err, printed)
	}
	info, err := os.Stat(filepath.Join(a.folder, name, name+".wasm"))
	if err != nil {
		a.t.Fatal(err)
	}
	if info.Size() > largest(language) {
		a.t.Errorf("the module has %d bytes, more than %d", info.Size(), largest(language))
	}
	a.t.Logf("%d bytes", info.Size())
	if kind == "tool" {
		if err := os.WriteFile(filepath.Join(a.folder, "three.txt"), []byte("one two three"), 0o600); err != nil {
			a.t.Fatal(err)
		}
		if told := a.plinth("plugin", "call", name, name, `{"path": "three.txt"}`, "--root", "."); !strings.HasPrefix(told, "three.txt has 3 words\n") {
			a.t.Errorf("%s", told)
		}
	}
}

// TestGoNamesWhatBroke: of a plugin by the Go toolchain the log names the author's function,
// and the error the function that ended the call.
func TestGoNamesWhatBroke(t *testing.T) {
	a := newAuthor(t, "go")
	a.plinth("plugin", "new", "--lang", "go", "acme/breaks")
	source := filepath.Join(a.folder, "breaks", "main.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(text), "n := len(file.Data)", `panic("no such count")
	n := len(file.Data)`, 1)
	if broken == string(text) {
		t.Fatal("the template does not count so any more")
	}
	if err := os.WriteFile(source, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	a.plinth("plugin", "build", "breaks")
	command := exec.CommandContext(t.Context(), program, "plugin", "call", "breaks", "breaks", `{"path": "main.go"}`, "--root", "breaks")
	command.Dir, command.Env = a.folder, a.environ
	output, err := command.CombinedOutput()
	if err == nil {
		t.Errorf("the call came to an answer:\n%s", output)
	}
	for _, want := range []string{"info: panic: no such count\n", "info: main.count(", "/main.go:", "trap in runtime."} {
		if !strings.Contains(string(output), want) {
			t.Errorf("%q is not in\n%s", want, output)
		}
	}
}

// sharePackages has npm fetch once for all plugins: they name the same packages.
func (a *author) sharePackages(name string) {
	a.t.Helper()
	if _, err := os.Stat(filepath.Join(a.folder, name, "package.json")); err != nil {
		return // its language has no npm
	}
	own := filepath.Join(a.folder, name, "node_modules")
	if a.packages == "" {
		a.packages = own
		return
	}
	if err := os.Symlink(a.packages, own); err != nil {
		a.t.Fatal(err)
	}
}

// TestPackagesThatAreNotFetched shows why npm could not fetch the compiler, and goes no further;
// what an interrupted npm left does not pass for the compiler.
func TestPackagesThatAreNotFetched(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	path, folder := t.TempDir(), t.TempDir()
	if err := os.Symlink(shell, filepath.Join(path, "sh")); err != nil {
		t.Fatal(err)
	}
	// As npm does, it holds its tongue when it is told to.
	npm := "#!/bin/sh\ncase \"$*\" in *--silent*) ;; *) echo 'npm error the network is down' >&2 ;; esac\nexit 1\n"
	if err := os.WriteFile(filepath.Join(path, "npm"), []byte(npm), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, kind := range scaffold.Kinds() {
		name := named("assemblyscript", kind)
		a := &author{t: t, folder: folder, environ: []string{"HOME=" + folder, "PATH=" + path}}
		a.plinth("plugin", "new", "--lang", "assemblyscript", "--kind", kind, "acme/"+name)
		if err := os.Mkdir(filepath.Join(folder, name, "node_modules"), 0o700); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), program, "plugin", "build", name)
		command.Dir, command.Env = a.folder, a.environ
		printed, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(printed), "npm error the network is down") || !strings.Contains(string(printed), "ended with exit status 1") || strings.Contains(string(printed), "asc: not found") {
			t.Errorf("%s: %v, %s", kind, err, printed)
		}
	}
}
