package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/extism"
	"github.com/plinthhost/plinth/host/wasm"
)

// A guest is what one language makes of guests/README.md, for one import set: two
// modules, since what is pure may not import host operations.
type guest struct {
	name    string // the import set and the language
	set     string // core or extism
	sdk     bool   // extism/go-sdk runs it, in place of the engine
	tools   func() (loaded, error)
	restart func(config string) (loaded, error) // the tools with other settings
	codec   func() (loaded, error)
}

// loaded is a module that runs.
type loaded struct {
	module module
	report wasm.Info
}

type module interface {
	bridge.Module
	Close() error
}

// loader brings a module to life.
type loader func(spec wasm.Spec) (module, error)

// bySDK ends the names of guests that extism/go-sdk runs.
const bySDK = "-by-sdk"

// oracle runs modules with Extism's own SDK, and closes them.
type oracle struct {
	mu     sync.Mutex
	opened []*extism.Module
}

func (o *oracle) load(spec wasm.Spec) (module, error) {
	spec.Limits.Start = patience
	opened, err := extism.Load(contextOfTests, extism.Options{Contract: bridge.Contract(), Refuse: bridge.Refuse}, spec)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.opened = append(o.opened, opened)
	return patient{opened}, nil
}

// patience is what calls by the SDK get where the host's deadlines are of running time:
// the SDK counts the time of the wall, and a busy machine must fail no case.
const patience = 20 * time.Second

type patient struct{ *extism.Module }

func (p patient) Call(ctx context.Context, request wasm.Request) (wasm.Result, error) {
	if request.Lane == wasm.LaneQuick {
		request.Deadline = patience
	}
	return p.Module.Call(ctx, request)
}

func (o *oracle) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var failed []error
	for _, one := range o.opened {
		failed = append(failed, one.Close())
	}
	return errors.Join(failed...)
}

// source gives the two modules of a guest.
type source struct{ tools, codec func() ([]byte, error) }

func newSource(read func(half string) ([]byte, error)) source {
	return source{
		tools: sync.OnceValues(func() ([]byte, error) { return read("tools") }),
		codec: sync.OnceValues(func() ([]byte, error) { return read("codec") }),
	}
}

// all finds the committed guests, guests/dist/SET-LANGUAGE-tools.wasm and -codec.wasm,
// and adds those of the Go toolchain, which are built where the tests are. What is for
// Extism's set is run by the engine and by Extism's own SDK.
func all(folder string) ([]guest, error) {
	files, err := filepath.Glob("guests/dist/*-tools.wasm")
	if err != nil {
		return nil, err
	}
	sources := map[string]source{}
	for _, file := range files {
		base := strings.TrimSuffix(file, "tools.wasm")
		name := strings.TrimSuffix(filepath.Base(base), "-")
		sources[name] = newSource(func(half string) ([]byte, error) { return os.ReadFile(base + half + ".wasm") })
	}
	for _, set := range []string{"core", "extism"} {
		sources[set+"-go"] = newSource(func(half string) ([]byte, error) { return buildGo(folder, set, half) })
	}
	var found []guest
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		one := newGuest(name, sources[name], func(spec wasm.Spec) (module, error) { return engine.Load(contextOfTests, spec) })
		found = append(found, one)
		if one.set == "extism" && sdkRuns(name) {
			again := newGuest(name, sources[name], sdk.load)
			again.name, again.sdk = name+bySDK, true
			found = append(found, again)
		}
	}
	return found, nil
}

func newGuest(name string, modules source, load loader) guest {
	restart := func(config string) (loaded, error) {
		return start(load, modules.tools, config, false, abi.ExportTool, abi.ExportContext)
	}
	set, _, _ := strings.Cut(name, "-")
	return guest{
		name: name, set: set, restart: restart,
		tools: sync.OnceValues(func() (loaded, error) { return restart(`{"greeting":"` + greeting + `"}`) }),
		codec: sync.OnceValues(func() (loaded, error) {
			return start(load, modules.codec, "", true, abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify, abi.ExportTransform)
		}),
	}
}

// start brings a module to life. In the engine one instance serves all calls, so that
// each but the first begins with a restored one.
func start(load loader, read func() ([]byte, error), config string, pure bool, entries ...string) (loaded, error) {
	built, err := read()
	if err != nil {
		return loaded{}, err
	}
	spec := wasm.Spec{Name: id, Wasm: built, Entries: entries, Pure: pure, CheckInit: bridge.CheckInit, Limits: wasm.Limits{Instances: 1}}
	if spec.Init, err = bridge.Init(id, json.RawMessage(config)); err != nil {
		return loaded{}, err
	}
	module, err := load(spec)
	if err != nil {
		return loaded{}, err
	}
	info, err := wasm.Inspect(built)
	return loaded{module, info}, err
}
