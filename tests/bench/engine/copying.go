package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/plinthhost/plinth/host/wasm/binary"
	"github.com/plinthhost/plinth/host/wasm/memory"
	"github.com/plinthhost/plinth/host/wasm/meter"
)

const mostMemory = 64 << 20

// restoreOverCopy compares two ways to put a guest back after a call, on the same
// metered module: restore what the call wrote, in memory of the engine's, and copy
// the whole image, in memory of wazero's own. Both include the call, which finds
// the memory as its predecessor left it in the caches.
func restoreOverCopy(ctx context.Context, g guest, message []byte) (err error) {
	module, err := binary.Decode(g.wasm, binary.DefaultLimits())
	if err != nil {
		return err
	}
	metered, report, err := meter.Rewrite(module, meter.Options{})
	if err != nil {
		return err
	}
	config := plainConfig(builtContract())
	config.metered, config.config = true, config.config.WithMemoryLimitPages(mostMemory/memory.PageBytes+1)

	pool := memory.NewPool(memory.NewBudget(1 << 30))
	defer func() { err = errors.Join(err, pool.Close()) }()
	declared, _ := module.Memory()
	linear, err := pool.New(int64(declared.Min)*memory.PageBytes, mostMemory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, linear.Close()) }()
	restored, err := config.start(linear.Context(ctx), metered)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(restored.close(), err) }()
	copied, err := config.start(ctx, metered)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.close()) }()

	image, err := linear.Snapshot(restored.module.Memory())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, image.Close()) }()
	byRestore := isolatedCall(restored, report.Globals, message, func() error { return linear.Restore(restored.module.Memory(), image) })
	byCopy := isolatedCall(copied, report.Globals, message, wholeCopy(copied))

	ratio, err := overRounds(func() (float64, error) {
		t, err := inTurns(9, times(100, byRestore), times(100, byCopy))
		note("call and restore by %s: %.1f us, with a copy of the whole image %.1f us", g.toolchain, t[0]/1e3, t[1]/1e3)
		return t[0] / t[1], err
	})
	if err != nil {
		return err
	}
	figure("engine.restore_over_fullcopy_"+g.toolchain, ratio, "ratio")
	return nil
}

// wholeCopy puts memory back by copying all of it, and finds that the guest did
// not grow.
func wholeCopy(g *bare) func() error {
	guest := g.module.Memory()
	view, _ := guest.Read(0, guest.Size())
	saved := bytes.Clone(view)
	return func() error {
		view, ok := guest.Read(0, guest.Size())
		if !ok || len(view) != len(saved) {
			return fmt.Errorf("the guest grew from %d to %d bytes", len(saved), guest.Size())
		}
		copy(view, saved)
		return nil
	}
}

// isolatedCall is a call of echo, after which back puts the memory back, and the
// mutable globals are set to what they are now.
func isolatedCall(g *bare, names []meter.Global, message []byte, back func() error) func() error {
	var globals []api.MutableGlobal
	var values []uint64
	for _, named := range names {
		global := g.module.ExportedGlobal(named.Name).(api.MutableGlobal)
		globals, values = append(globals, global), append(values, global.Get())
	}
	g.free = nil // putting back gives the room back
	call := g.caller("echo", message)
	return func() error {
		if err := call(); err != nil {
			return err
		}
		for i, global := range globals {
			global.Set(values[i])
		}
		return back()
	}
}
