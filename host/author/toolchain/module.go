package toolchain

import (
	"bytes"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/host/author/build"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
)

// largeModule is more than a module of TinyGo, Rust or AssemblyScript has without debug
// information, and less than one of the Go toolchain.
const largeModule = 2 << 20

// module looks at the module that was built last.
func (f *folder) module() {
	names, err := fs.Glob(os.DirFS(f.path), "[^.]*.wasm")
	switch {
	case err != nil || len(names) == 0:
		f.add(Warning, "the folder", "plinth plugin build", "the plugin is not built")
		return
	case len(names) > 1:
		f.add(Error, "the folder", "remove all but one, and have dev.build write just that one", "there are %d modules: %s", len(names), strings.Join(names, ", "))
		return
	}
	name := names[0]
	path := filepath.Join(f.path, name)
	if info, err := os.Stat(path); err == nil {
		if source, changed := f.newest(); changed.After(info.ModTime()) {
			f.add(Warning, name, "plinth plugin build", "it is older than %s", source)
		}
		if info.Size() > wasm.MaxModuleBytes {
			f.add(Error, name, f.smaller(), "it has %d bytes; the most is %d", info.Size(), wasm.MaxModuleBytes)
			return
		}
	}
	module, err := os.ReadFile(path)
	if err != nil {
		f.add(Error, name, "make it readable", "%s", f.local(err))
		return
	}
	if isComponent(module) {
		f.add(Error, name, f.target(), "it is a component; a plugin is a core module")
		return
	}
	f.built(name, module)
}

// isComponent tells a component by its header: the same magic, another layer.
func isComponent(module []byte) bool {
	return len(module) >= 8 && bytes.HasPrefix(module, []byte("\x00asm")) && module[6] == 1
}

// target is how a module of the right target is built.
func (f *folder) target() string {
	switch f.language() {
	case "rust":
		return "cargo build --release --target " + rustTarget
	case "tinygo":
		return "tinygo build -target=wasip1 -buildmode=c-shared"
	case "go":
		return "GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared"
	}
	return "build a core module: for " + rustTarget + ", or for wasip1 as a reactor"
}

// smaller is how a module without debug information is built.
func (f *folder) smaller() string {
	switch f.language() {
	case "rust":
		return `cargo build --release, with [profile.release] opt-level = "z", lto = true, strip = true in Cargo.toml`
	case "tinygo":
		return "tinygo build -no-debug -opt=z"
	case "go":
		return "go build -ldflags='-s -w'; TinyGo makes a tenth of it"
	case "assemblyscript":
		return "asc -Oz, without --debug"
	}
	return "build it for release, without debug information"
}

func (f *folder) language() string {
	if f.manifest.Dev == nil {
		return ""
	}
	return languageOf(f.manifest.Dev.Build).name
}

// built holds the module to the manifest.
func (f *folder) built(name string, module []byte) {
	debug, err := wasm.Section(module, ".debug_info")
	switch {
	case err == nil && debug != nil:
		f.add(Warning, name, f.smaller(), "it has debug information, %d bytes of %d and more; the host drops it", len(debug), len(module))
	case err == nil && len(module) > largeModule && f.language() != "go":
		f.add(Warning, name, f.smaller(), "it has %d bytes, which a release build does not", len(module))
	}
	result, err := build.Look(f.path)
	if err != nil {
		fix := "plinth plugin build, when its sources are right"
		if refused, is := errors.AsType[*wasm.AdmissionError](err); is && refused.Fix != "" {
			fix = refused.Fix
		}
		f.add(Error, name, fix, "%s", f.local(err))
		return
	}
	for _, missing := range result.Missing {
		f.add(Warning, missing, "plinth plugin test --update writes it", "a golden has no answer yet")
	}
	f.randomness(name, result.Report)
}

// randomness finds a generator that would be seeded once, before the snapshot that every
// call begins with.
func (f *folder) randomness(name string, report plugin.Report) {
	imports := func(text string) func(string) bool {
		return func(line string) bool { return strings.HasPrefix(line, text+" ") }
	}
	module := report.Module
	if report.Isolation != "" && report.Isolation != string(wasm.Restore) ||
		!slices.ContainsFunc(module.Imports, imports("wasi_snapshot_preview1.random_get")) ||
		slices.ContainsFunc(module.Exports, imports("plinth_reseed")) ||
		slices.ContainsFunc(module.Exports, imports("arc4random")) { // the Go SDK's under TinyGo asks the host each time
		return
	}
	fix := "seed anew in an export plinth_reseed, or ask random_get each time; the SDKs' random does"
	if file, ok := f.importing("math/rand"); ok {
		f.add(Warning, file, "use the SDK's package random", "math/rand is seeded once, so every call would have the same numbers")
	} else if f.language() != "go" {
		f.add(Warning, name, fix, "it takes randomness and exports no plinth_reseed: a generator that is seeded once gives every call the same numbers")
	}
}

// importing is the first Go file of the plugin that imports a package, or one below it.
func (f *folder) importing(path string) (string, bool) {
	names, err := fs.Glob(os.DirFS(f.path), "*.go")
	if err != nil {
		return "", false
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(f.path, name), nil, parser.ImportsOnly)
		if err != nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, imported := range file.Imports {
			if got := strings.Trim(imported.Path.Value, "\"`"); got == path || strings.HasPrefix(got, path+"/") {
				return name, true
			}
		}
	}
	return "", false
}
