// Command codec measures the committed codecs of the providers in the engine that runs
// them: encoding a request of a long session, and decoding an answer that comes piece by
// piece. It prints lines "figure NAME VALUE UNIT"; without a codec's name a figure is the
// slowest codec's.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/plugins/builtin"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench-codec:", err)
		os.Exit(1)
	}
}

func figure(name string, value float64, unit string) {
	fmt.Printf("figure builtins.%s %.2f %s\n", name, value, unit)
}

func run(ctx context.Context) (err error) {
	cache, err := os.MkdirTemp("", "plinth-codec-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	engine, err := plugin.NewEngine(plugin.EngineOptions{CacheDir: cache}, hclog.NewNullLogger())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	plain, err := measure.OverRounds(func(int) (float64, error) { return plainJSON() })
	if err != nil {
		return err
	}
	fmt.Printf("figure machine.json_1mb_ms %.2f ms\n", plain)
	var slowest struct{ encode, decode, batch float64 }
	for _, c := range codecs() {
		loaded, err := load(ctx, engine, c)
		if err != nil {
			return err
		}
		encode, err := measure.OverRounds(func(int) (float64, error) { return loaded.encode(ctx) })
		if err != nil {
			return fmt.Errorf("%s: encode: %w", c.plugin, err)
		}
		decode, err := measure.OverRounds(func(int) (float64, error) { return loaded.decode(ctx, 1) })
		if err != nil {
			return fmt.Errorf("%s: decode: %w", c.plugin, err)
		}
		batch, err := measure.OverRounds(func(int) (float64, error) { return loaded.decode(ctx, together) })
		if err != nil {
			return fmt.Errorf("%s: decode: %w", c.plugin, err)
		}
		name := strings.ReplaceAll(c.provider, "-", "_")
		figure("encode_1mb_ms_"+name, encode, "ms")
		figure("decode_us_per_delta_"+name, decode, "us")
		figure("decode_batch_us_per_delta_"+name, batch, "us")
		slowest.encode, slowest.decode, slowest.batch = max(slowest.encode, encode), max(slowest.decode, decode), max(slowest.batch, batch)
	}
	figure("encode_1mb_ms", slowest.encode, "ms")
	figure("decode_us_per_delta", slowest.decode, "us")
	figure("decode_batch_us_per_delta", slowest.batch, "us")
	return nil
}

// loaded is a codec that can be called.
type loaded struct {
	codec
	caller   bridge.Caller
	provider *bridge.Provider
}

// load loads a committed codec as the host does.
func load(ctx context.Context, engine *wasm.Engine, c codec) (*loaded, error) {
	for _, one := range builtin.All() {
		if one.ID != c.plugin {
			continue
		}
		init, err := bridge.Init(one.ID, nil)
		if err != nil {
			return nil, err
		}
		module, err := engine.Load(ctx, wasm.Spec{Name: one.ID, Wasm: one.Wasm, Init: init, CheckInit: bridge.CheckInit, Pure: true, Builtin: true,
			Entries: []string{abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify}, Limits: wasm.Limits{MemoryMiB: 128}})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.plugin, err)
		}
		caller := bridge.NewCaller(module)
		serving := &bridge.Plugin{ID: one.ID, Revision: "bench", Builtin: true, Caller: caller, Log: func(_, line string) { measure.Note("%s", line) }}
		return &loaded{codec: c, caller: caller, provider: bridge.NewProvider(serving, c.provider, c.framing, nil, nil)}, nil
	}
	return nil, fmt.Errorf("there is no builtin %s", c.plugin)
}
