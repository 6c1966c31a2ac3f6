package config_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/session"
)

func TestAgents(t *testing.T) {
	dir, environ := home(t, `
agent = "review"
[providers.p]
plugin = "core/openai"
base_url = "https://x.example/v1"
models = ["large", "small/2"]

[agents.plan]
model = "p/large"
variant = "high"
steps = 12
rules = [{action = "bash", resource = "git log *", effect = "allow"}]
[agents.plan.generation]
temperature = 1
seed = -3

[agents.explore]
actions = ["read", "grep"]
system_file = "~/explore.md"

[agents.general]
disabled = true

[agents.review]
description = "Reads changes"
system = "Read the change."
reminder = "Change nothing."
leaving = "Enough read."
options = {reasoning = {effort = "low"}, tier = 2}
[[agents.review.rules]]
action = "edit"
resource = "*"
effect = "deny"
[agents.review.generation]
max_tokens = 4096
top_p = 0.5
stop = ["END"]

[agents.helper]
mode = "subagent"
model = "p/small/2"

[agents.title]
model = "p/small/2"
`)
	if err := os.WriteFile(filepath.Join(dir, "explore.md"), []byte("Look.\r\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(config.Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(session.DefaultAgents(), func(a session.Agent) bool { return a.Name == "general" })
	for i := range want {
		switch agent := &want[i]; agent.Name {
		case "plan":
			agent.Model, agent.Steps = &session.ModelRef{Provider: "p", Model: "large", Variant: "high"}, 12
			agent.Rules = append(agent.Rules, session.Rule{Action: "bash", Resource: "git log *", Effect: session.Allow})
			agent.Generation = session.Generation{Temperature: new(1.0), Seed: new(int64(-3))}
		case "explore":
			agent.Actions, agent.System = []string{"read", "grep"}, "Look."
		case "title":
			agent.Model = &session.ModelRef{Provider: "p", Model: "small/2"}
		}
	}
	want = append(want,
		session.Agent{Name: "helper", Mode: session.AgentSubagent, Model: &session.ModelRef{Provider: "p", Model: "small/2"}},
		session.Agent{Name: "review", Mode: session.AgentAll, Description: "Reads changes", System: "Read the change.", Reminder: "Change nothing.", Leaving: "Enough read.",
			Rules:      []session.Rule{{Action: "edit", Resource: "*", Effect: session.Deny}},
			Generation: session.Generation{MaxTokens: new(int64(4096)), TopP: new(0.5), Stop: []string{"END"}},
			Options:    map[string]json.RawMessage{"reasoning": json.RawMessage(`{"effort":"low"}`), "tier": json.RawMessage("2")}})
	slices.SortFunc(want, func(a, b session.Agent) int { return strings.Compare(a.Name, b.Name) })
	if diff := cmp.Diff(want, loaded.Agents); diff != "" {
		t.Error(diff)
	}
	if _, err := session.NewAgents(loaded.Agents, loaded.Agent); err != nil {
		t.Errorf("the kernel refuses what was loaded: %v", err)
	}
}

// TestProblemsOfAgents gives one bad value each.
func TestProblemsOfAgents(t *testing.T) {
	rule := func(text string) string { return "[agents.a]\nrules = [{" + text + "}]" }
	for name, test := range map[string]struct{ text, want string }{
		"name":            {"[agents.Plan]", "FILE:1: agents.Plan: an agent's name begins"},
		"unknown":         {"[agents.a]\nmodle = \"x\"", "FILE:2: agents.a.modle: unknown key; known here: description, mode, system, system_file, reminder, leaving, model, variant, steps, actions, rules, generation, options, disabled"},
		"no table":        {"agents = 1", "FILE:1: agents: must be a table"},
		"description":     {"[agents.a]\ndescription = \"a\\nb\"", "FILE:2: agents.a.description: must be one line of at most 1024 bytes"},
		"mode":            {"[agents.a]\nmode = \"main\"", `FILE:2: agents.a.mode = "main": must be one of primary, subagent, all, hidden`},
		"steps":           {"[agents.a]\nsteps = -1", "FILE:2: agents.a.steps = -1: must be from 0 to 1000"},
		"steps' kind":     {"[agents.a]\nsteps = \"3\"", "FILE:2: agents.a.steps: must be a whole number"},
		"system twice":    {"[agents.a]\nsystem = \"x\"\nsystem_file = \"/x\"", "FILE:3: agents.a.system_file: has no place beside system"},
		"system":          {"[agents.a]\nsystem = \"" + strings.Repeat("x", 65537) + "\"", "FILE:2: agents.a.system: has 65537 bytes, the limit is 65536"},
		"reminder":        {"[agents.a]\nreminder = \"" + strings.Repeat("x", 65537) + "\"", "FILE:2: agents.a.reminder: has 65537 bytes, the limit is 65536"},
		"leaving":         {"[agents.a]\nleaving = \"" + strings.Repeat("x", 65537) + "\"", "FILE:2: agents.a.leaving: has 65537 bytes, the limit is 65536"},
		"system_file":     {"[agents.a]\nsystem_file = \"x.md\"", `FILE:2: agents.a.system_file = "x.md": must be an absolute path`},
		"no system_file":  {"[agents.a]\nsystem_file = \"/nowhere/x.md\"", `FILE:2: agents.a.system_file = "/nowhere/x.md": cannot be read: no such file`},
		"a folder":        {"[agents.a]\nsystem_file = \"/\"", `FILE:2: agents.a.system_file = "/": is not a regular file; name one with a system text`},
		"long file":       {"[agents.a]\nsystem_file = \"~/long\"", `FILE:2: agents.a.system_file = "HOME/long": has more than 64 KiB`},
		"binary file":     {"[agents.a]\nsystem_file = \"~/binary\"", `FILE:2: agents.a.system_file = "HOME/binary": is not text in UTF-8`},
		"model":           {"[agents.a]\nmodel = \"gpt\"", `FILE:2: agents.a.model = "gpt": must be "provider/model"`},
		"model's place":   {"[agents.a]\nmodel = \"p/x\"", `FILE:2: agents.a.model = "p/x": there is no provider "p"; known are offline; add a table [providers.p]`},
		"variant":         {"[agents.a]\nvariant = \"high\"", `FILE:2: agents.a.variant = "high": has no use without a model`},
		"actions":         {"[agents.a]\nactions = [\"read\",\n\"g*\"]", `FILE:2: agents.a.actions.1 = "g*": must be an action without patterns`},
		"action":          {rule(`resource = "*", effect = "ask"`), "FILE:2: agents.a.rules.0.action: is missing"},
		"effect":          {rule(`action = "*", resource = "*", effect = "maybe"`), `FILE:2: agents.a.rules.0.effect = "maybe": must be one of allow, ask, deny`},
		"effect in lists": {"[[agents.a.rules]]\naction=\"*\"\nresource=\"*\"\neffect=\"ask\"\n[[agents.a.rules]]\naction=\"*\"\nresource=\"*\"\neffect=\"maybe\"", `FILE:8: agents.a.rules.1.effect = "maybe"`},
		"key of a rule":   {rule(`action = "*", resource = "*", effect = "ask", effekt = "ask"`), "FILE:2: agents.a.rules.0.effekt: unknown key; known here: action, resource, effect"},
		"max_tokens":      {"[agents.a.generation]\nmax_tokens = 0", "FILE:2: agents.a.generation.max_tokens = 0: must be at least 1"},
		"temperature":     {"[agents.a.generation]\ntemperature = 2.5", "FILE:2: agents.a.generation.temperature = 2.5: must be from 0 to 2"},
		"its kind":        {"[agents.a.generation]\ntemperature = \"hot\"", "FILE:2: agents.a.generation.temperature: must be a number"},
		"no number":       {"[agents.a.generation]\ntop_p = nan", "FILE:2: agents.a.generation.top_p = NaN: must be from 0 to 1"},
		"seed":            {"[agents.a.generation]\nseed = 1.5", "FILE:2: agents.a.generation.seed: must be a whole number"},
		"stop":            {"[agents.a.generation]\nstop = [\"\"]", "FILE:2: agents.a.generation.stop: must be at most 16 texts"},
		"generation":      {"[agents.a.generation]\nmax = 1", "FILE:2: agents.a.generation.max: unknown key; known here: max_tokens, temperature, top_p, seed, stop"},
		"options":         {"[agents.a]\noptions = {x = inf}", "FILE:2: agents.a.options.x: cannot be written as JSON"},
		"options' kind":   {"[agents.a]\noptions = 1", "FILE:2: agents.a.options: must be a table"},
		"disabled":        {"[agents.a]\ndisabled = \"yes\"", "FILE:2: agents.a.disabled: must be true or false"},
		"the host's own":  {"[agents.title]\ndisabled = true", "FILE:2: agents.title.disabled: the host itself needs this agent"},
		"the default":     {"[agents.build]\ndisabled = true", `agent = "build": is no agent of the mode primary or all; those are plan;`},
	} {
		t.Run(name, func(t *testing.T) {
			dir, environ := home(t, test.text)
			for file, text := range map[string]string{"long": strings.Repeat("x", 65537), "binary": "\xff"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			oneProblem(t, dir, environ, test.want)
		})
	}
}

// oneProblem loads a configuration with one mistake. FILE and HOME stand for the
// file's path and the home.
func oneProblem(t *testing.T, dir string, environ []string, want string) {
	t.Helper()
	_, err := config.Load(config.Sources{Environ: environ})
	e, ok := errors.AsType[*config.Error](err)
	if !ok || len(e.Problems) != 1 {
		t.Fatalf("want one problem: %v", err)
	}
	want = strings.NewReplacer("FILE", filepath.Join(dir, ".config/plinth/config.toml"), "HOME", dir).Replace(want)
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}
