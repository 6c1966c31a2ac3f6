package toolchain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/pelletier/go-toml/v2"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/scaffold"
	"github.com/plinthhost/plinth/host/plugin"
)

// Severity says how bad a finding is.
type Severity string

// The severities: an error keeps the plugin from being used, a warning does not.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is something that is wrong with a plugin's folder. Its texts may hold text of the
// plugin's author.
type Finding struct {
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
	Where    string   `json:"where"` // a file or a key of the manifest, from the folder
	Fix      string   `json:"fix"`
}

// folder is a plugin's folder under examination.
type folder struct {
	path     string
	manifest abi.Manifest
	found    []Finding
}

func (f *folder) add(severity Severity, where, fix, format string, args ...any) {
	f.found = append(f.found, Finding{Severity: severity, What: fmt.Sprintf(format, args...), Where: where, Fix: fix})
}

// Examine looks at a plugin's folder, an absolute path, whose builds would use the programs
// that were found on this machine.
func Examine(path string, programs []Program) []Finding {
	f := &folder{path: path}
	manifest, err := plugin.ManifestOf(path)
	f.manifest = manifest
	if err != nil {
		f.add(Error, plugin.ManifestName, "correct the manifest; docs/reference/manifest.md has every key", "%s", f.local(err))
	}
	f.command(programs)
	f.crate()
	f.sdk()
	if err == nil {
		f.goldens()
		f.module()
	}
	return f.found
}

// local is an error without the folder's path, which who reads it knows.
func (f *folder) local(err error) string {
	return strings.NewReplacer(f.path+string(filepath.Separator), "", f.path+": ", "").Replace(err.Error())
}

// language is how a build command is told.
type language struct {
	name     string
	programs []string // that it needs
}

// languageOf tells the language by the build command.
func languageOf(command string) language {
	switch {
	case word(command, "tinygo"):
		return language{"tinygo", []string{"tinygo", "go"}}
	case word(command, "cargo"):
		return language{"rust", []string{"cargo", "rustc"}}
	case word(command, "asc"), word(command, "npm"), word(command, "npx"):
		return language{"assemblyscript", []string{"node", "npm"}}
	case word(command, "go"):
		return language{"go", []string{"go"}}
	}
	return language{}
}

// word reports whether a command has a word or the last step of a path.
func word(command, name string) bool {
	return regexp.MustCompile(`(^|[\s;&|/("'])` + regexp.QuoteMeta(name) + `($|[\s;&|)"'])`).MatchString(command)
}

// command looks at the command that builds the plugin, and for what it needs.
func (f *folder) command(programs []Program) {
	const where = "plugin.toml: dev.build"
	if f.manifest.Dev == nil || f.manifest.Dev.Build == "" {
		f.add(Warning, where, `add [dev] build = "…", a command that leaves the module beside plugin.toml; plinth plugin new shows one for each language`,
			"nothing says how the plugin is built")
		return
	}
	build := f.manifest.Dev.Build
	language := languageOf(build)
	for _, program := range programs {
		if !slices.Contains(language.programs, program.Name) {
			continue
		}
		switch {
		case !program.Found():
			f.add(Error, where, program.Fix, "%s is not on PATH, and the plugin is built with it", program.Name)
		case !program.Well():
			f.add(Error, where, program.Fix, "%s %s cannot build the plugin: %s", program.Name, program.Version, program.Problem)
		}
	}
	switch language.name {
	case "tinygo":
		if !strings.Contains(build, "-target=wasip1") && !strings.Contains(build, "-target wasip1") {
			f.add(Error, where, "-target=wasip1", "TinyGo builds for another target than that of plugins")
		}
		f.reactor(build)
	case "go":
		if !strings.Contains(build, "GOOS=wasip1") {
			f.add(Error, where, "GOOS=wasip1 GOARCH=wasm go build", "Go builds for another system than that of plugins")
		}
		f.reactor(build)
	case "rust":
		if target := regexp.MustCompile(`--target[ =](\S+)`).FindStringSubmatch(build); target != nil && target[1] != rustTarget {
			f.add(Error, where, "--target "+rustTarget, "Rust builds for %s; a component or a command is no plugin", target[1])
		}
		if !strings.Contains(build, "--release") {
			f.add(Warning, where, "--release", "it is a debug build: ten times as large, and slower")
		}
	}
}

func (f *folder) reactor(build string) {
	if !strings.Contains(build, "-buildmode=c-shared") && !strings.Contains(build, "-buildmode c-shared") {
		f.add(Error, "plugin.toml: dev.build", "-buildmode=c-shared", "it builds a program that runs once; a plugin is called many times")
	}
}

// crate looks at a plugin in Rust.
func (f *folder) crate() {
	text, err := os.ReadFile(filepath.Join(f.path, "Cargo.toml"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var manifest struct {
		Lib struct {
			CrateType []string `toml:"crate-type"`
		} `toml:"lib"`
	}
	if err == nil {
		err = toml.Unmarshal(text, &manifest)
	}
	if err != nil {
		f.add(Error, "Cargo.toml", "correct it; cargo check says more", "%v", err)
		return
	}
	if !slices.Contains(manifest.Lib.CrateType, "cdylib") {
		f.add(Error, "Cargo.toml: lib.crate-type", `[lib] crate-type = ["cdylib", "rlib"]`, "the crate makes no module: cdylib is not among its types")
	}
}

// sdk looks at the SDK that plinth plugin new has put there.
func (f *folder) sdk() {
	state, err := scaffold.SDKState(f.path)
	switch {
	case err != nil:
		f.add(Error, ".plinth/sdk.json", "plinth plugin new makes a folder with a good one; copy .plinth from there", "%s", f.local(err))
	case state.Unpacked && !state.Current:
		f.add(Warning, ".plinth/sdk", "plinth plugin doctor --fix puts this one's there", "the SDK is from Plinth %s and differs from that of this program", state.Version)
	}
}

func (f *folder) goldens() {
	if len(f.manifest.Goldens) == 0 {
		f.add(Warning, "plugin.toml: golden", "plinth plugin call … --save NAME makes one of a call", "no recorded call proves the plugin")
	}
}

// sources are what a module is made of, where dev.watch says nothing.
func sources() []string {
	return []string{"*.go", "*.rs", "*.ts", "src/**/*.rs", "go.mod", "Cargo.toml", "package.json"}
}

// newest is the source that was changed last.
func (f *folder) newest() (name string, at time.Time) {
	globs := sources()
	if f.manifest.Dev != nil && len(f.manifest.Dev.Watch) > 0 {
		globs = f.manifest.Dev.Watch
	}
	files := os.DirFS(f.path)
	for _, glob := range globs {
		if strings.HasPrefix(glob, "testdata/") || strings.HasSuffix(glob, ".json") || glob == plugin.ManifestName {
			continue // watched, and not compiled
		}
		names, err := doublestar.Glob(files, glob, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
		if err != nil {
			continue // the manifest's checks say so
		}
		for _, candidate := range names {
			if strings.HasSuffix(candidate, "_test.go") {
				continue
			}
			if info, err := fs.Stat(files, candidate); err == nil && info.ModTime().After(at) {
				name, at = candidate, info.ModTime()
			}
		}
	}
	return name, at
}
