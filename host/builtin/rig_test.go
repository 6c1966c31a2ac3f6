package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/builtin"
	"github.com/plinthhost/plinth/host/skill"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	. "github.com/plinthhost/plinth/session/sessiontest"
)

// rig is a kernel with the native tools, whose sessions work in a project with skills.
type rig struct {
	*World
	t       *testing.T
	project string
	id      string
}

func newRig(t *testing.T, rules ...session.Rule) *rig {
	t.Helper()
	r := &rig{t: t, project: t.TempDir()}
	options := Options{Rules: rules, Skills: skill.NewFinder(skill.Options{Project: true, Logger: hclog.NewNullLogger()}),
		Agents: []session.Agent{{Name: "helper", Mode: session.AgentSubagent, Description: "Helps out"}}}
	r.World = New(t, options)
	var all []registry.Contribution
	for _, tool := range builtin.Tools() {
		all = append(all, r.Kinds.Tools.Contribute(tool.Definition().Name, 0, tool))
	}
	r.Contribute("core/session", append(all,
		r.Kinds.Contexts.Contribute(builtin.AgentsKey, 0, builtin.AgentGuidance(r.Agents, r.Permissions)),
		r.Kinds.Contexts.Contribute(builtin.SkillsKey, 1, builtin.SkillGuidance(options.Skills, r.Permissions)))...)
	r.id = r.session("")
	return r
}

// session makes one that works in the project as an agent.
func (r *rig) session(agent string) string {
	r.t.Helper()
	s, _, err := r.Sessions.Create(r.t.Context(), session.System(), session.CreateRequest{Directory: r.project, Agent: agent})
	if err != nil {
		r.t.Fatal(err)
	}
	return s.ID
}

// write writes a file of the project.
func (r *rig) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.project, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// call has the model call a tool, and answers how the call was settled.
func (r *rig) call(tool, input string) *session.ToolPart {
	r.t.Helper()
	r.Provider.Script(Calls(tool, input), Say("Done"))
	return r.prompted()
}

// prompted prompts the session and answers its last call.
func (r *rig) prompted() *session.ToolPart {
	r.t.Helper()
	prompts := 0
	for _, message := range r.Messages(r.id) {
		if message.Type == session.MessageUser {
			prompts++
		}
	}
	r.Prompt(r.id, "Go", session.Steer)
	r.Settled(r.id, prompts+1)
	var last *session.ToolPart
	for _, message := range r.Messages(r.id) {
		for _, part := range message.Parts {
			if part.Tool != nil {
				last = part.Tool
			}
		}
	}
	return last
}

// told is what the model reads of a call.
func told(part *session.ToolPart) string {
	if part.Error != nil {
		return "error " + part.Error.Kind + ": " + part.Error.Message
	}
	var texts []string
	for _, content := range part.Content {
		texts = append(texts, content.Text)
	}
	return strings.Join(texts, "\n")
}

func deny(action, resource string) session.Rule {
	return session.Rule{Action: action, Resource: resource, Effect: session.Deny}
}

// events counts the session's events of a type.
func (r *rig) events(eventType string) (n int) {
	r.t.Helper()
	page, err := r.Log.Read(r.t.Context(), r.id, -1, 10_000)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, event := range page.Events {
		if event.Type == eventType {
			n++
		}
	}
	return n
}
