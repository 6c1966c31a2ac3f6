package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// bomb is a module that wants more than it may have, when it is loaded or when
// its entry "run" is called.
type bomb struct {
	name   string
	module func(m *w.Module) string // adds what it needs and answers the code of run
}

func (b bomb) bytes() []byte {
	m := new(w.Module).Core()
	code := b.module(m)
	m.Entry("run", code, w.Const64(0))
	return m.Bytes()
}

// explosion is what a bomb did.
type explosion struct {
	took  float64 // milliseconds until it was refused or ended
	grew  float64 // MiB of this process, at most
	child float64 // MiB of the compiler's process, at most
	end   error   // nil when it did no harm
}

// measureBombs loads and runs every bomb in an engine that compiles in children,
// as the program does. Those within the limits of a module's form, at their edge,
// are for information and explode once.
func measureBombs(ctx context.Context, b *bench) error {
	for _, kind := range []struct {
		name   string
		bombs  []bomb
		rounds int
	}{{"bomb", bombs(), rounds}, {"bomb_edge", edges(), 1}} {
		var longest, largest float64
		for _, bomb := range kind.bombs {
			var took, grew []float64
			var last explosion
			for round := range kind.rounds {
				var err error
				folder := filepath.Join(b.folder, "bombs", strings.ReplaceAll(bomb.name, " ", "-"), fmt.Sprint(round))
				if last, err = bomb.explode(ctx, folder); err != nil {
					return fmt.Errorf("%s: %w", bomb.name, err)
				}
				took, grew = append(took, last.took), append(grew, last.grew)
			}
			note("%s: %.0f ms, %.1f MiB, compiler %.0f MiB, %.120v", bomb.name, median(took), median(grew), last.child, last.end)
			longest, largest = max(longest, median(took)), max(largest, median(grew))
		}
		figure("engine."+kind.name+"_ms_max", longest, "ms")
		figure("engine."+kind.name+"_growth_mib_max", largest, "MiB")
	}
	return nil
}

func (b bomb) explode(ctx context.Context, cache string) (e explosion, err error) {
	var children []*exec.Cmd
	options := engineOptions(writtenContract())
	options.CacheDir = cache
	options.Compiler = func(ctx context.Context) *exec.Cmd {
		children = append(children, compiler(ctx))
		return children[len(children)-1]
	}
	engine, err := wasm.New(options)
	if err != nil {
		return e, err
	}
	module := b.bytes()
	tidyUp()
	before, _, err := resident()
	if err = errors.Join(err, forgetPeak()); err != nil {
		return e, errors.Join(err, engine.Close())
	}
	began := time.Now()
	e.end = ignite(ctx, engine, module)
	e.took = milliseconds(time.Since(began))
	_, most, err := resident()
	e.grew = float64(most-before) / mebibyte
	for _, c := range children {
		if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			e.child = max(e.child, float64(usage.Maxrss)/1024)
		}
	}
	return e, errors.Join(err, engine.Close())
}

// ignite loads the module and calls it; the error is how that ends.
func ignite(ctx context.Context, engine *wasm.Engine, module []byte) error {
	loaded, err := engine.Load(ctx, wasm.Spec{Name: "bomb", Wasm: module, Entries: []string{"run"}})
	if err != nil {
		return err
	}
	_, err = loaded.Call(ctx, wasm.Request{Entry: "run"})
	return errors.Join(err, loaded.Close())
}
