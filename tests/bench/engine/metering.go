package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/binary"
)

// documents is how many documents a side handles in a round.
const documents = 7

// measureMetering compares guests that are metered with the same guests on wazero
// that nothing can stop, and with those that wazero itself can stop.
func measureMetering(ctx context.Context, b *bench) error {
	if err := b.buildGuests(); err != nil {
		return err
	}
	for _, g := range b.guests {
		module, err := binary.Decode(g.wasm, binary.DefaultLimits())
		if err != nil {
			return err
		}
		var ratios []float64
		for layout := range layouts {
			ratio, err := meteredOverPlain(ctx, b, g, module, layout)
			if err != nil {
				return fmt.Errorf("%s in layout %d: %w", g.toolchain, layout, err)
			}
			ratios = append(ratios, ratio)
		}
		note("metered over plain, %s, by layout: %.3f", g.toolchain, ratios)
		figure("engine.metered_over_plain_"+g.toolchain, geometricMean(ratios), "ratio")
	}
	b.lacks("engine.metered_over_plain_tinygo")
	return nil
}

// meteredOverPlain compares in one layout; in the first one the other ways to run
// the guest take part.
func meteredOverPlain(ctx context.Context, b *bench, g guest, module *binary.Module, layout int) (ratio float64, err error) {
	plain, metered, err := pair(module, layout)
	if err != nil {
		return 0, err
	}
	var guests []*bare
	defer func() {
		for _, guest := range guests {
			err = errors.Join(err, guest.close())
		}
	}()
	var sides []side
	add := func(config bareConfig, ctx context.Context, wasm []byte) error {
		started, err := config.start(ctx, wasm)
		if err != nil {
			return err
		}
		guests = append(guests, started)
		sides = append(sides, times(1, started.caller("document", document())))
		return nil
	}
	unstoppable, meters, closes := plainConfig(builtContract()), plainConfig(builtContract()), plainConfig(builtContract())
	meters.metered = true
	closes.config = closes.config.WithCloseOnContextDone(true)
	if err := errors.Join(add(unstoppable, ctx, plain), add(meters, ctx, metered)); err != nil {
		return 0, err
	}
	if layout > 0 {
		return overRounds(func() (float64, error) {
			t, err := inTurns(documents, sides...)
			return t[1] / t[0], err
		})
	}
	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := add(closes, cancellable, plain); err != nil {
		return 0, err
	}
	engine, err := wasm.New(engineOptions(builtContract()))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	loaded, err := engine.Load(ctx, g.spec(wasm.Sticky))
	if err != nil {
		return 0, err
	}
	sides = append(sides, times(1, caller(cancellable, loaded, "document", document())))
	return firstLayout(g, sides)
}

// firstLayout compares plain, metered, closed on the context's end, and in the
// engine with all that is around a call there.
func firstLayout(g guest, sides []side) (float64, error) {
	var closed, whole []float64
	ratio, err := overRounds(func() (float64, error) {
		t, err := inTurns(documents, sides...)
		if err != nil {
			return 0, err
		}
		note("document by %s: plain %.2f ms, metered %.2f, closed on context %.2f, in the engine %.2f",
			g.toolchain, t[0]/1e6, t[1]/1e6, t[2]/1e6, t[3]/1e6)
		closed, whole = append(closed, t[2]/t[1]), append(whole, t[3]/t[0])
		return t[1] / t[0], nil
	})
	if err != nil {
		return 0, err
	}
	figure("engine.closeonctx_over_metered_"+g.toolchain, median(closed), "ratio")
	figure("engine.document_over_plain_"+g.toolchain, median(whole), "ratio")
	return ratio, nil
}
