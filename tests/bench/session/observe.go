package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/epoch"
	"github.com/plinthhost/plinth/session/schema"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

const (
	// sources is how many plugins observe at a boundary.
	sources = 20
	// observations are of one round.
	observations = 200
	// sourceGuest is a plugin with context sources, compiled by TinyGo.
	sourceGuest = "tests/conformance/guests/dist/core-tinygo-tools.wasm"
)

// measureObserve samples twenty plugins in Wasm, as a boundary does before every
// request. It runs in the repository, where the guest is.
func measureObserve(ctx context.Context, dir string) error {
	engine, err := wasm.New(wasm.Options{Contract: bridge.Contract(), Refuse: bridge.Refuse, CacheDir: filepath.Join(dir, "cache"),
		Logger: hclog.NewNullLogger()})
	if err != nil {
		return err
	}
	all, err := loadSources(engine)
	if err != nil {
		return errors.Join(err, engine.Close())
	}
	var medians []float64
	p99, err := measure.OverRounds(func(int) (float64, error) {
		took := make([]float64, observations)
		for i := range took {
			began := time.Now()
			if err := observeAll(ctx, all); err != nil {
				return 0, err
			}
			took[i] = measure.Milliseconds(time.Since(began))
		}
		medians = append(medians, measure.Median(took))
		return measure.Percentile(took, 99), nil
	})
	if err != nil {
		return errors.Join(err, engine.Close())
	}
	contextFigure("observe_ms_p50", measure.Median(medians), "ms")
	contextFigure("observe_ms_p99", p99, "ms")
	return engine.Close()
}

// loadSources makes the guest twenty plugins.
func loadSources(engine *wasm.Engine) ([]epoch.Source, error) {
	guest, err := os.ReadFile(sourceGuest)
	if err != nil {
		return nil, fmt.Errorf("%w; run it in the repository", err)
	}
	var all []epoch.Source
	for i := range sources {
		id := fmt.Sprintf("bench/source-%02d", i)
		spec := wasm.Spec{Name: id, Wasm: guest, Entries: []string{abi.ExportContext}, Builtin: true, CheckInit: bridge.CheckInit}
		if spec.Init, err = bridge.Init(id, json.RawMessage(`{}`)); err != nil {
			return nil, err
		}
		module, err := engine.Load(context.Background(), spec)
		if err != nil {
			return nil, err
		}
		plugin := &bridge.Plugin{ID: id, Caller: bridge.NewCaller(module), Log: func(string, string) {}}
		all = append(all, epoch.Source{Name: id, Source: bridge.NewContext(plugin, guestKeys(), session.SourceSpec{}, &bridge.Reach{Services: &bridge.Services{}})})
	}
	return all, nil
}

// guestKeys are what the guest answers for.
func guestKeys() []string {
	return []string{"conformance/guest/session", "conformance/guest/unavailable", "conformance/guest/absent"}
}

// observeAll samples every source once, and holds each to a value.
func observeAll(ctx context.Context, all []epoch.Source) error {
	sampler := epoch.Sampler{Timeout: 2 * time.Second, Schemas: &schema.Cache{}, Logger: hclog.NewNullLogger()}
	observed := sampler.Observe(ctx, all, session.Observation{Session: "ses_bench", Agent: session.DefaultAgent,
		Location: session.Location{Directory: "/project", Root: "/project"}, Now: time.Now()})
	values := 0
	for _, o := range observed {
		if o.State == session.SourceValue {
			values++
		}
	}
	if values != len(all) {
		return fmt.Errorf("%d of %d sources have a value", values, len(all))
	}
	return nil
}
