package builtin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/builtin"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

const (
	toldAgents = "Agents that take a task from you through the tool task:\n" +
		"- explore: Finds things out without changing any: which files, where something is defined or used, how it works\n" +
		"- general: Works through a task of several steps on its own and reports the result\n- helper: Helps out"
	toldSkills = "Skills tell how certain work is done. Before you do what one of them is for, load it with the tool skill:\n"
)

// turn has the model say something, and answers what it was told before.
func (r *rig) turn() (system, update string) {
	r.t.Helper()
	r.Provider.Script(sessiontest.Say("Done"))
	r.prompted()
	requests := r.Provider.Requests()
	last := requests[len(requests)-1]
	for _, part := range last.System {
		system += part.Text
	}
	if message := last.Messages[len(last.Messages)-1]; message.Role == session.RoleSystem {
		update = message.Parts[0].Text
	}
	return system, update
}

// TestGuidance: names and lines at first, what changed later, and a word when all is gone.
func TestGuidance(t *testing.T) {
	r := newRig(t, deny("skill", "hidden"))
	for _, name := range []string{"notes", "hidden"} {
		r.write(".plinth/skills/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: |\n  Writes\n  "+name+"\nlicense: MIT\n---\nSECRET TEXT\n")
	}
	system, update := r.turn()
	if want := toldAgents + "\n\n" + toldSkills + "- notes: Writes notes"; system != want || update != "" {
		t.Errorf("at first %q, %q\nwant %q", system, update, want)
	}
	r.write(".claude/skills/more/SKILL.md", "---\nname: more\ndescription: Does more\n---\ntext")
	if _, update := r.turn(); update != "The skills have changed. This list takes the place of the one before:\n- more: Does more\n- notes: Writes notes" {
		t.Errorf("one more: %q", update)
	}
	if _, update := r.turn(); update != "" {
		t.Errorf("told again: %q", update)
	}
	for _, name := range []string{".plinth/skills", ".claude/skills"} {
		if err := os.RemoveAll(filepath.Join(r.project, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, update := r.turn(); update != "There are no skills any more; do not load those that were listed before." {
		t.Errorf("gone: %q", update)
	}
}

// TestGuidanceHoldsToTheRules: who may give no tasks is told of no agents, and who may load
// no skill of none.
func TestGuidanceHoldsToTheRules(t *testing.T) {
	r := newRig(t, deny("skill", "*"))
	r.write(".plinth/skills/notes/SKILL.md", "---\nname: notes\ndescription: Writes notes\n---\ntext")
	r.Provider.Script(sessiontest.Calls("task", `{"description":"Look","prompt":"Find it","agent":"helper"}`), sessiontest.Say("Found"), sessiontest.Say("Done"))
	r.prompted()
	for i, want := range []string{toldAgents, "", toldAgents} {
		var system strings.Builder
		for _, part := range r.Provider.Requests()[i].System {
			system.WriteString(part.Text)
		}
		if system.String() != want {
			t.Errorf("request %d: %q, want %q", i, system.String(), want)
		}
	}
}

// many is a finder of very many skills.
type many struct{ session.SkillFinder }

func (many) Skills(context.Context, session.Location) (all []session.Skill, err error) {
	for i := range 2000 {
		all = append(all, session.Skill{Name: fmt.Sprintf("skill-%04d", i), Description: strings.Repeat("ä", 400)})
	}
	return all, nil
}

// everything is allowed.
type everything struct{}

func (everything) Effects(_ context.Context, _ session.Asker, _, _ string, resources []string) ([]session.Effect, error) {
	effects := make([]session.Effect, len(resources))
	for i := range effects {
		effects[i] = session.Allow
	}
	return effects, nil
}

func TestGuidanceIsBounded(t *testing.T) {
	states, err := builtin.SkillGuidance(many{}, everything{}).Observe(t.Context(), session.Observation{})
	if err != nil {
		t.Fatal(err)
	}
	text := states[0].Baseline
	if len(text) > 13<<10 || !strings.HasSuffix(text, " more") || !strings.Contains(text, "ä…\n- skill-0001") || !strings.HasPrefix(states[0].Update, "The skills have changed.") {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
}
