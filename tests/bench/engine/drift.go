package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
)

const (
	fewLoads  = 10
	manyLoads = 1000
)

// measureDrift loads and unloads one module a thousand times, in a process of its
// own whose memory is not that of other figures.
func measureDrift(ctx context.Context, b *bench) error {
	var memory, files, goroutines []float64
	for round := range rounds {
		child := exec.CommandContext(ctx, os.Args[0], asDrift, filepath.Join(b.folder, fmt.Sprint("drift", round)))
		child.Stderr = os.Stderr
		out, err := child.Output()
		if err != nil {
			return err
		}
		var percent, open, left float64
		if _, err := fmt.Sscan(strings.TrimSpace(string(out)), &percent, &open, &left); err != nil {
			return fmt.Errorf("the child said %q: %w", out, err)
		}
		memory, files, goroutines = append(memory, percent), append(files, open), append(goroutines, left)
	}
	figure("engine.load_drift_pct", median(memory), "percent")
	figure("engine.load_drift_descriptors", median(files), "descriptors")
	figure("engine.load_drift_goroutines", median(goroutines), "goroutines")
	return nil
}

// driftChild prints by how many percent memory, and by how much open files and
// goroutines, are more at the end.
func driftChild(args []string) (err error) {
	files, err := descriptors()
	if err != nil {
		return err
	}
	goroutines := runtime.NumGoroutine()
	few, many, err := loads(args[len(args)-1])
	if err != nil {
		return err
	}
	left, err := descriptors()
	fmt.Println(100*float64(many-few)/float64(few), left-files, runtime.NumGoroutine()-goroutines)
	return err
}

// loads answers the memory after few and after many loads.
func loads(cache string) (few, many int64, err error) {
	options := engineOptions(writtenContract())
	options.CacheDir, options.Compiler = cache, compiler
	engine, err := wasm.New(options)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	spec := smallSpec(wasm.Restore)
	spec.Builtin = false
	began := time.Now()
	for n := 1; n <= manyLoads; n++ {
		if err := loadOnce(engine, spec); err != nil {
			return 0, 0, err
		}
		if n != fewLoads && n != manyLoads {
			continue
		}
		tidyUp()
		now, _, err := resident()
		if err != nil {
			return 0, 0, err
		}
		if n == fewLoads {
			few = now
		}
		many = now
	}
	note("%d loads in %s: %d KiB, after %d %d KiB", manyLoads, time.Since(began).Round(time.Millisecond), many>>10, fewLoads, few>>10)
	return few, many, nil
}

func loadOnce(engine *wasm.Engine, spec wasm.Spec) error {
	ctx := context.Background()
	module, err := engine.Load(ctx, spec)
	if err != nil {
		return err
	}
	return errors.Join(caller(ctx, module, "echo", []byte("here"))(), module.Close())
}
