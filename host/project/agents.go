package project

import (
	"path/filepath"
	"slices"
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

// Options is what a reader works with.
type Options struct {
	// Agents and Commands are the names of those that no project takes the place of.
	Agents, Commands []string
	// Logger is told what is wrong with a file, once.
	Logger hclog.Logger
}

// New makes a reader.
func New(options Options) *Files {
	return &Files{
		agents:   markdown.New(unless(options.Agents, "an agent", parseAgent)),
		commands: markdown.New(unless(options.Commands, "a command", parseCommand)),
		teller:   markdown.NewTeller(options.Logger),
	}
}

// unless refuses files of names that are taken.
func unless[T any](taken []string, what string, parse func(markdown.File) (T, error)) func(markdown.File) (T, error) {
	return func(file markdown.File) (value T, err error) {
		if slices.Contains(taken, file.Name) {
			return value, file.Errorf("", "%s of this name is there already, and a project takes the place of none; rename the file", what)
		}
		return parse(file)
	}
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
	switch agent.Mode {
	case session.AgentPrimary, session.AgentSubagent, session.AgentAll:
	case session.AgentHidden:
		return session.Agent{}, file.Errorf("mode", "hidden agents are the host's own; choose primary, subagent or all")
	default:
		return session.Agent{}, file.Errorf("mode", "%.40q is none; choose primary, subagent or all", agent.Mode)
	}
	if err := agent.Check(); err != nil {
		return session.Agent{}, mistake(file, err)
	}
	return agent, nil
}

// mistake is what the kernel has against an agent, at the line of the key that it names
// first.
func mistake(file markdown.File, err error) error {
	text := strings.ReplaceAll(err.Error(), session.ErrInvalid.Error()+": ", "")
	wrong := file.Errorf("", "%s", text)
	if end := strings.IndexAny(text, " :"); end > 0 {
		wrong.Line = file.Lines()[text[:end]]
	}
	return wrong
}

func checkDescription(file markdown.File, text string) error {
	if len(text) > maxDescription || strings.ContainsFunc(text, unicode.IsControl) {
		return file.Errorf("description", "must be one line of at most %d bytes", maxDescription)
	}
	return nil
}
