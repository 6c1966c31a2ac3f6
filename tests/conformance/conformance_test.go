// Package conformance holds guests of every language and import set to ABI 1. They
// all behave as guests/README.md says, and every case runs with each of them, in
// the real engine and behind the ports that the host gives plugins.
package conformance

import (
	"errors"
	"flag"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
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

var (
	engine *wasm.Engine
	sdk    oracle
	guests []guest
)

// compilerVariable makes this program the compiler of another one.
const compilerVariable = "PLINTH_CONFORMANCE_COMPILER"

func TestMain(m *testing.M) {
	if os.Getenv(compilerVariable) != "" {
		os.Exit(wasm.Compile(os.Stdin, os.Stdout))
	}
	flag.Parse()
	folder, err := os.MkdirTemp("", "plinth-conformance-")
	if err != nil {
		log.Fatal(err)
	}
	compiler, err := compiler(folder)
	if err != nil {
		log.Fatal(err)
	}
	if engine, err = wasm.New(wasm.Options{Contract: bridge.Contract(), Refuse: bridge.Refuse, CacheDir: filepath.Join(folder, "cache"),
		Compiler: compiler}); err != nil {
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
	if err := errors.Join(engine.Close(), sdk.Close(), os.RemoveAll(c.folder)); err != nil {
		log.Print(err)
		code = max(code, 1)
	}
	return code
}

// each runs a test with every guest that does its case.
func each(t *testing.T, run func(t *testing.T, g guest)) {
	t.Helper()
	for _, g := range guests {
		if g.sdk && exceptedOfSDK(t.Name(), g.name) {
			continue
		}
		t.Run(g.name, func(t *testing.T) { run(t, g) })
	}
}

// exceptedOfSDK are the cases that are not run by extism/go-sdk. None is one that a PDK
// cannot do.
func exceptedOfSDK(test, guest string) bool {
	switch test {
	case "TestPureRandomnessRepeats": // the SDK gives randomness of the system, also to what is pure
		return true
	case "TestCancelDuringAnOperation": // the SDK ends the guest with its caller; there is no time to answer
		return true
	case "TestOtherSettings": // each starts a module, which the SDK compiles anew; TinyGo's is of the same sources, and small
		return guest == "extism-go"+bySDK
	}
	return false
}

// toolsOf is a plugin of the half with host operations, codecOf of the pure one.
func toolsOf(t *testing.T, g guest) *plugin { return newPlugin(t, g.tools) }
func codecOf(t *testing.T, g guest) *plugin { return newPlugin(t, g.codec) }

// The guests that must be there: a language whose module is lost is not a language
// that passes.
func TestEveryLanguageIsThere(t *testing.T) {
	var want []string
	for _, language := range []string{"assemblyscript", "go", "rust", "tinygo"} {
		want = append(want, "core-"+language, "extism-"+language)
		if sdkRuns("extism-" + language) {
			want = append(want, "extism-"+language+bySDK)
		}
	}
	slices.Sort(want)
	var there []string
	for _, g := range guests {
		there = append(there, g.name)
	}
	slices.Sort(there)
	if diff := cmp.Diff(want, there); diff != "" {
		t.Errorf("the guests (-want +there), which guests/build makes: %s", diff)
	}
}

// A module uses one import set, and the pure half of it no operation.
func TestTheImportsTellTheSet(t *testing.T) {
	const wasi, kernel, user = "wasi_snapshot_preview1", "extism:host/env", "extism:host/user"
	want := map[string][]string{
		"core tools": {abi.ImportModule, wasi}, "core codec": {wasi},
		"extism tools": {kernel, user, wasi}, "extism codec": {kernel, wasi},
	}
	each(t, func(t *testing.T, g guest) {
		for half, load := range map[string]func() (loaded, error){"tools": g.tools, "codec": g.codec} {
			l, err := load()
			if err != nil {
				t.Fatal(err)
			}
			modules := map[string]bool{}
			for _, one := range l.report.Imports {
				modules[one.Module] = true
			}
			if diff := cmp.Diff(want[g.set+" "+half], slices.Sorted(maps.Keys(modules))); diff != "" {
				t.Errorf("the modules that %s imports from: %s", half, diff)
			}
		}
	})
}
