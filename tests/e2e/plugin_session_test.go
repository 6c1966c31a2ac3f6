package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/session"
)

// breaking is a plugin whose tool traps.
func breaking(name, version string) []byte {
	return bridgetest.New().Traps(abi.ExportTool).Packed(declared(name, version, ""))
}

// is waits until a plugin stands as it is to.
func (g *garden) is(name, version string, state session.PluginState) {
	g.t.Helper()
	g.until(func() string {
		l, err := g.read()
		if err != nil {
			return err.Error()
		}
		p := l.plugins["test/"+name]
		return cmp.Diff([]string{version, string(state)}, []string{p.Version, p.State})
	})
}

// count is how many events of a type there are of the plugins of the garden.
func (g *garden) count(payload session.Payload) (n int) {
	g.t.Helper()
	l, err := g.read()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, eventType := range l.events {
		if eventType == payload.EventType() {
			n++
		}
	}
	return n
}

// broken calls what traps in two sessions until it has been done away with.
func (g *garden) broken(gone func() bool, sessions ...string) {
	g.t.Helper()
	for n := range 20 {
		if gone() {
			return
		}
		for _, told := range g.say(sessions[n%len(sessions)], fmt.Sprintf("call %d", n)) {
			if strings.HasPrefix(told, "one 2") {
				g.t.Errorf("the model is told %q", told)
			}
		}
	}
	if !gone() {
		g.t.Fatalf("twenty traps change nothing\n%s", g.host.notes)
	}
}

// A new version that traps is rolled back by itself, while sessions go on. It does not
// come back by itself either, and the next one comes.
func TestATrappingVersionIsRolledBack(t *testing.T) {
	t.Parallel()
	g := newGarden(t, "")
	g.plant("one", "1.0.0", versioned("one", "1.0.0"))
	g.rests()
	sessions := []string{g.host.session(g.world), g.host.session(g.world)}
	for _, id := range sessions {
		if diff := cmp.Diff([]string{"one 1.0.0"}, g.say(id, "before")); diff != "" {
			t.Error(diff)
		}
	}
	g.plant("one", "2.0.0", breaking("one", "2.0.0"))
	g.is("one", "2.0.0", session.PluginStateActive)
	g.broken(func() bool { return g.count(session.PluginRolledBack{}) > 0 }, sessions...)
	g.is("one", "1.0.0", session.PluginStateActive)
	g.until(func() string {
		if faults := g.count(session.PluginFaulted{}); faults < 5 {
			return fmt.Sprintf("%d faults are recorded", faults)
		}
		return ""
	})
	for _, id := range sessions {
		if diff := cmp.Diff([]string{"one 1.0.0"}, g.say(id, "after")); diff != "" {
			t.Error(diff)
		}
	}
	g.host.kill()
	g.host = g.serve()
	for _, id := range sessions { // also after a start that finds the same file
		if diff := cmp.Diff([]string{"one 1.0.0"}, g.say(id, "after a start")); diff != "" {
			t.Error(diff)
		}
	}
	g.plant("one", "3.0.0", versioned("one", "3.0.0"))
	g.rests()
	g.works()
	if n := g.count(session.PluginRolledBack{}); n != 1 {
		t.Errorf("it was rolled back %d times", n)
	}
}

// A plugin is removed while a turn that was offered its tool is under way: the call
// settles as stale, and the turn goes on.
func TestAPluginIsRemovedInATurn(t *testing.T) {
	t.Parallel()
	g := newGarden(t, "")
	g.plant("one", "1.0.0", versioned("one", "1.0.0"))
	g.plant("two", "1.0.0", versioned("two", "1.0.0"))
	g.rests()
	id := g.host.session(g.world)
	type answer struct {
		told []string
		err  error
	}
	answered := make(chan answer, 1)
	ctx := g.within()
	go func() {
		told, err := g.ask(ctx, id, "[stop]")
		answered <- answer{told, err}
	}()
	select {
	case <-g.stopped:
	case <-ctx.Done():
		t.Fatal("the model was not asked")
	}
	g.uproot("one")
	g.until(func() string {
		if g.count(session.PluginRemoved{}) == 0 {
			return "the plugin is not removed"
		}
		return ""
	})
	close(g.goOn)
	got := <-answered
	if got.err != nil || len(got.told) != 2 || !strings.Contains(got.told[0], "Stale tool call: one") || got.told[1] != "two 1.0.0" {
		t.Errorf("the tools told %q, %v", got.told, got.err)
	}
	g.rests()
	if diff := cmp.Diff([]string{"two 1.0.0"}, g.say(id, "again")); diff != "" {
		t.Error(diff)
	}
	if slices.Contains(g.sent().Tools, "one") {
		t.Error("the model is still offered the tool")
	}
}

// ruling is a plugin with a context source beside its tool.
func ruling(guest *bridgetest.Guest, name string) []byte {
	key := "test/" + name + "/rule"
	return guest.Answers(abi.ExportContext, fmt.Sprintf(`{"ok":{"sources":[{"key":%q,"state":"value","value":1,"baseline":"The rule of %s holds.","removed":"The rule of %s is gone."}]}}`,
		key, name, name)).Packed(declared(name, "1.0.0", fmt.Sprintf("[[context]]\nkey = %q\nremovable = true\n", key)))
}

// updates are what a session was told of its context since it began.
func (g *garden) updates(id string) (texts []string) {
	g.t.Helper()
	page, err := g.host.client.Events(g.within(), id, "", 1000)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, event := range page.Events {
		var update session.ContextUpdated
		if event.Type != update.EventType() {
			continue
		}
		if err := json.Unmarshal(event.Data, &update); err != nil {
			g.t.Fatal(err)
		}
		texts = append(texts, update.Text)
	}
	return texts
}

// times is how often the last request to the model says something.
func (g *garden) times(text string) int {
	return strings.Count(string(g.sent().Body), text)
}

// A plugin with a context source is removed: the session is told its removal text at the
// next boundary, once. Of one that is quarantined it is told nothing.
func TestARemovedPluginsContext(t *testing.T) {
	t.Parallel()
	g := newGarden(t, "")
	g.plant("one", "1.0.0", ruling(bridgetest.New().Answers(abi.ExportTool, `{"ok":{"content":[{"type":"text","text":"one 1.0.0"}]}}`), "one"))
	g.plant("two", "1.0.0", ruling(bridgetest.New().Traps(abi.ExportTool), "two"))
	g.rests()
	sessions := []string{g.host.session(g.world), g.host.session(g.world)}
	for _, id := range sessions {
		g.say(id, "first")
		if g.times("The rule of one holds.") != 1 || g.times("The rule of two holds.") != 1 {
			t.Fatalf("the model is sent %s", g.sent().Body)
		}
	}
	g.broken(func() bool { return g.count(session.PluginQuarantined{}) > 0 }, sessions...)
	g.is("two", "1.0.0", session.PluginStateQuarantined)
	for _, id := range sessions {
		g.say(id, "after the quarantine")
		if texts := g.updates(id); texts != nil || g.times("The rule of two holds.") != 1 || slices.Contains(g.sent().Tools, "two") {
			t.Errorf("of a quarantine the session is told %q, and the model is sent %s", texts, g.sent().Body)
		}
	}
	g.uproot("one")
	g.until(func() string {
		if g.count(session.PluginRemoved{}) == 0 {
			return "the plugin is not removed"
		}
		return ""
	})
	for range 2 {
		for _, id := range sessions {
			g.say(id, "after the removal")
			if diff := cmp.Diff([]string{"The rule of one is gone."}, g.updates(id)); diff != "" || g.times("The rule of one is gone.") != 1 {
				t.Errorf("of the removal the session is told %s, and the model is sent %s", diff, g.sent().Body)
			}
		}
	}
}
