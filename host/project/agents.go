package project

import (
	"path/filepath"
	"strings"
	"unicode"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/expand"
	"github.com/plinthhost/plinth/host/markdown"
	"github.com/plinthhost/plinth/session"
)

// Files reads the files of projects. It is safe for use by several goroutines.
type Files struct {
	agents   *markdown.Files[session.Agent]
	commands *markdown.Files[expand.Command]
	teller   *markdown.Teller
}

// New makes a reader that logs what is wrong with a file, once.
func New(logger hclog.Logger) *Files {
	return &Files{agents: markdown.New(parseAgent), commands: markdown.New(parseCommand), teller: markdown.NewTeller(logger)}
}

// folder is a folder of the project of a place; ok is false without one.
func folder(location session.Location, name string) (_ markdown.Folder, ok bool) {
	return markdown.Folder{Path: filepath.Join(location.Root, name), Within: location.Root}, location.Root != ""
}

// Agents answers the agents of a place's project by name, and what is wrong with files,
// which keeps those out.
func (f *Files) Agents(location session.Location) (agents []session.Agent, wrong []error) {
	in, ok := folder(location, ".plinth/agents")
	if !ok {
		return nil, nil
	}
	agents, wrong = f.agents.In(in, "")
	f.teller.Tell("an agent of the project is left out", wrong)
	return agents, wrong
}

// maxDescription bounds a description, in bytes.
const maxDescription = 1024

func parseAgent(file markdown.File) (session.Agent, error) {
	front := struct {
		Description string            `yaml:"description"`
		Mode        session.AgentMode `yaml:"mode"`
		Steps       int               `yaml:"steps"`
		Reminder    string            `yaml:"reminder"`
		Leaving     string            `yaml:"leaving"`
		Actions     []string          `yaml:"actions"`
		Rules       []struct {
			Action   string         `yaml:"action"`
			Resource string         `yaml:"resource"`
			Effect   session.Effect `yaml:"effect"`
		} `yaml:"rules"`
	}{Mode: session.AgentAll}
	if err := file.Front(&front); err != nil {
		return session.Agent{}, err
	}
	agent := session.Agent{Name: file.Name, Description: front.Description, Mode: front.Mode, Steps: front.Steps, System: file.Body,
		Reminder: front.Reminder, Leaving: front.Leaving, Actions: front.Actions, Confined: true}
	for _, rule := range front.Rules {
		agent.Rules = append(agent.Rules, session.Rule(rule))
	}
	if err := checkDescription(file, agent.Description); err != nil {
		return session.Agent{}, err
	}
	if agent.Mode == session.AgentHidden {
		return session.Agent{}, file.Errorf("mode", "hidden agents are the host's own; choose primary, subagent or all")
	}
	if err := agent.Check(); err != nil {
		return session.Agent{}, file.Errorf("", "%s", strings.TrimPrefix(err.Error(), session.ErrInvalid.Error()+": "))
	}
	return agent, nil
}

func checkDescription(file markdown.File, text string) error {
	if len(text) > maxDescription || strings.ContainsFunc(text, unicode.IsControl) {
		return file.Errorf("description", "must be one line of at most %d bytes", maxDescription)
	}
	return nil
}
