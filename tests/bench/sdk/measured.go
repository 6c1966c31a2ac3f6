package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/hashicorp/go-hclog"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// result is what was measured of a tool, medians of all rounds.
type result struct {
	size    float64 // KB of 1,000 bytes
	compile float64 // ms: reading, metering and compiling the module
	start   float64 // ms: its first instance, with plinth_init
	call    float64 // µs, with its memory put back
}

// calls is how many are made in a round.
const calls = 500

// measureAll measures the tools side by side: each round all of them, one after the other.
func measureAll(ctx context.Context, cache string, tools []*tool) ([]result, error) {
	samples := make([]struct{ compile, start, call []float64 }, len(tools))
	for round := range measure.Rounds {
		for i, t := range tools {
			r, err := t.round(ctx, filepath.Join(cache, fmt.Sprint(round), t.language))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.language, err)
			}
			samples[i].compile, samples[i].start, samples[i].call = append(samples[i].compile, r.compile), append(samples[i].start, r.start), append(samples[i].call, r.call)
		}
	}
	results := make([]result, len(tools))
	for i, t := range tools {
		results[i] = result{size: float64(t.size) / 1000, compile: measure.Median(samples[i].compile),
			start: measure.Median(samples[i].start), call: measure.Median(samples[i].call)}
	}
	return results, nil
}

// round loads the tool into an engine that has compiled nothing, and calls it.
func (t *tool) round(ctx context.Context, cache string) (r result, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	engine, err := plugin.NewEngine(plugin.EngineOptions{CacheDir: cache}, hclog.NewNullLogger())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	id := t.plugin.Manifest.ID
	init, err := bridge.Init(id, nil)
	if err != nil {
		return r, err
	}
	module, err := engine.Load(ctx, wasm.Spec{Name: id, Wasm: t.plugin.Wasm, Entries: []string{abi.ExportTool}, Init: init, CheckInit: bridge.CheckInit})
	if err != nil {
		return r, err
	}
	report := module.Report()
	r.compile, r.start = measure.Milliseconds(report.Parse+report.Meter+report.Compile), measure.Milliseconds(report.Start)
	message, err := json.Marshal(abi.Call[json.RawMessage]{DeadlineMS: 10_000, Meta: abi.Meta{Plugin: id}, Body: t.golden.Body})
	if err != nil {
		return r, err
	}
	request := wasm.Request{Entry: abi.ExportTool, Input: abi.EncodeMessage(message, nil), Session: "bench"}
	for range calls / 10 { // until it is warm
		if err := t.call(ctx, module, request); err != nil {
			return r, err
		}
	}
	began := measure.ProcessorTime() // other work of the machine does not count
	for range calls {
		if err := t.call(ctx, module, request); err != nil {
			return r, err
		}
	}
	r.call = measure.Milliseconds(measure.ProcessorTime()-began) * 1000 / calls
	return r, nil
}

// call makes the golden's call; its operations are answered as recorded.
func (t *tool) call(ctx context.Context, module *wasm.Module, request wasm.Request) error {
	answers := recorded(t.golden.Operations)
	request.Operations = &answers
	result, err := module.Call(ctx, request)
	if err != nil {
		return err
	}
	if len(answers) > 0 {
		return fmt.Errorf("the call leaves %d operations that were recorded", len(answers))
	}
	if body, _, err := abi.DecodeMessage(result.Output); err != nil || !bytes.HasPrefix(body, []byte(`{"ok"`)) {
		return fmt.Errorf("the tool answers %.200s: %w", body, err)
	}
	return nil
}

// recorded answers the operations of a golden, one after the other.
type recorded []plugin.GoldenOperation

// Call answers the next.
func (r *recorded) Call(_ context.Context, operation string, _ []byte) []byte {
	if len(*r) == 0 || (*r)[0].Name != operation {
		return abi.EncodeMessage([]byte(`{"error":{"kind":"failed","message":"it is not recorded"}}`), nil)
	}
	answer := (*r)[0].Answer
	*r = (*r)[1:]
	return answer
}
