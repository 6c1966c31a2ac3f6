package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
)

const (
	firstLoads = 200 // of another module, until Go has what it will always need
	fewLoads   = 10
	manyLoads  = 1000
)

// drift is by how much a process has more after many loads than after few.
type drift struct {
	percent                 float64 // of memory
	descriptors, goroutines int     // since the engine was made
}

// measureDrift loads and unloads one module a thousand times, in a process of its
// own whose memory is not that of other figures.
func measureDrift(ctx context.Context, b *bench) error {
	var memory, descriptors, goroutines []float64
	for round := range rounds {
		child := exec.CommandContext(ctx, os.Args[0], asDrift, filepath.Join(b.folder, fmt.Sprint("drift", round)))
		child.Stderr = os.Stderr
		out, err := child.Output()
		if err != nil {
			return fmt.Errorf("measure in a child: %w", err)
		}
		var d drift
		if _, err := fmt.Sscan(string(out), &d.percent, &d.descriptors, &d.goroutines); err != nil {
			return fmt.Errorf("the child says %q: %w", out, err)
		}
		memory = append(memory, d.percent)
		descriptors, goroutines = append(descriptors, float64(d.descriptors)), append(goroutines, float64(d.goroutines))
	}
	figure("engine.load_drift_pct", median(memory), "percent")
	figure("engine.load_drift_descriptors", median(descriptors), "descriptors")
	figure("engine.load_drift_goroutines", median(goroutines), "goroutines")
	return nil
}

// driftChild prints the drift with the cache in a folder.
func driftChild(cache string) error {
	// What Go opens once for all children of a process.
	if err := exec.Command(os.Args[0], asCompiler).Run(); err == nil {
		return errors.New("a compiler without a job says that it did it")
	}
	open, err := descriptors()
	if err != nil {
		return err
	}
	goroutines := runtime.NumGoroutine()
	percent, err := loads(cache)
	if err != nil {
		return err
	}
	left, err := descriptors()
	fmt.Println(percent, left-open, runtime.NumGoroutine()-goroutines)
	return err
}

func loads(cache string) (percent float64, err error) {
	options := engineOptions(writtenContract())
	options.CacheDir, options.Compiler = cache, compiler
	engine, err := wasm.New(options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	other := wasm.Spec{Name: "other", Wasm: wasmtest.Guest().Bytes(), Entries: []string{"echo"}}
	if err := loadTimes(engine, other, firstLoads); err != nil {
		return 0, err
	}
	spec := smallSpec(wasm.Restore)
	spec.Builtin = false
	began := time.Now()
	few, err := loadsAndMemory(engine, spec, fewLoads)
	if err != nil {
		return 0, err
	}
	many, err := loadsAndMemory(engine, spec, manyLoads-fewLoads)
	note("%d loads in %s: %d KiB, after %d of them %d KiB", manyLoads, time.Since(began).Round(time.Millisecond), many>>10, fewLoads, few>>10)
	return 100 * float64(many-few) / float64(few), err
}

// loadsAndMemory answers the memory of the process after so many loads, in bytes.
func loadsAndMemory(engine *wasm.Engine, spec wasm.Spec, n int) (int64, error) {
	if err := loadTimes(engine, spec, n); err != nil {
		return 0, err
	}
	tidyUp()
	now, _, err := resident()
	return now, err
}

func loadTimes(engine *wasm.Engine, spec wasm.Spec, n int) error {
	ctx := context.Background()
	for range n {
		module, err := engine.Load(ctx, spec)
		if err != nil {
			return err
		}
		if err := errors.Join(caller(ctx, module, "echo", []byte("here"))(), module.Close()); err != nil {
			return err
		}
	}
	return nil
}
