package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// choose samples who and what the turn works with: agent, model, provider and tools
// are its own, whatever is switched while it runs.
func (t *turn) choose(ctx context.Context, w window, step int) error {
	t.current, t.lineage = w.session, w.lineage
	t.history = w.history
	t.remember(w.directories)
	t.prompt = lastPrompt(w.history)
	t.agents = t.Agents.At(w.session.Location)
	agent, known := t.agents.Agent(w.session.Agent)
	t.agent = agent
	if !known {
		t.agent.Name = w.session.Agent
		return &session.Failure{Code: session.FailureAgentUnavailable, Message: fmt.Sprintf(
			"There is no agent %q; configure [agents.%s], or go on as another one: %s", w.session.Agent, w.session.Agent, t.agentNames())}
	}
	t.last = agent.Steps > 0 && step >= agent.Steps
	if err := t.chooseModel(ctx); err != nil {
		return err
	}
	if err := t.chooseFormat(); err != nil {
		return err
	}
	t.offer()
	return nil
}

func (t *turn) agentNames() string {
	var names []string
	for _, agent := range t.agents.List() {
		if agent.Selectable() {
			names = append(names, agent.Name)
		}
	}
	return strings.Join(names, ", ")
}

func (t *turn) chooseModel(ctx context.Context) error {
	model := t.current.Model
	provider, ok := registry.Lookup(t.pin, t.Kinds.Providers, model.Provider)
	if !ok {
		return &session.Failure{Code: session.FailureModelUnavailable, Message: fmt.Sprintf(
			"There is no provider %q; configure [providers.%s] or choose another model", model.Provider, model.Provider)}
	}
	t.provider = provider.Value
	info, err := t.Models.Model(ctx, model)
	if unavailable, ok := errors.AsType[*session.ModelError](err); ok {
		return &session.Failure{Code: session.FailureModelUnavailable, Message: unavailable.Error()}
	}
	t.model = info
	return err
}

// offer lists the tools of the request: everything pinned but what the rules hide
// whole and what the prompt turns off.
func (t *turn) offer() {
	t.tools = map[string]toolEntry{}
	for _, entry := range registry.All(t.pin, t.Kinds.Tools) {
		definition := entry.Value.Definition()
		definition.Name = entry.Name
		if wanted, said := t.prompt.Tools[entry.Name]; said && !wanted || t.hidden(entry, definition) {
			continue
		}
		t.tools[entry.Name] = entry
		t.definitions = append(t.definitions, definition)
	}
	if t.format != nil {
		t.definitions = append(slices.DeleteFunc(t.definitions, func(d session.ToolDefinition) bool { return d.Name == formatTool }),
			formatDefinition(t.prompt.Format))
	}
}

// toolEntry is a tool as a turn advertised it.
type toolEntry = registry.Entry[session.Tool]

func (t *turn) hidden(entry toolEntry, definition session.ToolDefinition) bool {
	action := definition.Permission.Action
	if action == "" {
		action = entry.Name
	}
	return t.Permissions.Hides(t.lineage, t.agent.Name, asking(entry), action)
}

// asking names the plugin on whose behalf an entry asks; builtins speak for the host.
func asking(entry toolEntry) string {
	if entry.Builtin {
		return ""
	}
	return entry.Scope
}

// lastPrompt is the prompt that is being worked on; empty when there is none.
func lastPrompt(history []session.Message) session.Prompt {
	for _, message := range slices.Backward(history) {
		if message.Type == session.MessageUser {
			return *message.Prompt
		}
	}
	return session.Prompt{}
}

// controls merges what the model and the agent say of the request.
func (t *turn) controls() (generation session.Generation, request session.ModelRequest) {
	generation = overlay(t.model.Generation, t.agent.Generation)
	request.Options = maps.Clone(t.model.Options)
	if request.Options == nil && len(t.agent.Options) > 0 {
		request.Options = maps.Clone(t.agent.Options)
	} else {
		maps.Copy(request.Options, t.agent.Options)
	}
	request.Headers = maps.Clone(t.model.Headers)
	return generation, request
}

// overlay answers the controls of base, but for those that over sets.
func overlay(base, over session.Generation) session.Generation {
	if over.MaxTokens != nil {
		base.MaxTokens = over.MaxTokens
	}
	if over.Temperature != nil {
		base.Temperature = over.Temperature
	}
	if over.TopP != nil {
		base.TopP = over.TopP
	}
	if over.Seed != nil {
		base.Seed = over.Seed
	}
	if over.Stop != nil {
		base.Stop = over.Stop
	}
	return base
}
