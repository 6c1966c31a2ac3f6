package main

import (
	"bytes"
	"context"
	"errors"

	"github.com/plinthhost/plinth/host/wasm"
)

const mebibyte = 1 << 20

// measureCalls compares calls through pool, lease, deadline and accounting with
// what is left of them on bare wazero.
func measureCalls(ctx context.Context, _ *bench) (err error) {
	engine, err := wasm.New(engineOptions(writtenContract()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	module, err := engine.Load(ctx, smallSpec(wasm.Sticky))
	if err != nil {
		return err
	}
	raw, err := plainConfig(writtenContract()).start(ctx, small())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.close()) }()

	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	var whole []float64
	over, err := overRounds(func() (float64, error) {
		t, err := inTurns(31, times(5000, raw.caller("noop", nil)), times(5000, caller(cancellable, module, "noop", nil)))
		whole = append(whole, t[1]/1e3)
		return (t[1] - t[0]) / 1e3, err
	})
	if err != nil {
		return err
	}
	figure("engine.call_us", median(whole), "us")
	figure("engine.call_over_raw_us", over, "us")

	input := bytes.Repeat([]byte("plinth.."), mebibyte/8)
	ratio, err := overRounds(func() (float64, error) {
		t, err := inTurns(40, times(1, raw.caller("echo", input)), times(1, caller(cancellable, module, "echo", input)))
		note("echo of 1 MiB: raw %.0f us, engine %.0f us", t[0]/1e3, t[1]/1e3)
		return t[1] / t[0], err
	})
	if err != nil {
		return err
	}
	figure("engine.echo_1mib_over_raw", ratio, "ratio")
	return nil
}
