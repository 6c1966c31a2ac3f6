package runner_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// Whatever changes within an epoch comes behind what was sent before: a provider's cache
// of the beginning stays good.
func TestRequestsKeepTheirBeginning(t *testing.T) {
	w := newWorld(t, Options{Agents: append(builder(func(a *session.Agent) { a.System, a.Steps = "You build.", 3 }),
		session.Agent{Name: "sketch", Mode: session.AgentPrimary, System: "You sketch.", Reminder: "Change nothing.", Leaving: "No more sketches."}),
		Models: Models{"scripted/m2": {ModelInfo: session.ModelInfo{System: "For agents without words."}}}})
	release := make(chan struct{})
	w.Contribute("core/tools", echo(w.World), tool(w.World, "zeta", quiet), tool(w.World, "alpha", func(ctx context.Context, _ session.ToolCall) (session.ToolOutput, error) {
		<-release
		return Output("late"), nil
	}))
	w.contribute("core/env", "", "core/date", "core/place")
	w.set("core/date", "Monday", "core/place", "here!", "acme/x/fact", "1!")

	w.turn("One")
	w.turn("Two")
	w.set("core/date", "Tuesday")
	w.turn("Three")
	put(w.World, w.id, session.AgentSwitched{Message: message(w.World), Agent: "sketch"})
	w.turn("Four")
	if _, err := w.Registries.Replace(registry.Scope{ID: "acme/x", Revision: "r1", Contributions: []registry.Contribution{
		w.Kinds.Contexts.Contribute("acme/x", 0, session.ContextSource(fact{w, "acme/x/fact", ""}))}}); err != nil {
		t.Fatal(err)
	}
	w.turn("Five")
	put(w.World, w.id, session.AgentSwitched{Message: message(w.World), Agent: "build"})
	w.turn("Six")

	// Calls beside each other of which one is late, and then the last step.
	close(release)
	w.Provider.Script(Then(Events(callOf("c1", "alpha", `{"n":1}`)...), Events(append(callOf("c2", "echo", `{"b":1,"a":2}`), Finish(session.FinishToolCalls))...)),
		Calls("zeta", `{}`), Say("That was all"))
	w.Prompt(w.id, "Seven", session.Steer)
	idle(w.World, w.id)

	w.Registries.Remove("acme/x", "")
	w.turn("Eight")
	for _, prompt := range []session.Prompt{{Text: "Nine", System: "Answer in verse."}, {Text: "Ten"}} {
		w.Provider.Script(Say("Yes"))
		ask(w.World, w.id, prompt)
		idle(w.World, w.id)
	}
	// An answer that breaks off, and one that a person stops.
	w.Provider.Script(failing(&session.ProviderError{Class: session.ProviderContentPolicy, Message: "no"}, Delta("Half an ans")))
	w.Prompt(w.id, "Eleven", session.Steer)
	idle(w.World, w.id)
	put(w.World, w.id, session.ModelSwitched{Message: message(w.World), Model: session.ModelRef{Provider: "scripted", Model: "m2"}})
	w.turn("Twelve")
	w.compact()
	w.turn("Thirteen")
	w.turn("Fourteen")

	requests := w.Provider.Requests()
	turns := payloads[session.TurnStarted](w.World, w.id)
	if len(requests) != 16 || len(turns) != 16 {
		t.Fatalf("%d requests and %d turns", len(requests), len(turns))
	}
	var began []int
	for i := 1; i < len(requests); i++ {
		if turns[i].Epoch == -1 {
			began = append(began, i)
			continue
		}
		if !prefix(requests[i-1], requests[i]) {
			t.Errorf("request %d does not begin with request %d: %s", i, i-1, cmp.Diff(spelled(requests[i-1]), spelled(requests[i])))
		}
		if len(requests[i].Messages) == len(requests[i-1].Messages) {
			t.Errorf("request %d adds nothing", i)
		}
		if !same(requests[i-1].Generation, requests[i].Generation) || !same(requests[i-1].Options, requests[i].Options) || requests[i-1].CacheKey != requests[i].CacheKey {
			t.Errorf("request %d is made with something else", i)
		}
	}
	if diff := cmp.Diff([]int{14}, began); diff != "" {
		t.Errorf("epochs began with requests %s", diff)
	}
	var told []string
	for _, text := range texts(requests[13], session.RoleSystem) {
		told = append(told, strings.SplitN(text, "\n", 2)[0])
	}
	want := []string{"core/date is now Tuesday",
		"You now work as the agent sketch. What you were told as the agent build no longer applies; this does:",
		"acme/x/fact is 1!", "No more sketches.", "This was the last step: the limit of steps is reached and tools are disabled until the user writes again. " +
			"Answer with text only. Say that the limit was reached, sum up what is done, list what remains, and recommend what to do next.",
		"acme/x/fact was 1!", "Answer in verse."}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	// What is sent is what a later read of the log gives: the next process goes on the same.
	dir, last := w.Dir, requests[15]
	w.Close()
	again := &world{World: New(t, Options{Dir: dir, Agents: builder(func(a *session.Agent) { a.System, a.Steps = "You build.", 3 })}), id: w.id,
		states: w.states, asked: map[string]int{}}
	again.Contribute("core/tools", echo(again.World), tool(again.World, "zeta", quiet), tool(again.World, "alpha", quiet))
	again.contribute("core/env", "", "core/date", "core/place")
	if got := again.turn("Fifteen"); !prefix(last, got) {
		t.Errorf("after a restart: %s", cmp.Diff(spelled(last), spelled(got)))
	}
}

// spelled is a request for people who look for what changed in it.
func spelled(request session.ModelRequest) []string {
	var all []string
	for _, part := range []any{request.System, request.Tools} {
		encoded, _ := json.Marshal(part)
		all = append(all, string(encoded))
	}
	for _, message := range request.Messages {
		encoded, _ := json.Marshal(message)
		all = append(all, string(encoded))
	}
	return all
}

// The last step is said once, however often it is tried.
func TestTheLastStepIsSaidOnce(t *testing.T) {
	w := newWorld(t, Options{Agents: builder(func(a *session.Agent) { a.Steps = 1 })})
	w.Provider.Script(Fail(&session.ProviderError{Class: session.ProviderContentPolicy, Message: "no"}), Say("Yes"), Say("Yes"))
	w.Prompt(w.id, "One", session.Steer)
	idle(w.World, w.id)
	w.Run(w.id)
	w.Prompt(w.id, "Two", session.Steer)
	idle(w.World, w.id)
	var got []string
	for _, m := range w.Messages(w.id) {
		got = append(got, string(m.Type))
	}
	if diff := cmp.Diff([]string{"user", "system", "assistant", "assistant", "user", "system", "assistant"}, got); diff != "" {
		t.Error(diff)
	}
}

// An agent without words is told those of the model, and a switch of the model tells the
// other's.
func TestTheModelsTextIsToldToAgentsWithoutOne(t *testing.T) {
	w := newWorld(t, Options{Models: Models{"scripted/m1": {ModelInfo: session.ModelInfo{System: "You are the first."}},
		"scripted/m2": {ModelInfo: session.ModelInfo{System: "You are the second."}}}})
	first := w.turn("Hi")
	put(w.World, w.id, session.ModelSwitched{Message: message(w.World), Model: session.ModelRef{Provider: "scripted", Model: "m2"}})
	second := w.turn("And you?")
	if baseline(first) != "You are the first." || !prefix(first, second) {
		t.Errorf("baselines %q and %q", baseline(first), baseline(second))
	}
	if got := only(t, texts(second, session.RoleSystem)); !strings.HasSuffix(got, "\n\nYou are the second.") {
		t.Errorf("told %q", got)
	}
}

// The agent plan says what it is when it comes and that it is over when it goes.
func TestPlanningBeginsAndEnds(t *testing.T) {
	w := newWorld(t, Options{Agents: session.DefaultAgents()})
	plan, _ := w.Agents.Agent("plan")
	w.turn("Hi")
	put(w.World, w.id, session.AgentSwitched{Message: message(w.World), Agent: "plan"})
	w.turn("Plan it")
	put(w.World, w.id, session.AgentSwitched{Message: message(w.World), Agent: "build"})
	told := texts(w.turn("Do it"), session.RoleSystem)
	if len(told) != 2 || plan.Reminder == "" || plan.Leaving == "" || !strings.HasSuffix(told[0], plan.System+"\n\n"+plan.Reminder) ||
		!strings.HasPrefix(told[1], plan.Leaving+"\n\nYou now work as the agent build.") {
		t.Errorf("told %q", told)
	}
}
