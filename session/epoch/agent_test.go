package epoch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/session"
)

// agents are three that say something and one that does not.
func agents(t *testing.T) *session.Agents {
	t.Helper()
	all, err := session.NewAgents([]session.Agent{
		{Name: "build", Mode: session.AgentPrimary, System: "You build."},
		{Name: "plan", Mode: session.AgentPrimary, System: "You plan.", Reminder: "Change nothing.", Leaving: "You may change things again."},
		{Name: "bare", Mode: session.AgentPrimary},
	}, "build")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// tell answers what the source says of an agent, in the epoch it is told in.
func tell(t *testing.T, epoch *session.Epoch, name, model string) (session.Payload, Observed) {
	t.Helper()
	all := agents(t)
	agent, _ := all.Agent(name)
	observation := session.Observation{}
	if epoch != nil {
		observation.Previous = map[string]json.RawMessage{AgentKey: epoch.Snapshot[AgentKey].Value}
	}
	observed := sampler(1e9).Observe(t.Context(), []Source{{Name: AgentKey, Undamped: true,
		Source: Agent{Agents: all, Agent: agent, Model: session.ModelInfo{System: model}}}}, observation)
	if epoch == nil {
		initialized, err := Initialize(observed, nil)
		if err != nil {
			t.Fatal(err)
		}
		return initialized, observed[0]
	}
	outcome, err := Reconcile(*epoch, observed, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Change, observed[0]
}

func TestTheAgentIsPartOfTheContext(t *testing.T) {
	begun := func(name, model string) *session.Epoch {
		initialized, _ := tell(t, nil, name, model)
		e := initialized.(session.ContextInitialized)
		return &session.Epoch{Baseline: e.Baseline, Snapshot: e.Snapshot}
	}
	plan := begun("plan", "You are a model.")
	if plan.Baseline != "You plan.\n\nChange nothing." {
		t.Errorf("plan begins with %q", plan.Baseline)
	}
	if got := begun("bare", "You are a model.").Baseline; got != "You are a model." {
		t.Errorf("an agent without a text begins with %q", got)
	}
	if got := begun("bare", ""); got.Baseline != "" || len(got.Snapshot) != 0 {
		t.Errorf("no text at all begins with %+v", got)
	}
	for _, test := range []struct {
		name         string
		from         *session.Epoch
		agent, model string
		want         string // "" for nothing
	}{
		{"the same", plan, "plan", "You are another model.", ""},
		{"another agent", plan, "build", "", "You may change things again.\n\nYou now work as the agent build. " +
			"What you were told as the agent plan no longer applies; this does:\n\nYou build."},
		{"back", begun("build", ""), "plan", "", "You now work as the agent plan. " +
			"What you were told as the agent build no longer applies; this does:\n\nYou plan.\n\nChange nothing."},
		{"an agent without a text", plan, "bare", "", "You no longer work as the agent plan. " +
			"What you were told as that agent no longer applies.\n\nYou may change things again."},
		{"another model's text", begun("bare", "You are a model."), "bare", "You are another model.",
			"What you are told as the agent bare has changed. This is the whole of it now; it takes the place of what you were told before as that agent.\n\nYou are another model."},
	} {
		change, observed := tell(t, test.from, test.agent, test.model)
		updated, _ := change.(session.ContextUpdated)
		if updated.Text != test.want {
			t.Errorf("%s: told %q, want %q", test.name, updated.Text, test.want)
		}
		if test.want == "" && change != nil {
			t.Errorf("%s: %+v", test.name, change)
		}
		if strings.Contains(string(observed.Value), "You") {
			t.Errorf("%s: the value %s repeats the text", test.name, observed.Value)
		}
	}
}

func TestAnUnknownAgentIsUnavailable(t *testing.T) {
	states, err := Agent{Agents: agents(t), Agent: session.Agent{Name: "gone"}, Unknown: true}.Observe(t.Context(), session.Observation{})
	if err != nil || len(states) != 1 || states[0].State != session.SourceUnavailable {
		t.Errorf("%+v %v", states, err)
	}
}
