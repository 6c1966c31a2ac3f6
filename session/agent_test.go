package session_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
)

func defaultAgents(t *testing.T) *session.Agents {
	t.Helper()
	agents, err := session.NewAgents(session.DefaultAgents(), session.DefaultAgent)
	if err != nil {
		t.Fatal(err)
	}
	return agents
}

func TestDefaultAgents(t *testing.T) {
	agents := defaultAgents(t)
	got := map[session.AgentMode][]string{}
	for _, agent := range agents.List() {
		got[agent.Mode] = append(got[agent.Mode], agent.Name)
		if agent.Description == "" || agent.System == "" {
			t.Errorf("%s has no description or no system text", agent.Name)
		}
	}
	want := map[session.AgentMode][]string{
		session.AgentPrimary: {"build", "plan"}, session.AgentSubagent: {"explore", "general"}, session.AgentHidden: {"compaction", "summary", "title"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if agents.Default() != "build" {
		t.Errorf("the default is %s", agents.Default())
	}
}

// What each agent may do, under an operator who denies secrets, asks before pushes
// and forbids fetching.
func TestPermitted(t *testing.T) {
	operator := []session.Rule{
		{Action: "r*", Resource: "secrets/*", Effect: session.Deny},
		{Action: "bash", Resource: "git push *", Effect: session.Ask},
		{Action: "webfetch", Resource: "*", Effect: session.Deny},
	}
	agents := defaultAgents(t)
	for _, test := range []struct {
		agent, plugin, action, resource string
		want                            session.Effect
	}{
		{"build", "", "edit", "main.go", session.Allow},
		{"build", "", "bash", "make", session.Allow},
		{"build", "", "bash", "git push origin", session.Ask},
		{"build", "", "read", "secrets/key", session.Deny},
		{"build", "", "task", "explore", session.Allow},
		{"plan", "", "edit", "main.go", session.Deny},
		{"plan", "", "edit", ".plinth/plans/next.md", session.Allow},
		{"plan", "", "write", "x/.plinth/plans/next.md", session.Deny},
		{"plan", "", "apply_patch", ".plinth/plans/next.md", session.Allow},
		{"plan", "", "bash", "ls", session.Deny},
		{"plan", "", "read", "main.go", session.Allow},
		{"plan", "", "task", "explore", session.Allow},
		{"general", "", "edit", "main.go", session.Allow},
		{"general", "", "task", "explore", session.Deny},
		{"general", "acme/one", "deploy", "*", session.Ask},
		{"explore", "", "read", "main.go", session.Allow},
		{"explore", "", "grep", "func", session.Allow},
		{"explore", "", "read", "secrets/key", session.Deny}, // what the operator denies stays so
		{"explore", "", "read", "a/.env", session.Ask},
		{"explore", "", "webfetch", "https://x.example", session.Deny},
		{"explore", "acme/one", "read", "main.go", session.Ask},
		{"explore", "", "edit", "main.go", session.Deny},
		{"explore", "", "bash", "ls", session.Deny},
		{"explore", "", "task", "general", session.Deny},
		{"explore", "acme/one", "deploy", "*", session.Deny},
		{"title", "", "read", "main.go", session.Deny},
	} {
		agent, ok := agents.Agent(test.agent)
		if !ok {
			t.Fatalf("no agent %s", test.agent)
		}
		rules := agent.Permitted(append(session.DefaultRules(test.plugin), operator...))
		if got, _ := session.Decide(rules, nil, test.action, []string{test.resource}); got != test.want {
			t.Errorf("%s: %s %s is %s, want %s", test.agent, test.action, test.resource, got, test.want)
		}
	}
}

// A tool is offered when something of its action may be allowed.
func TestPermittedHides(t *testing.T) {
	agents := defaultAgents(t)
	hidden := map[string][]string{}
	for _, agent := range agents.List() {
		for _, action := range []string{"read", "grep", "edit", "bash", "task", "todowrite"} {
			if session.Hidden(agent.Permitted(session.DefaultRules("")), action) {
				hidden[agent.Name] = append(hidden[agent.Name], action)
			}
		}
	}
	all := []string{"read", "grep", "edit", "bash", "task", "todowrite"}
	want := map[string][]string{"plan": {"bash"}, "general": {"task"}, "explore": {"edit", "bash", "task", "todowrite"},
		"title": all, "summary": all, "compaction": all}
	if diff := cmp.Diff(want, hidden); diff != "" {
		t.Error(diff)
	}
}

// An agent's own rules have the last word, and the configured list is left alone.
func TestPermittedOwnRulesComeLast(t *testing.T) {
	configured := append(make([]session.Rule, 0, 8), session.Rule{Action: "*", Resource: "*", Effect: session.Deny})
	agent := session.Agent{Name: "one", Mode: session.AgentSubagent, Actions: []string{"read"}, Rules: []session.Rule{
		{Action: "bash", Resource: "git log *", Effect: session.Allow}, {Action: "task", Resource: "explore", Effect: session.Ask}}}
	rules := agent.Permitted(configured)
	for _, test := range []struct {
		action, resource string
		want             session.Effect
	}{
		{"bash", "git log -1", session.Allow}, {"bash", "git push", session.Deny}, {"read", "x", session.Deny},
		{"task", "explore", session.Ask}, {"task", "general", session.Deny},
	} {
		if got, _ := session.Decide(rules, nil, test.action, []string{test.resource}); got != test.want {
			t.Errorf("%s %s is %s, want %s", test.action, test.resource, got, test.want)
		}
	}
	plain := session.Agent{Rules: []session.Rule{{Action: "a", Resource: "b", Effect: session.Allow}}}
	plain.Permitted(configured)
	if rest := configured[:2][1]; rest != (session.Rule{}) {
		t.Errorf("the configured list was written to: %v", rest)
	}
}

func TestNewAgentsRefuses(t *testing.T) {
	good := session.Agent{Name: "build", Mode: session.AgentPrimary}
	with := func(change func(*session.Agent)) []session.Agent {
		agent := session.Agent{Name: "one", Mode: session.AgentAll}
		change(&agent)
		return []session.Agent{good, agent}
	}
	for name, test := range map[string]struct {
		list         []session.Agent
		defaultAgent string
		want         string
	}{
		"no name":       {with(func(a *session.Agent) { a.Name = "" }), "build", `agent "": invalid request: a name begins`},
		"digit first":   {with(func(a *session.Agent) { a.Name = "1a" }), "build", `agent "1a"`},
		"capital":       {with(func(a *session.Agent) { a.Name = "Plan" }), "build", `agent "Plan"`},
		"long":          {with(func(a *session.Agent) { a.Name = strings.Repeat("a", 65) }), "build", "at most 64"},
		"twice":         {[]session.Agent{good, good}, "build", `agent "build": invalid request: there are two of the name`},
		"mode":          {with(func(a *session.Agent) { a.Mode = "" }), "build", `mode is ""; it must be primary, subagent, all or hidden`},
		"steps":         {with(func(a *session.Agent) { a.Steps = -1 }), "build", "steps is -1"},
		"model":         {with(func(a *session.Agent) { a.Model = &session.ModelRef{Provider: "p"} }), "build", "model needs"},
		"system":        {with(func(a *session.Agent) { a.System = strings.Repeat("a", session.MaxAgentSystem+1) }), "build", "system has 65537 bytes, the limit is 65536"},
		"not text":      {with(func(a *session.Agent) { a.System = "\xff" }), "build", "not valid UTF-8"},
		"action":        {with(func(a *session.Agent) { a.Actions = []string{"read", "g*"} }), "build", `actions[1] is "g*"`},
		"rule's action": {with(func(a *session.Agent) { a.Rules = []session.Rule{{Resource: "*", Effect: session.Ask}} }), "build", "rules[0]: invalid request: action"},
		"resource":      {with(func(a *session.Agent) { a.Rules = []session.Rule{{Action: "*", Effect: session.Ask}} }), "build", "rules[0]: invalid request: resource"},
		"effect":        {with(func(a *session.Agent) { a.Rules = []session.Rule{{Action: "*", Resource: "*", Effect: "maybe"}} }), "build", `effect is "maybe"`},
		"no default":    {[]session.Agent{good}, "plan", `default agent: invalid request: agent is "plan", which is none; choose one of build`},
		"subagent":      {with(func(a *session.Agent) { a.Mode = session.AgentSubagent }), "one", `agent is "one", which has the mode subagent; choose one of build`},
		"hidden":        {with(func(a *session.Agent) { a.Mode = session.AgentHidden }), "one", "which has the mode hidden"},
	} {
		_, err := session.NewAgents(test.list, test.defaultAgent)
		if !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

func TestAgents(t *testing.T) {
	list := []session.Agent{{Name: "z", Mode: session.AgentAll}, {Name: "a", Mode: session.AgentHidden}}
	agents, err := session.NewAgents(list, "z")
	if err != nil {
		t.Fatal(err)
	}
	list[0].Name = "other"
	agents.List()[0].Name = "other"
	if got := agents.List(); got[0].Name != "a" || got[1].Name != "z" {
		t.Errorf("the set changed: %v", got)
	}
	if _, ok := agents.Agent("z"); !ok {
		t.Error("z is not found")
	}
	for name, choice := range map[string]bool{"z": true, "a": false, "b": false, "": false} {
		if err := agents.Choose("agent", name); (err == nil) != choice {
			t.Errorf("Choose(%q): %v", name, err)
		}
	}
	if both := (session.Agent{Mode: session.AgentAll}); !both.Delegable() || !both.Selectable() {
		t.Error("the mode all is not both")
	}
}
