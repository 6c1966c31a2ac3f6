package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/session"
)

// keep writes a file of the operator's, beside the configuration, or of the project.
func (r *rig) keep(operator bool, name, text string) {
	r.t.Helper()
	path := filepath.Join(r.project, name)
	if operator {
		path = filepath.Join(filepath.Dir(r.data), ".config", "plinth", name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// newFilesRig is a host with agents, commands and skills that are files.
func newFilesRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.keep(true, "agents/mine.md", "---\ndescription: The operator's\nmode: primary\n---\nYou are the operator's.")
	r.keep(true, "commands/both.md", "---\ndescription: The operator's\n---\nrepeat mine $1")
	r.keep(true, "skills/notes/SKILL.md", "---\nname: notes\ndescription: Writes notes\n---\nOPERATOR")
	r.keep(false, ".plinth/agents/theirs.md", "---\ndescription: The project's\nrules:\n  - {action: read, resource: \"*\", effect: allow}\n---\nYou are the project's.")
	r.keep(false, ".plinth/agents/mine.md", "---\ndescription: Stolen\n---\nx")
	r.keep(false, ".plinth/agents/bad.md", "---\nmodel: a/b\n---\nx")
	r.keep(false, ".plinth/commands/both.md", "repeat stolen")
	r.keep(false, ".plinth/commands/theirs.md", "---\ndescription: The project's\n---\nrepeat theirs $1, !`echo ran`")
	r.keep(false, ".plinth/skills/notes/SKILL.md", "---\nname: notes\ndescription: Stolen\n---\nSTOLEN")
	r.keep(false, ".claude/skills/more/SKILL.md", "---\nname: more\ndescription: Does more\n---\nPROJECT")
	r.restart()
	return r
}

// TestFilesAreListed: what the operator and the project wrote, and what is wrong with it.
func TestFilesAreListed(t *testing.T) {
	r := newFilesRig(t)
	out, err := r.command("agents", "-C", r.project)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mine ", "The operator's", "theirs ", "The project's", "! " + filepath.Join(r.project, ".plinth/agents/bad.md") + `:2: unknown key "model"`,
		"! " + filepath.Join(r.project, ".plinth/agents/mine.md") + ": an agent of this name is there already"} {
		if !strings.Contains(out, want) {
			t.Errorf("the agents have no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "Stolen") {
		t.Errorf("an agent was replaced:\n%s", out)
	}
	if out, err := r.command("commands", "-C", r.project); err != nil || !strings.Contains(out, "both    -  -  The operator's\ninit    -  -  Writes AGENTS.md") || !strings.Contains(out, "theirs  -  -  The project's") {
		t.Errorf("%v\n%s", err, out)
	}
	skills, err := r.client().Skills(r.within(), protocol.In{Directory: r.project})
	want := protocol.SkillList{Skills: []protocol.Skill{{Name: "more", Description: "Does more", Directory: filepath.Join(r.project, ".claude/skills/more")},
		{Name: "notes", Description: "Writes notes", Directory: filepath.Join(filepath.Dir(r.data), ".config/plinth/skills/notes")}}}
	if diff := cmp.Diff(want, skills); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if out, err := r.command("skills", "-C", r.project); err != nil || !strings.HasPrefix(out, "more   "+want.Skills[0].Directory+"  ") {
		t.Errorf("%v\n%s", err, out)
	}
	elsewhere := t.TempDir()
	if skills, err := r.client().Skills(r.within(), protocol.In{Directory: elsewhere}); err != nil || len(skills.Skills) != 1 {
		t.Errorf("elsewhere: %+v, %v", skills, err)
	}
	if _, err := r.client().Skills(r.within(), protocol.In{Directory: filepath.Join(elsewhere, "none")}); err == nil {
		t.Error("a folder that is not there has skills")
	}
	agents, err := r.client().Agents(r.within(), protocol.In{Directory: r.project})
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range agents.Agents {
		if agent.Project != (agent.Name == "theirs") {
			t.Errorf("%+v", agent)
		}
	}
}

// TestFilesAreUsed: a session works as a project's agent, loads skills and runs commands.
func TestFilesAreUsed(t *testing.T) {
	r := newFilesRig(t)
	s, _, err := sessionService{r.backend}.Create(r.within(), server.Caller{Actor: "test"}, protocol.CreateSession{Agent: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	if result := r.settled(s.ID, `call skill {"name":"notes"}`); result.Outcome != protocol.OutcomeCompleted || !strings.Contains(r.transcript(s.ID), "OPERATOR") {
		t.Errorf("%+v\n%s", result, r.transcript(s.ID))
	}
	baseline := r.baseline(s.ID)
	for _, want := range []string{"You are the project's.", "- explore: ", "- theirs: The project's", "- more: Does more\n- notes: Writes notes"} {
		if !strings.Contains(baseline, want) {
			t.Errorf("the context has no %q:\n%s", want, baseline)
		}
	}
	theirs := protocol.Prompt{Command: &protocol.CommandCall{Name: "theirs", Arguments: "x"}}
	if _, err := (promptService{r.backend}).Admit(r.within(), server.Caller{Actor: "test"}, s.ID, theirs); err == nil || !strings.Contains(err.Error(), "nobody has trusted it with; look at it, then plinth plugin trust "+r.project) {
		t.Errorf("a command line of a project that is not trusted: %v", err)
	}
	if _, err := r.command("plugin", "trust", r.project); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"both": "mine x", "theirs": "theirs x, ran"} {
		receipt, err := promptService{r.backend}.Admit(r.within(), server.Caller{Actor: "test"}, s.ID, protocol.Prompt{Command: &protocol.CommandCall{Name: name, Arguments: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (promptService{r.backend}).Wait(r.within(), s.ID, receipt.ID); err != nil {
			t.Fatal(err)
		}
		if text := r.transcript(s.ID); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", name, want, text)
		}
	}
	expansion, err := r.client().Expand(r.within(), s.ID, protocol.Prompt{Command: &protocol.CommandCall{Name: "init", Arguments: "mind the tests"}})
	if err != nil || !strings.HasPrefix(expansion.Prompt.Text, "Write the file AGENTS.md") || !strings.HasSuffix(expansion.Prompt.Text, "\n\nmind the tests") || len(expansion.Expanded) != 0 {
		t.Errorf("%+v, %v", expansion, err)
	}
}

// TestProjectFilesAreSwitchedOff with project_config, and init is replaced by a command of
// its name.
func TestProjectFilesAreSwitchedOff(t *testing.T) {
	r := newFilesRig(t)
	r.configure("project_config = false\n[commands.init]\ntemplate = \"repeat my own\"\n")
	r.restart()
	in := protocol.In{Directory: r.project}
	agents, err := r.client().Agents(r.within(), in)
	if err != nil || len(agents.Warnings) != 0 {
		t.Error(agents.Warnings, err)
	}
	for _, agent := range agents.Agents {
		if agent.Project {
			t.Errorf("%+v", agent)
		}
	}
	commands, err := r.client().Commands(r.within(), in)
	want := protocol.CommandList{Commands: []protocol.Command{{Name: "both", Source: "config", Description: "The operator's"}, {Name: "init", Source: "config"}}}
	if diff := cmp.Diff(want, commands); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if skills, err := r.client().Skills(r.within(), in); err != nil || len(skills.Skills) != 1 {
		t.Errorf("%+v, %v", skills, err)
	}
}

// transcript is what was said in a session.
func (r *rig) transcript(id string) string {
	r.t.Helper()
	messages, err := r.backend.sessions.Messages(r.within(), id, -1, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	var text strings.Builder
	for _, message := range messages {
		for _, part := range message.Parts {
			text.WriteString(part.Text + "\n")
			if part.Tool == nil {
				continue
			}
			for _, content := range part.Tool.Content {
				text.WriteString(content.Text + "\n")
			}
		}
		if message.Prompt != nil {
			text.WriteString(message.Prompt.Text + "\n")
		}
		if message.Type == session.MessageSystem {
			text.WriteString(message.Text + "\n")
		}
	}
	return text.String()
}
