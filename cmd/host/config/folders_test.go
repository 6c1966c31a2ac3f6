package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/expand"
	"github.com/plinthhost/plinth/session"
)

// beside writes files beside the configuration.
func beside(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, ".config/plinth", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAgentsAndCommandsAreFiles: as tables are, with the tables of the configuration over
// them; without a config.toml too.
func TestAgentsAndCommandsAreFiles(t *testing.T) {
	dir, environ := home(t, "agent = \"review\"\n[agents.review]\nsteps = 9\nrules = [{ action = \"bash\", resource = \"*\", effect = \"deny\" }]\n[commands.both]\ntemplate = \"table\"\n[skills]\nfolders = [\"~/skills\", \"/skills\"]\n")
	beside(t, dir, map[string]string{
		"agents/review.md": "---\ndescription: Reviews\nmode: primary\nmodel: offline/rules\nsteps: 3\nactions: [read]\nrules:\n  - {action: read, resource: x, effect: allow}\n" +
			"generation:\n  temperature: 0.5\n  max_tokens: 10\noptions:\n  effort: {level: 2}\n---\nYou review.\n",
		"agents/plan.md": "---\nsteps: 5\n---\n", "agents/general.md": "---\ndisabled: true\n---",
		"commands/both.md": "file", "commands/a.md": "---\ndescription: A\nagent: review\nmodel: offline/rules\n---\nDo $1\n", "agents/notes.txt": "no agent",
	})
	got, err := config.Load(config.Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	temperature, tokens := 0.5, int64(10)
	var review, plan session.Agent
	for _, agent := range got.Agents {
		switch agent.Name {
		case "review":
			review = agent
		case "plan":
			plan = agent
		case "general":
			t.Error("general is not disabled")
		}
	}
	want := session.Agent{Name: "review", Description: "Reviews", Mode: session.AgentPrimary, System: "You review.", Model: &session.ModelRef{Provider: "offline", Model: "rules"},
		Steps: 9, Actions: []string{"read"}, Rules: []session.Rule{{Action: "read", Resource: "x", Effect: session.Allow}, {Action: "bash", Resource: "*", Effect: session.Deny}},
		Generation: session.Generation{Temperature: &temperature, MaxTokens: &tokens}}
	if string(review.Options["effort"]) != `{"level":2}` {
		t.Errorf("options: %s", review.Options["effort"])
	}
	review.Options = nil
	if diff := cmp.Diff(want, review); diff != "" {
		t.Error(diff)
	}
	if plan.Steps != 5 || plan.System == "" {
		t.Errorf("a built-in agent is replaced: %+v", plan)
	}
	commands := []expand.Command{{Name: "a", Source: "config", Description: "A", Agent: "review", Model: "offline/rules", Template: "Do $1"}, {Name: "both", Source: "config", Template: "table"}}
	if diff := cmp.Diff(commands, got.Commands); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, ".config/plinth/skills"), filepath.Join(dir, "skills"), "/skills"}, got.Skills.Folders); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(filepath.Join(dir, ".config/plinth/config.toml")); err != nil {
		t.Fatal(err)
	}
	if got, err = config.Load(config.Sources{Environ: environ}); err != nil || len(got.Commands) != 2 || got.Commands[1].Template != "file" {
		t.Errorf("without config.toml: %+v, %v", got.Commands, err)
	}
}

// TestMistakesInFiles name the file and the line.
func TestMistakesInFiles(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"agents/a.md", "---\nsystem: x\n---\n", `agents/a.md:2: unknown key "system"; known here: description, mode, reminder, leaving, model, variant, steps, actions, rules, generation, options, disabled`},
		{"agents/a.md", "---\ndescription: d\nsteps: 5000\n---\n", "agents/a.md:3: agents.a.steps = 5000: "},
		{"agents/a.md", "---\nmodel: other/x\n---\n", "agents/a.md:2: agents.a.model = "},
		{"agents/A.md", "x", "agents/A.md: agents.A: an agent's name begins with a small letter"},
		{"agents/a.md", "---\ngeneration:\n  heat: 1\n---\n", `agents/a.md:3: unknown key "heat"`},
		{"agents/a.md", "---\nrules:\n  - {action: read, resource: x, effect: maybe}\n---\n", "agents/a.md:2: agents.a.rules.0.effect"},
		{"agents/title.md", "---\ndisabled: true\n---\n", "agents/title.md:2: agents.title.disabled: the host itself needs this agent"},
		{"commands/c.md", "---\ndescription: d\n---\n", "commands/c.md: commands.c.template: is empty; write the text of the prompt"},
		{"commands/c.md", "---\nagent: nobody\n---\nx", `commands/c.md:2: commands.c.agent = "nobody": is no agent`},
		{"commands/c.md", "---\nargs: 1\n---\nx", `commands/c.md:2: unknown key "args"; known here: description, agent, model, variant`},
		{"config.toml", "[skills]\nfolders = [\"skills\"]\n", `config.toml:2: skills.folders.0 = "skills": must be an absolute path, or begin with ~/`},
		{"config.toml", "[skills]\nfolders = [" + strings.Repeat("\"/x\",", 33) + "]\n", "config.toml:2: skills.folders: has 33 elements; the most is 32"},
	} {
		dir, environ := home(t, "")
		beside(t, dir, map[string]string{c.name: c.text})
		_, err := config.Load(config.Sources{Environ: environ})
		mistakes, ok := errors.AsType[*config.Error](err)
		if !ok || len(mistakes.Problems) != 1 || !strings.HasPrefix(strings.TrimPrefix(err.Error(), filepath.Join(dir, ".config/plinth")+"/"), c.want) {
			t.Errorf("%s %.40q: %v, want %s", c.name, c.text, err, c.want)
		}
	}
}
