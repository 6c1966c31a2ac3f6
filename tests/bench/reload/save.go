package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/abi/pack"
	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// The guests are of the same sources: TinyGo's is in the repository, Go's is built.
const (
	tinyGoGuest = "tests/conformance/guests/dist/core-tinygo-tools.wasm"
	goGuests    = "tests/conformance/guests/go"
)

const (
	// saves are of one round, after one that nothing was known before.
	saves = 5
	echo  = "echo"
)

// measureSave saves plugins into a watched folder: the time from the last write of the
// file to the answer of the first call that the new version served. As in the host, a
// child compiles them.
func measureSave(ctx context.Context, dir string) error {
	tiny, err := os.ReadFile(tinyGoGuest)
	if err != nil {
		return fmt.Errorf("%w; run it in the repository", err)
	}
	large, err := buildGo(ctx, dir)
	if err != nil {
		return err
	}
	for _, guest := range []struct {
		name   string
		module []byte
	}{{"reload.save_to_active_ms_p50", tiny}, {"reload.save_to_active_go_ms_p50", large}} {
		took, err := saveRounds(ctx, filepath.Join(dir, guest.name), guest.module)
		if err != nil {
			return err
		}
		bare, err := loadRounds(ctx, filepath.Join(dir, guest.name, "engine"), guest.module)
		if err != nil {
			return err
		}
		measure.Note("%s: a module of %d bytes", guest.name, len(guest.module))
		figure(guest.name, took, "ms")
		figure(strings.Replace(guest.name, "save_to_active", "machine_load", 1), bare, "ms")
	}
	return nil
}

func saveRounds(ctx context.Context, dir string, module []byte) (median5 float64, err error) {
	folder := filepath.Join(dir, "plugins")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return 0, err
	}
	engine := engineOptions(filepath.Join(dir, "cache"))
	engine.Compiler = compiler
	k, err := openKernel(ctx, dir, engine, folder)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	n := 0
	save := func() (float64, error) {
		n++
		packed, err := fresh(module, n)
		if err != nil {
			return 0, err
		}
		before := k.current()
		began := time.Now()
		if err := os.WriteFile(filepath.Join(folder, "guest.wasm"), packed, 0o600); err != nil {
			return 0, err
		}
		err = k.called(ctx, before)
		return measure.Milliseconds(time.Since(began)), err
	}
	if _, err := save(); err != nil {
		return 0, err
	}
	return measure.OverRounds(func(int) (float64, error) {
		took := make([]float64, saves)
		for i := range took {
			if took[i], err = save(); err != nil {
				return 0, err
			}
		}
		return measure.Median(took), nil
	})
}

// loadRounds is what the engine alone needs for such a module, in milliseconds.
func loadRounds(ctx context.Context, dir string, module []byte) (median5 float64, err error) {
	engine, err := plugin.NewEngine(plugin.EngineOptions{CacheDir: dir, Compiler: compiler}, quiet())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	spec := wasm.Spec{Name: "bench/saved", Entries: []string{abi.ExportTool}, CheckInit: bridge.CheckInit}
	if spec.Init, err = bridge.Init(spec.Name, nil); err != nil {
		return 0, err
	}
	return measure.OverRounds(func(round int) (float64, error) {
		if spec.Wasm, err = fresh(module, round); err != nil {
			return 0, err
		}
		began := time.Now()
		loaded, err := engine.Load(ctx, spec)
		if err != nil {
			return 0, err
		}
		took := time.Since(began)
		return measure.Milliseconds(took), loaded.Close()
	})
}

// fresh is the guest as a plugin whose bytes nobody has seen yet.
func fresh(module []byte, n int) ([]byte, error) {
	const name = "bench"
	section := append([]byte{byte(len(name))}, name...)
	section = binary.LittleEndian.AppendUint64(section, uint64(time.Now().UnixNano()))
	return pack.WithManifest(append(slices.Clip(module), wasmtest.Section(0, section)...), fmt.Appendf(nil, `schema = 1
id = "bench/saved"
version = "1.0.%d"
description = "Is saved again and again"
[[tool]]
name = %q
description = "Answers its input"
input = '{"type":"object"}'
permission = "by-operation"
`, n, echo))
}

// current is the revision whose tool a turn would be offered; empty for none.
func (k *kernel) current() string {
	pin := k.registries.Pin("")
	defer pin.Release()
	entry, _ := registry.Lookup(pin, k.kinds.Tools, echo)
	return entry.Revision
}

// called waits until another revision than before has answered a call.
func (k *kernel) called(ctx context.Context, before string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(time.Millisecond / 2)
	defer tick.Stop()
	for {
		if now := k.current(); now != before && now != "" {
			served, err := k.call(ctx)
			if err == nil && served == before {
				err = fmt.Errorf("the revision %s has answered, which was replaced", served)
			}
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("no new version served within %s: %+v, %+v", patience, k.plugins.List(), k.plugins.Refusals())
		}
	}
}

// call calls the tool as a turn does, and answers the revision that served it.
func (k *kernel) call(ctx context.Context) (revision string, err error) {
	pin := k.registries.Pin("")
	defer pin.Release()
	entry, ok := registry.Lookup(pin, k.kinds.Tools, echo)
	if !ok {
		return "", errors.New("there is no tool " + echo)
	}
	output, err := entry.Value.Execute(ctx, session.ToolCall{ID: "call", Message: "message", Name: echo, Session: "ses_bench", Agent: session.DefaultAgent,
		Location: session.Location{Directory: "/project", Root: "/project"}, Input: []byte(`{"a":1}`), Host: struct{ session.ToolHost }{}})
	if err == nil && !strings.Contains(string(output.Structured), `"`+entry.Revision+`"`) {
		err = fmt.Errorf("the answer is not of revision %s: %.300s", entry.Revision, output.Structured)
	}
	return entry.Revision, err
}

// buildGo builds the guest with the Go toolchain.
func buildGo(ctx context.Context, dir string) ([]byte, error) {
	file := filepath.Join(dir, "go.wasm")
	build := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file, "./tools")
	build.Dir = goGuests
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the Go guest: %w\n%s", err, out)
	}
	return os.ReadFile(file)
}
