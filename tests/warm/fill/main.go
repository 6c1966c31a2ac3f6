// Command fill compiles the builtin plugins into a folder, for the tests of one run.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/plugins/builtin"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: fill FOLDER")
		os.Exit(2)
	}
	if err := fill(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
}

func fill(ctx context.Context, folder string) error {
	engine, err := plugin.NewEngine(plugin.EngineOptions{CacheDir: folder}, hclog.NewNullLogger())
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for _, b := range builtin.All() {
		group.Go(func() error { return compile(ctx, engine, b) })
	}
	return errors.Join(group.Wait(), engine.Close())
}

func compile(ctx context.Context, engine *wasm.Engine, b builtin.Plugin) error {
	candidate, err := plugin.Packed("builtin "+b.ID, b.Wasm, true)
	if err != nil {
		return fmt.Errorf("%s: %w", b.ID, err)
	}
	module, err := engine.Load(ctx, wasm.Spec{Name: b.ID, Wasm: candidate.Wasm, Builtin: true})
	if err != nil {
		return fmt.Errorf("%s: %w", b.ID, err)
	}
	return module.Close()
}
