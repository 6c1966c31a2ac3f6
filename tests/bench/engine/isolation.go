package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/plinthhost/plinth/host/wasm"
)

// measureIsolation compares the ways to keep calls apart, each with a message of
// 100 bytes that the guest answers as it is.
func measureIsolation(ctx context.Context, b *bench) error {
	if err := b.buildGuests(); err != nil {
		return err
	}
	for _, g := range b.guests {
		if err := isolation(ctx, b, g); err != nil {
			return err
		}
	}
	b.lacks("engine.fresh_over_restore_tinygo", "engine.restore_over_fullcopy_tinygo", "engine.restore_call_us_tinygo")
	return nil
}

func isolation(ctx context.Context, b *bench, g guest) (err error) {
	options := engineOptions(builtContract())
	options.CacheDir = filepath.Join(b.folder, "cache")
	engine, err := wasm.New(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	message := []byte(strings.Repeat("0123456789", 10))
	isolated := func(isolation wasm.Isolation) (func() error, error) {
		module, err := engine.Load(ctx, g.spec(isolation))
		if err != nil {
			return nil, err
		}
		report := module.Report()
		if report.Isolation != isolation {
			return nil, errors.New(report.Why)
		}
		note("%s, %s: image of %d KiB", g.toolchain, isolation, report.ImageBytes>>10)
		return caller(ctx, module, "echo", message), nil
	}
	restore, err := isolated(wasm.Restore)
	if err != nil {
		return err
	}
	fresh, err := isolated(wasm.Fresh)
	if err != nil {
		return err
	}
	var restores, ratios []float64
	for range rounds {
		t, err := inTurns(5, times(100, restore), times(5, fresh))
		if err != nil {
			return err
		}
		note("isolated call by %s: restore %.1f us, fresh %.1f us", g.toolchain, t[0]/1e3, t[1]/1e3)
		restores, ratios = append(restores, t[0]/1e3), append(ratios, t[1]/t[0])
	}
	figure("engine.restore_call_us_"+g.toolchain, median(restores), "us")
	figure("engine.fresh_over_restore_"+g.toolchain, median(ratios), "ratio")
	return restoreOverCopy(ctx, g, message)
}
