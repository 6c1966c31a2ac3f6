package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// taskInput is the input of the tool task.
type taskInput struct {
	Plan       string `json:"plan"`
	Background bool   `json:"background"`
}

// runs is what a tool does, given what records that it had its effect.
type runs func(ctx context.Context, call session.ToolCall, effect func()) error

// behaviour is one tool. asks: a person or a rule decides before its effect.
type behaviour struct {
	name                    string
	idempotent, byOperation bool
	asksFirst               bool
	run                     runs
}

func question(ctx context.Context, call session.ToolCall, before bool) error {
	_, err := call.Host.(session.Questioner).Question(ctx, []session.Question{{Text: "Which?", Custom: true}}, before)
	return err
}

// behaviours are the tools by their name.
func (w *world) behaviours() []behaviour {
	works := func(_ context.Context, _ session.ToolCall, effect func()) error {
		effect()
		return nil
	}
	return []behaviour{
		{name: "echo", asksFirst: true, run: works},
		{name: "look", asksFirst: true, idempotent: true, run: works},
		{name: "extra", asksFirst: true, run: works},
		{name: "here", asksFirst: true, run: works},
		{name: "gaze", asksFirst: true, run: works},
		{name: "slow", asksFirst: true, run: func(ctx context.Context, call session.ToolCall, effect func()) error {
			effect()
			return w.block(ctx, "slow "+call.ID)
		}},
		{name: "bad", asksFirst: true, run: func(_ context.Context, _ session.ToolCall, effect func()) error {
			effect()
			return &session.ToolError{Kind: "failed", Message: "it is bad"}
		}},
		{name: "boom", asksFirst: true, run: func(_ context.Context, _ session.ToolCall, effect func()) error {
			effect()
			panic("boom")
		}},
		{name: "quiz", byOperation: true, asksFirst: true, run: func(ctx context.Context, call session.ToolCall, effect func()) error {
			if err := question(ctx, call, true); err != nil {
				return err
			}
			effect()
			return nil
		}},
		{name: "form", byOperation: true, asksFirst: true, run: func(ctx context.Context, call session.ToolCall, effect func()) error {
			permission := session.PermissionRequest{Action: "form", Resources: []string{"a"}, Save: []string{"a"}, Before: true}
			if err := call.Host.Authorise(ctx, permission); err != nil {
				return err
			}
			if err := question(ctx, call, true); err != nil {
				return err
			}
			effect()
			return nil
		}},
		{name: "late", byOperation: true, run: func(ctx context.Context, call session.ToolCall, effect func()) error {
			effect()
			return call.Host.Authorise(ctx, session.PermissionRequest{Action: "late", Resources: []string{"b"}, Save: []string{"b"}})
		}},
		{name: "task", byOperation: true, run: func(ctx context.Context, call session.ToolCall, effect func()) error {
			var input taskInput
			if err := json.Unmarshal(call.Input, &input); err != nil {
				return err
			}
			effect()
			_, err := call.Host.(session.TaskRunner).RunTask(ctx, session.Task{Description: "A part of it", Prompt: planned + input.Plan,
				Agent: "general", Background: input.Background})
			return err
		}},
	}
}

// tools makes the contributions of the named tools, as one host runs them.
func (h *host) tools(names ...string) []registry.Contribution {
	var all []registry.Contribution
	for _, b := range h.world.behaviours() {
		for _, name := range names {
			if b.name == name {
				all = append(all, h.kinds.Tools.Contribute(name, 0, h.tool(b)))
			}
		}
	}
	return all
}

func (h *host) tool(b behaviour) session.Tool {
	return Tool{
		Define: session.ToolDefinition{Name: b.name, Idempotent: b.idempotent, Permission: session.ToolPermission{ByOperation: b.byOperation}},
		Run: func(ctx context.Context, call session.ToolCall) (session.ToolOutput, error) {
			err := b.run(ctx, call, func() { h.world.affected(h, call, b) })
			var cause error
			if errors.Is(err, context.Canceled) {
				cause = context.Cause(ctx)
			}
			if err != nil {
				return session.ToolOutput{}, errors.Join(err, cause)
			}
			words := b.name + " is done"
			if b.name == "gaze" || b.name == "look" { // there is much to see
				words += strings.Repeat(" and more", 40)
			}
			return Output(words), nil
		},
	}
}

// sources are what sessions are told of, by key.
var sources = []string{"weather", "moon", "star"}

// observe is what there is to say of a source. There is no way to take the star back.
func (h *host) observe(key string) session.SourceState {
	plugin := "third/sky"
	if key == "weather" {
		plugin = "core/weather"
	}
	state := session.SourceState{Key: key, State: session.SourceValue}
	if _, open := h.plugged.Load(plugin); !open {
		state.State = session.SourceAbsent
		return state
	}
	switch value := h.world.skies[slices.Index(sources, key)].Load(); value {
	case 0:
		state.State = session.SourceUnavailable
	case 1:
		state.State = session.SourceAbsent
	default:
		state.Value, state.Baseline = fmt.Appendf(nil, "%d", value), fmt.Sprintf("The %s is %d", key, value)
		if key != "star" {
			state.Removed = "There is no " + key
		}
	}
	return state
}

// source is a context source of some keys.
func (h *host) source(keys ...string) session.ContextSource {
	return Source{Names: keys, Run: func(context.Context, session.Observation) (states []session.SourceState, err error) {
		for _, key := range keys {
			states = append(states, h.observe(key))
		}
		return states, nil
	}}
}
