package runner_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// goldens compares the newest request with testdata/request-NAME.golden, and holds it to
// beginning with the one before, if it is of the same epoch.
type goldens struct {
	*world
	before *session.ModelRequest
}

func (g *goldens) request(name string) {
	g.T.Helper()
	requests := g.Provider.Requests()
	last := requests[len(requests)-1]
	if g.before != nil && !prefix(*g.before, last) {
		g.T.Errorf("the request %s does not begin with the one before", name)
	}
	g.before = &last
	Golden(g.T, "request-"+name, text(last))
}

// anew says that the next request begins an epoch.
func (g *goldens) anew() { g.before = nil }

// talks is a session whose context has three sources, and a world with a tool and two
// agents, of which build has so many steps.
func talks(t *testing.T, steps int) *goldens {
	w := newWorld(t, Options{Agents: append(builder(func(a *session.Agent) { a.System, a.Steps = "You build.", steps }),
		session.Agent{Name: "sketch", Mode: session.AgentPrimary, System: "You sketch.", Reminder: "Change nothing.", Leaving: "No more sketches."})})
	w.Contribute("core/tools", tool(w.World, "read", func(_ context.Context, call session.ToolCall) (session.ToolOutput, error) {
		return Output("what " + string(call.Input) + " says"), nil
	}))
	w.contribute("core/env", "", "core/date", "core/instructions", "core/place")
	w.set("core/date", "Monday", "core/instructions", "kind!", "core/place", "here")
	return &goldens{world: w}
}

// plugin contributes a source of a plugin that can be taken back.
func (g *goldens) plugin(value string) {
	g.T.Helper()
	g.set("acme/x/fact", value)
	scope := registry.Scope{ID: "acme/x", Revision: "r1", Contributions: []registry.Contribution{
		g.Kinds.Contexts.Contribute("acme/x", 0, session.ContextSource(fact{g.world, "acme/x/fact", ""}))}}
	if _, err := g.Registries.Replace(scope); err != nil {
		g.T.Fatal(err)
	}
}

// The successive requests of a session in whose context everything happens that can,
// word for word.
func TestGoldenRequestsOfASession(t *testing.T) {
	g := talks(t, 2)
	g.plugin("sunny!")
	g.turn("What is this?")
	g.request("baseline")

	g.set("core/date", "Tuesday", "core/instructions", "brief!", "acme/x/fact", "rainy!")
	g.turn("And today?")
	g.request("update-of-several-sources")

	g.set("core/instructions", "-")
	g.Registries.Remove("acme/x", "")
	g.turn("What is left?")
	g.request("removal")

	put(g.World, g.id, session.AgentSwitched{Message: message(g.World), Agent: "sketch"})
	g.turn("Draw it")
	g.request("agent-switch")

	g.Provider.Script(Say("A rhyme"))
	ask(g.World, g.id, session.Prompt{Text: "Say it", System: "Answer in verse."})
	idle(g.World, g.id)
	g.request("prompt-system")

	put(g.World, g.id, session.AgentSwitched{Message: message(g.World), Agent: "build"})
	g.Provider.Script(Then(Events(Delta("Let me look")), Calls("read", `{"path":"a"}`)), Say("It is done"))
	g.Prompt(g.id, "Build it", session.Steer)
	idle(g.World, g.id)
	g.request("last-step")

	revertedAndForked(t, g)
}

// revertedAndForked goes on from the session in a fork of it, after a revert, and after a
// compaction. Each begins an epoch of its own, in which what was told by updates is told
// by the baseline.
func revertedAndForked(t *testing.T, g *goldens) {
	t.Helper()
	parent := g.id
	drawn := messageOf(t, g.World, parent, "Draw it")
	fork, _, err := g.Sessions.Fork(t.Context(), session.System(), session.ForkRequest{Session: parent, Message: drawn.ID})
	if err != nil {
		t.Fatal(err)
	}
	g.id = fork.ID
	g.anew()
	g.turn("Another way")
	g.request("fork")
	g.turn("And on")
	g.request("fork-continued")

	g.id = parent
	revert(t, g.World, parent, "Say it", false)
	g.anew()
	g.turn("Say it plainly")
	g.request("after-revert")
	g.set("core/date", "Wednesday")
	g.turn("And on")
	g.request("after-revert-continued")

	g.compact()
	g.anew()
	g.turn("Where were we?")
	g.request("epoch-after-compaction")
	if got := only(t, payloads[session.ContextReplaced](g.World, parent)); got.Baseline != baseline(*g.before) {
		t.Errorf("the epoch began with %q", got.Baseline)
	}
	if diff := cmp.Diff([]string{"activity.ended", "prompt.admitted", "activity.started", "prompt.promoted", "context.replaced"}, before(g.World, parent)); diff != "" {
		t.Error(diff)
	}
}

// before are the types of the five events up to the last start of an epoch.
func before(w *World, id string) []string {
	var all []string
	for _, event := range events(w, id) {
		if event.Type == "session.compaction.ended" {
			continue
		}
		all = append(all, event.Type[len("session."):])
		if event.Type == (session.ContextReplaced{}).EventType() {
			return all[len(all)-5:]
		}
	}
	return nil
}

// Results that went for room, and the epoch that begins because of it.
func TestGoldenRequestAfterAPruning(t *testing.T) {
	w := newWorld(t, Options{Agents: builder(func(a *session.Agent) { a.System = "You build." }),
		Models: Models{"scripted/m1": {ModelInfo: session.ModelInfo{Context: 400}}}})
	reader(w.World, 80)
	w.contribute("core/env", "", "core/date")
	w.set("core/date", "Monday")
	w.turn("Hi")
	w.set("core/date", "Tuesday")
	w.Provider.Script(Calls("read", `{"path":"a"}`), Calls("read", `{"path":"b"}`), Calls("read", `{"path":"c"}`), Calls("read", `{"path":"d"}`), Say("Done"))
	w.Prompt(w.id, "Read them", session.Steer)
	idle(w.World, w.id)
	if got := only(t, payloads[session.ResultsPruned](w.World, w.id)); len(got.Calls) == 0 {
		t.Errorf("pruned %+v", got)
	}
	g := goldens{world: w}
	g.request("pruned-results")
	w.turn("And?")
	g.request("pruned-results-continued")
}
