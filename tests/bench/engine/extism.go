package main

import (
	"bytes"
	"context"
	"errors"
	"time"

	extism "github.com/extism/go-sdk"

	"github.com/plinthhost/plinth/host/wasm"
	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// measureExtism compares a call through extism/go-sdk as it ships, with a timeout
// as every call of the engine has one, with the same call through the engine.
func measureExtism(ctx context.Context, _ *bench) (err error) {
	extism.SetLogLevel(extism.LogLevelOff)
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: extismGuest()}}, Timeout: uint64(10 * time.Second / time.Millisecond)}
	plugin, err := extism.NewPlugin(ctx, manifest, extism.PluginConfig{}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugin.CloseWithContext(ctx)) }()
	engine, err := wasm.New(engineOptions(writtenContract()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	module, err := engine.Load(ctx, smallSpec(wasm.Sticky))
	if err != nil {
		return err
	}
	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, compared := range []struct {
		figure, entry string
		input         []byte
		calls         int
	}{
		{"engine.gosdk_over_core_noop", "noop", nil, 500},
		{"engine.gosdk_over_core_1mib", "echo", bytes.Repeat([]byte("plinth.."), mebibyte/8), 1},
	} {
		foreign := func() error {
			_, answer, err := plugin.CallWithContext(cancellable, compared.entry, compared.input)
			if err == nil && !bytes.Equal(answer, compared.input) {
				err = errors.New("the Extism guest answers something else")
			}
			return err
		}
		ours := caller(cancellable, module, compared.entry, compared.input)
		ratio, err := overRounds(func() (float64, error) {
			t, err := inTurns(9, times(compared.calls, foreign), times(compared.calls, ours))
			note("%s: go-sdk %.1f us, engine %.1f us", compared.entry, t[0]/1e3, t[1]/1e3)
			return t[0] / t[1], err
		})
		if err != nil {
			return err
		}
		figure(compared.figure, ratio, "ratio")
	}
	return nil
}

// extismGuest does what guests of an Extism PDK do: it takes its input from the
// host eight bytes at a time, and hands its output over in the same way.
func extismGuest() []byte {
	const (
		host    = "extism:host/env"
		n, i, p = 0, 1, 2 // locals: the length, how far it is, where the output lies
		wrap    = "\xa7"
		load64  = "\x29\x03\x00"
		store64 = "\x37\x03\x00"
		add64   = "\x7c"
		less64  = "\x54"
	)
	m := new(w.Module)
	length := m.Import(host, "input_length", nil, w.Types(w.I64))
	load := m.Import(host, "input_load_u64", w.Types(w.I64), w.Types(w.I64))
	alloc := m.Import(host, "alloc", w.Types(w.I64), w.Types(w.I64))
	store := m.Import(host, "store_u64", w.Types(w.I64, w.I64), nil)
	output := m.Import(host, "output_set", w.Types(w.I64, w.I64), nil)
	m.Memory(17, 0)
	m.Func("noop", nil, w.Types(w.I32), nil, w.Const(0))
	next := w.Code(w.Get(i), w.Const64(8), add64, w.Set(i), w.Get(i), w.Get(n), less64, w.BrIf(0))
	m.Func("echo", nil, w.Types(w.I32), w.Types(w.I64, w.I64, w.I64),
		w.Call(length), w.Set(n), w.Get(n), w.Call(alloc), w.Set(p),
		w.Loop, w.Get(i), wrap, w.Get(i), w.Call(load), store64, next, w.End,
		w.Const64(0), w.Set(i),
		w.Loop, w.Get(p), w.Get(i), add64, w.Get(i), wrap, load64, w.Call(store), next, w.End,
		w.Get(p), w.Get(n), w.Call(output), w.Const(0))
	return m.Bytes()
}
