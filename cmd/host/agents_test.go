package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
)

func TestAgentsAreListed(t *testing.T) {
	r := newRig(t)
	r.configure("agent = \"plan\"\n[agents.plan]\nmodel = \"offline/rules\"\nsteps = 3\n[agents.general]\ndisabled = true\n")
	r.restart()
	list, err := agentService{r.backend}.List(r.within(), protocol.In{})
	if err != nil {
		t.Fatal(err)
	}
	got := protocol.AgentList{Default: list.Default}
	for _, agent := range list.Agents {
		agent.Description = ""
		got.Agents = append(got.Agents, agent)
	}
	want := protocol.AgentList{Default: "plan", Agents: []protocol.Agent{
		{Name: "build", Mode: protocol.AgentPrimary}, {Name: "compaction", Mode: protocol.AgentHidden},
		{Name: "explore", Mode: protocol.AgentSubagent},
		{Name: "plan", Mode: protocol.AgentPrimary, Model: &protocol.ModelRef{Provider: "offline", Model: "rules"}, Steps: 3},
		{Name: "summary", Mode: protocol.AgentHidden}, {Name: "title", Mode: protocol.AgentHidden}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s, err := sessionService{r.backend}.Get(r.within(), r.session())
	if err != nil || s.Agent != "plan" {
		t.Errorf("a session has the agent %q, %v", s.Agent, err)
	}
}

// An agent that a person cannot choose is refused before anything is written. What
// was made with it when it was configured can be asked for again.
func TestAgentsAreChecked(t *testing.T) {
	r := newRig(t)
	r.configure("[agents.mine]\n")
	r.restart()
	caller := server.Caller{Actor: "test"}
	ids := session.NewIDs(session.SystemClock{})
	id, message := ids.New(session.PrefixSession), ids.New(session.PrefixMessage)
	create := func(id, agent string) error {
		_, _, err := sessionService{r.backend}.Create(r.within(), caller, protocol.CreateSession{ID: id, Agent: agent})
		return err
	}
	hold := false
	admit := func(message, agent string) error {
		_, err := promptService{r.backend}.Admit(r.within(), caller, id, protocol.Prompt{ID: message, Resume: &hold,
			PromptBody: protocol.PromptBody{Text: "x", Agent: agent}})
		return err
	}
	if err := create(id, "mine"); err != nil {
		t.Fatal(err)
	}
	if err := admit(message, "mine"); err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{"nobody", "explore", "title"} {
		for door, err := range map[string]error{"create": create("", agent), "prompt": admit("", agent)} {
			wire := protocol.AsError(err)
			if wire == nil || wire.Code != protocol.BadRequest || !strings.Contains(wire.Message, "choose one of build, mine, plan") {
				t.Errorf("%s as %s: %v", door, agent, err)
			}
		}
	}
	if n := r.count(id, is[session.PromptAdmitted]); n != 1 {
		t.Errorf("%d prompts were admitted", n)
	}
	r.configure("")
	r.restart()
	if err := create(id, "mine"); err != nil {
		t.Errorf("creating it again: %v", err)
	}
	if err := admit(message, "mine"); err != nil {
		t.Errorf("admitting it again: %v", err)
	}
	if err := admit("", "mine"); err == nil {
		t.Error("another prompt for an agent that is gone was admitted")
	}
}
