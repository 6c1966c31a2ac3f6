package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/expand"
	"github.com/plinthhost/plinth/host/project"
	"github.com/plinthhost/plinth/session"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAgentsAndCommandsOfAProject(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, ".plinth/agents/review.md"), "---\ndescription: Reviews\nmode: primary\nsteps: 4\nreminder: Change nothing.\nleaving: Over.\n"+
		"actions: [read, grep]\nrules:\n  - {action: read, resource: \"*.key\", effect: deny}\n---\nYou review.\n")
	write(t, filepath.Join(root, ".plinth/agents/plain.md"), "You are plain.")
	write(t, filepath.Join(root, ".plinth/commands/check.md"), "---\ndescription: Checks\n---\nCheck $1 with !`make test`")
	files, location := project.New(project.Options{Logger: hclog.NewNullLogger()}), session.Location{Root: root}
	agents, wrong := files.Agents(location)
	want := []session.Agent{{Name: "plain", Mode: session.AgentAll, System: "You are plain.", Confined: true},
		{Name: "review", Description: "Reviews", Mode: session.AgentPrimary, Steps: 4, System: "You review.", Reminder: "Change nothing.", Leaving: "Over.",
			Actions: []string{"read", "grep"}, Rules: []session.Rule{{Action: "read", Resource: "*.key", Effect: session.Deny}}, Confined: true}}
	if diff := cmp.Diff(want, agents); diff != "" || len(wrong) != 0 {
		t.Error(diff, wrong)
	}
	commands, wrong := files.Commands(location)
	if diff := cmp.Diff([]expand.Command{{Name: "check", Source: "project", Description: "Checks", Template: "Check $1 with !`make test`"}}, commands); diff != "" || len(wrong) != 0 {
		t.Error(diff, wrong)
	}
	for _, nowhere := range []session.Location{{}, {Root: t.TempDir()}} {
		agents, wrongAgents := files.Agents(nowhere)
		commands, wrongCommands := files.Commands(nowhere)
		if len(agents)+len(wrongAgents)+len(commands)+len(wrongCommands) != 0 {
			t.Errorf("%+v has %v %v %v %v", nowhere, agents, wrongAgents, commands, wrongCommands)
		}
	}
}

// TestMistakesOfAProject: a file that says what a project may not, or what nothing reads, is
// left out, with file and line.
func TestMistakesOfAProject(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"agents/a.md", "---\ndescription: d\nmodel: p/m\n---\nx", `a.md:3: unknown key "model"; known here: description, mode, steps, reminder, leaving, actions, rules`},
		{"agents/a.md", "---\nmode: hidden\n---\nx", "a.md:2: mode: hidden agents are the host's own; choose primary, subagent or all"},
		{"agents/a.md", "---\nmode: boss\n---\nx", `a.md:2: mode: "boss" is none; choose primary, subagent or all`},
		{"agents/A.md", "x", "A.md: a name begins with a small letter"},
		{"agents/a.md", "---\ndescription: d\nsteps: -1\n---\nx", "a.md:3: steps is -1; it must be 0, for any number, or more"},
		{"agents/a.md", "---\nrules:\n  - action: read\n    resource: x\n    effect: perhaps\n---\nx", `a.md:3: rules[0]: effect is "perhaps"; it must be allow, ask or deny`},
		{"agents/a.md", "---\nrules:\n  - action: read\n    resorce: x\n---\nx", `a.md:4: unknown key "resorce"; known here: action, resource, effect`},
		{"agents/a.md", "---\nactions:\n  - read\n  - \"*\"\n---\nx", `a.md:4: actions[1] is "*"; it must be an action without patterns, like read`},
		{"agents/build.md", "x", "build.md: an agent of this name is there already, and a project takes the place of none; rename the file"},
		{"commands/init.md", "x", "init.md: a command of this name is there already, and a project takes the place of none; rename the file"},
		{"agents/a.md", "---\ndescription: \"a\\nb\"\n---\nx", "a.md:2: description: must be one line of at most 1024 bytes"},
		{"agents/a.md", "---\ndescription: " + strings.Repeat("x", 1025) + "\n---\nx", "must be one line of at most 1024 bytes"},
		{"agents/a.md", strings.Repeat("x", session.MaxAgentSystem+1), "a.md: system has 65537 bytes, the limit is 65536"},
		{"commands/c.md", "---\nagent: build\n---\nx", `c.md:2: unknown key "agent"; known here: description`},
		{"commands/C.md", "x", "C.md: a command's name begins with a small letter"},
		{"commands/c.md", " ", "c.md: the text is empty; write the text of the prompt"},
		{"commands/c.md", "!`echo '$1'`", "c.md: the text has $1 in quotes"},
	} {
		root := t.TempDir()
		write(t, filepath.Join(root, ".plinth", c.file), c.text)
		options := project.Options{Agents: []string{"build"}, Commands: []string{"init"}, Logger: hclog.NewNullLogger()}
		files, location := project.New(options), session.Location{Root: root}
		agents, wrong := files.Agents(location)
		commands, wrongCommands := files.Commands(location)
		wrong = append(wrong, wrongCommands...)
		if len(agents)+len(commands) != 0 || len(wrong) != 1 || !strings.Contains(wrong[0].Error(), c.want) {
			t.Errorf("%s %.60q: %v, want %q", c.file, c.text, wrong, c.want)
		}
	}
}
