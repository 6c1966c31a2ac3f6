package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/plugins/builtin"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// workbench runs tools of one packed builtin as the host does, in a folder.
type workbench struct {
	engine *wasm.Engine
	plugin *bridge.Plugin
	reach  *bridge.Reach
	folder string
}

func newWorkbench(ctx context.Context, id, folder string, reach *bridge.Reach) (*workbench, error) {
	for _, one := range builtin.All() {
		if one.ID != id {
			continue
		}
		engine, err := wasm.New(wasm.Options{Contract: bridge.Contract(), Refuse: bridge.Refuse, Logger: hclog.NewNullLogger()})
		if err != nil {
			return nil, err
		}
		init, err := bridge.Init(id, nil)
		if err != nil {
			return nil, err
		}
		module, err := engine.Load(ctx, wasm.Spec{Name: id, Wasm: one.Wasm, Entries: []string{abi.ExportTool}, Builtin: true,
			Init: init, CheckInit: bridge.CheckInit, Limits: wasm.Limits{MemoryMiB: 32}})
		if err != nil {
			return nil, errors.Join(err, engine.Close())
		}
		return &workbench{engine: engine, reach: reach, folder: folder,
			plugin: &bridge.Plugin{ID: id, Builtin: true, Caller: bridge.NewCaller(module), Log: func(string, string) {}}}, nil
	}
	return nil, fmt.Errorf("there is no builtin %s", id)
}

// tool answers a function that calls a tool with an input, with the default rules.
func (w *workbench) tool(name, input string) (func(ctx context.Context) (session.ToolOutput, error), error) {
	tool, err := bridge.NewTool(w.plugin, session.ToolDefinition{Name: name, Input: []byte(`{"type":"object"}`)}, w.reach)
	if err != nil {
		return nil, err
	}
	call := session.ToolCall{ID: "call_1", Name: name, Input: []byte(input), Session: "ses_bench", Timeout: time.Minute,
		Host: deciding{session.DefaultRules("")}, Location: session.Location{Directory: w.folder, Root: w.folder}}
	return func(ctx context.Context) (session.ToolOutput, error) {
		output, err := tool.Execute(ctx, call)
		if err == nil && len(output.Content) != 1 {
			err = fmt.Errorf("%s answers %d contents", name, len(output.Content))
		}
		return output, err
	}, nil
}

// compare measures a tool that answers text against plain Go that answers as many lines.
func (w *workbench) compare(ctx context.Context, name string, calls int, input string, plain func() (string, error)) error {
	call, err := w.tool(name, input)
	if err != nil {
		return err
	}
	return comparison{name: name, calls: calls,
		ours: func(ctx context.Context) (int, error) {
			output, err := call(ctx)
			if err != nil {
				return 0, err
			}
			return lines(output.Content[0].Text), nil
		},
		plain: func() (int, error) {
			text, err := plain()
			return lines(text), err
		},
	}.run(ctx)
}

// alone measures a tool with nothing to compare it with.
func (w *workbench) alone(ctx context.Context, name, told, input string) error {
	call, err := w.tool(name, input)
	if err != nil {
		return err
	}
	var times []float64
	for round := range measure.Rounds + 1 {
		us, _, err := timed(callsOutside, func() (int, error) {
			_, err := call(ctx)
			return 0, err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", told, err)
		}
		if round > 0 {
			times = append(times, us)
		}
	}
	figure(told, measure.Median(times), "us")
	return nil
}

// scratch is an empty folder, for the caller to remove.
func scratch() (string, error) {
	folder, err := os.MkdirTemp(os.Getenv("PLINTH_BENCH_DIR"), "plinth-bench-")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(folder)
}

// deciding decides by rules, and asks nobody.
type deciding struct{ rules []session.Rule }

func (d deciding) Authorise(_ context.Context, request session.PermissionRequest) error {
	if effect, resource := session.Decide(d.rules, nil, request.Action, request.Resources); effect != session.Allow {
		return &session.DeniedError{Action: request.Action, Resource: resource}
	}
	return nil
}

func (d deciding) Effects(_ context.Context, action string, resources []string) ([]session.Effect, error) {
	effects := make([]session.Effect, len(resources))
	for i := range resources {
		effects[i], _ = session.Decide(d.rules, nil, action, resources[i:i+1])
	}
	return effects, nil
}

func (deciding) Progress(string) {}

// timed is the mean time of a call, in microseconds, and what the last one answered.
func timed(calls int, call func() (int, error)) (us float64, answered int, err error) {
	began := time.Now()
	for range calls {
		if answered, err = call(); err != nil {
			return 0, 0, err
		}
	}
	return float64(time.Since(began).Microseconds()) / float64(calls), answered, nil
}
