package session_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// local are agents of the place /there, and nowhere else.
func local(agents ...session.Agent) session.LocalAgents {
	return func(location session.Location) []session.Agent {
		if location.Root != "/there" {
			return nil
		}
		return agents
	}
}

func reviewer(rules ...session.Rule) session.Agent {
	return session.Agent{Name: "reviewer", Mode: session.AgentAll, System: "You review.", Rules: rules}
}

// TestLocalAgents: a place adds agents, confined ones, and takes the place of none.
func TestLocalAgents(t *testing.T) {
	base, err := session.NewAgents(session.DefaultAgents(), "build")
	if err != nil {
		t.Fatal(err)
	}
	agents := base.WithLocal(local(reviewer(), session.Agent{Name: "build", Mode: session.AgentPrimary, System: "stolen"},
		session.Agent{Name: "Wrong", Mode: session.AgentAll}, session.Agent{Name: "sly", Mode: session.AgentHidden}, session.Agent{Name: "aide", Mode: session.AgentSubagent}))
	names := func(all []session.Agent) (names []string) {
		for _, agent := range all {
			names = append(names, agent.Name)
		}
		return names
	}
	there := session.Location{Root: "/there"}
	if diff := cmp.Diff([]string{"aide", "build", "compaction", "explore", "general", "plan", "reviewer", "summary", "title"}, names(agents.In(there))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(names(base.List()), names(agents.In(session.Location{Root: "/elsewhere"}))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"aide", "explore", "general", "reviewer"}, agents.At(there).Subagents()); diff != "" {
		t.Error(diff)
	}
	got, ok := agents.At(there).Agent("reviewer")
	if !ok || !got.Confined || got.System != "You review." {
		t.Errorf("%+v", got)
	}
	if got, _ := agents.At(there).Agent("build"); got.Confined || got.System == "stolen" {
		t.Errorf("an agent is replaced: %+v", got)
	}
}

// TestConfinedAgentsOpenNothing: the configured rules decide too, whatever a confined
// agent's own say.
func TestConfinedAgentsOpenNothing(t *testing.T) {
	rules := func(all ...string) (rules []session.Rule) {
		for _, text := range all {
			parts := strings.Fields(text)
			rules = append(rules, session.Rule{Action: parts[0], Resource: parts[1], Effect: session.Effect(parts[2])})
		}
		return rules
	}
	for _, c := range []struct {
		own              []string
		action, resource string
		want             session.Effect
	}{
		{nil, "bash", "ls", session.Allow},
		{[]string{"* * allow"}, "edit", "a", session.Deny},
		{[]string{"edit * ask"}, "edit", "a", session.Deny},
		{[]string{"* * allow"}, "push", "a", session.Ask},
		{[]string{"bash * deny"}, "bash", "ls", session.Deny},
		{[]string{"bash * ask"}, "bash", "ls", session.Ask},
		{[]string{"bash * deny", "bash ls allow"}, "bash", "ls", session.Allow},
		{[]string{"bash * deny", "bash ls allow"}, "bash", "rm", session.Deny},
		{[]string{"push * deny"}, "push", "a", session.Deny},
	} {
		w := sessiontest.New(t, sessiontest.Options{Local: local(reviewer(rules(c.own...)...)), Rules: rules("edit * deny", "push * ask")})
		s, _, err := w.Sessions.Create(t.Context(), session.System(), session.CreateRequest{Directory: "/there", Agent: "reviewer"})
		if err != nil {
			t.Fatal(err)
		}
		asker := session.Asker{Session: s.ID, Agent: "reviewer", Location: s.Location}
		got, err := w.Permissions.Effects(t.Context(), asker, "", c.action, []string{c.resource})
		if err != nil || got[0] != c.want {
			t.Errorf("%v: %s on %s is %v, want %s: %v", c.own, c.action, c.resource, got, c.want, err)
		}
		asker.Agent = "nobody"
		if got, err := w.Permissions.Effects(t.Context(), asker, "", "bash", []string{"ls"}); err != nil || got[0] != session.Deny {
			t.Errorf("an agent that is not there: %v, %v", got, err)
		}
	}
}

// TestLocalAgentsAreChosen: where they are and nowhere else, by people and for tasks, and a
// turn works as one.
func TestLocalAgentsAreChosen(t *testing.T) {
	agents, err := session.NewAgents(session.DefaultAgents(), "build")
	if err != nil {
		t.Fatal(err)
	}
	hidden := session.Rule{Action: "task", Resource: "*", Effect: session.Deny}
	options := sessiontest.Options{Local: local(reviewer(hidden)), Sessions: session.SessionOptions{Agents: agents.WithLocal(local(reviewer(hidden)))}}
	w := sessiontest.New(t, options)
	create := func(directory, agent string) (session.Session, error) {
		s, _, err := w.Sessions.Create(t.Context(), session.System(), session.CreateRequest{Directory: directory, Agent: agent})
		return s, err
	}
	if _, err := create("/elsewhere", "reviewer"); !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), "choose one of build, plan") {
		t.Error(err)
	}
	if _, err := create("/there", "nobody"); !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), "choose one of build, plan, reviewer") {
		t.Error(err)
	}
	s, err := create("/there", "")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := create("/elsewhere", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Sessions.SwitchAgent(t.Context(), session.System(), elsewhere.ID, "reviewer"); !errors.Is(err, session.ErrInvalid) {
		t.Error(err)
	}
	task := session.Task{Description: "d", Prompt: "p", Agent: "reviewer"}
	caller := session.TaskCaller{Session: elsewhere.ID, Agent: "build", Location: elsewhere.Location, Model: elsewhere.Model}
	if _, err := w.Tasks.Run(t.Context(), caller, task); err == nil || !strings.Contains(err.Error(), `agent is "reviewer", which takes no tasks; those that do: explore, general`) {
		t.Error(err)
	}
	fence, err := w.Log.Acquire(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.Provider.Script(sessiontest.Say("reviewed"), sessiontest.Say("hello"))
	caller = session.TaskCaller{Session: s.ID, Agent: "build", Location: s.Location, Model: s.Model, Fence: fence}
	if result, err := w.Tasks.Run(t.Context(), caller, task); err != nil || result.Text != "reviewed" {
		t.Fatalf("%+v, %v", result, err)
	}
	if _, err := w.Sessions.SwitchAgent(t.Context(), session.System(), s.ID, "reviewer"); err != nil {
		t.Fatal(err)
	}
	w.Contribute("core/tools", w.Kinds.Tools.Contribute("task", 0, sessiontest.Tool{}))
	w.Prompt(s.ID, "Hello", session.Steer)
	w.Settled(s.ID, 1)
	requests := w.Provider.Requests()
	for i, request := range requests {
		if request.Agent != "reviewer" || !strings.Contains(request.System[0].Text, "You review.") || slices.ContainsFunc(request.Tools, func(d session.ToolDefinition) bool { return d.Name == "task" }) {
			t.Errorf("request %d: %+v", i, request)
		}
	}
	if len(requests) != 2 {
		t.Errorf("%d requests", len(requests))
	}
}
