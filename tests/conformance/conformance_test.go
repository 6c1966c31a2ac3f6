// Package conformance holds guests of every language and import set to ABI 1. They
// all behave as guests/README.md says, and every case runs with each of them, in
// the real engine and behind the ports that the host gives plugins.
package conformance

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/wasm"
)

const (
	id       = "conformance/guest"
	revision = "r1"
	greeting = "héllo"
)

// A guest is what one language makes of guests/README.md, for one import set: two
// modules, since what is pure may not import host operations.
type guest struct {
	name string // the import set and the language
	// tellsMeta: its tools can see the meta of a call. The SDK for Go keeps it to itself.
	tellsMeta bool
	tools     func() (loaded, error)
	restart   func(config string) (loaded, error) // the tools with other settings
	codec     func() (loaded, error)
}

// loaded is a module in the engine.
type loaded struct {
	module *wasm.Module
	report wasm.Info
}

var (
	engine *wasm.Engine
	guests []guest
)

func TestMain(m *testing.M) {
	flag.Parse()
	folder, err := os.MkdirTemp("", "plinth-conformance-")
	if err != nil {
		log.Fatal(err)
	}
	if engine, err = wasm.New(wasm.Options{Contract: bridge.Contract(), Refuse: bridge.Refuse, CacheDir: filepath.Join(folder, "cache")}); err != nil {
		log.Fatal(err)
	}
	if guests, err = all(folder); err != nil {
		log.Fatal(err)
	}
	goleak.VerifyTestMain(closing{m, folder})
}

// closing runs the tests and gives back what they share, before leaks are looked for.
type closing struct {
	tests  *testing.M
	folder string
}

func (c closing) Run() int {
	code := c.tests.Run()
	if err := errors.Join(engine.Close(), os.RemoveAll(c.folder)); err != nil {
		log.Print(err)
		code = max(code, 1)
	}
	return code
}

// all finds the committed guests, guests/dist/SET-LANGUAGE-tools.wasm and -codec.wasm,
// and adds those of the Go toolchain, which are built where the tests are.
func all(folder string) ([]guest, error) {
	files, err := filepath.Glob("guests/dist/*-tools.wasm")
	if err != nil {
		return nil, err
	}
	var found []guest
	for _, file := range files {
		base := strings.TrimSuffix(file, "tools.wasm")
		name := strings.TrimSuffix(filepath.Base(base), "-")
		found = append(found, newGuest(name, func(half string) ([]byte, error) { return os.ReadFile(base + half + ".wasm") }))
	}
	found = append(found, newGuest("core-go", func(half string) ([]byte, error) { return buildGo(folder, half) }))
	return found, nil
}

func newGuest(name string, read func(half string) ([]byte, error)) guest {
	tools := sync.OnceValues(func() ([]byte, error) { return read("tools") })
	restart := func(config string) (loaded, error) {
		built, err := tools()
		if err != nil {
			return loaded{}, err
		}
		return start(built, config, false, abi.ExportTool, abi.ExportContext)
	}
	_, language, _ := strings.Cut(name, "-")
	return guest{
		name: name, tellsMeta: language != "go" && language != "tinygo", restart: restart,
		tools: sync.OnceValues(func() (loaded, error) { return restart(`{"greeting":"` + greeting + `"}`) }),
		codec: sync.OnceValues(func() (loaded, error) {
			built, err := read("codec")
			if err != nil {
				return loaded{}, err
			}
			return start(built, "", true, abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify, abi.ExportTransform)
		}),
	}
}

// buildGo builds a guest with the Go toolchain that runs the tests; the build cache
// keeps it for the next run.
func buildGo(folder, half string) ([]byte, error) {
	file := filepath.Join(folder, half+".wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file, "./"+half)
	build.Dir = filepath.Join("guests", "go")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the Go guest %s: %w\n%s", half, err, out)
	}
	return os.ReadFile(file)
}

// start brings a module to life. One instance serves all calls, so that each but the
// first begins with a restored one.
func start(built []byte, config string, pure bool, entries ...string) (loaded, error) {
	spec := wasm.Spec{Name: id, Wasm: built, Entries: entries, Pure: pure, CheckInit: bridge.CheckInit, Limits: wasm.Limits{Instances: 1}}
	var err error
	if spec.Init, err = bridge.Init(id, json.RawMessage(config)); err != nil {
		return loaded{}, err
	}
	module, err := engine.Load(contextOfTests, spec)
	if err != nil {
		return loaded{}, err
	}
	info, err := wasm.Inspect(built)
	return loaded{module, info}, err
}

// each runs a test with every guest.
func each(t *testing.T, run func(t *testing.T, g guest)) {
	t.Helper()
	for _, g := range guests {
		t.Run(g.name, func(t *testing.T) { run(t, g) })
	}
}

// toolsOf is a plugin of the half with host operations, codecOf of the pure one.
func toolsOf(t *testing.T, g guest) *plugin { return newPlugin(t, g.tools) }
func codecOf(t *testing.T, g guest) *plugin { return newPlugin(t, g.codec) }

// The guests that must be there: a language whose module is lost is not a language
// that passes.
func TestEveryLanguageIsThere(t *testing.T) {
	want := []string{"core-assemblyscript", "core-go", "core-rust", "core-tinygo"}
	there := map[string]bool{}
	for _, g := range guests {
		there[g.name] = true
	}
	for _, name := range want {
		if !there[name] {
			t.Errorf("there is no guest %s; guests/build makes it", name)
		}
	}
}

func TestTheImportsTellTheSet(t *testing.T) {
	each(t, func(t *testing.T, g guest) {
		set, _, _ := strings.Cut(g.name, "-")
		for half, load := range map[string]func() (loaded, error){"tools": g.tools, "codec": g.codec} {
			l, err := load()
			if err != nil {
				t.Fatal(err)
			}
			operations := false
			for _, one := range l.report.Imports {
				switch one.Module {
				case abi.ImportModule:
					operations = true
				case "wasi_snapshot_preview1":
				default:
					if set == "core" {
						t.Errorf("%s imports %s.%s", half, one.Module, one.Name)
					}
				}
			}
			if want := half == "tools"; set == "core" && operations != want {
				t.Errorf("%s imports host operations: %t, want %t", half, operations, want)
			}
		}
	})
}
