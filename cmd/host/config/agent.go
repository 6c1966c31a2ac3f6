package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plinthhost/plinth/session"
)

// agentTable is one [agents.NAME] as it is written, or the file of an agent. A nil field
// was not set: of an agent that is built in it stays as it is.
type agentTable struct {
	Description *string          `toml:"description" yaml:"description"`
	Mode        *string          `toml:"mode" yaml:"mode"`         // of a new agent: all
	System      *string          `toml:"system" yaml:"-"`          // its own system text
	SystemFile  *string          `toml:"system_file" yaml:"-"`     // absolute path of a file with that text
	Reminder    *string          `toml:"reminder" yaml:"reminder"` // behind the system text, while it is the agent
	Leaving     *string          `toml:"leaving" yaml:"leaving"`   // told when the session leaves it
	Model       *string          `toml:"model" yaml:"model"`       // "provider/model"; the session's
	Variant     *string          `toml:"variant" yaml:"variant"`   // of that model
	Steps       *int             `toml:"steps" yaml:"steps"`       // 0: any number
	Actions     []string         `toml:"actions" yaml:"actions"`   // the only ones; any
	Rules       []Rule           `toml:"rules" yaml:"rules"`       // behind those the agent has already
	Generation  *generationTable `toml:"generation" yaml:"generation"`
	Options     map[string]any   `toml:"options" yaml:"options"` // for the provider's codec
	Disabled    bool             `toml:"disabled" yaml:"disabled"`
}

// Limits of an agent's table.
const (
	maxDescription = 1024 // bytes
	maxSteps       = 1000
)

// agents takes the tables over the built-in agents. It needs the providers. Nothing
// else gives their settings.
func (l *loader) agents(tables map[string]agentTable) {
	byName := map[string]session.Agent{}
	for _, agent := range l.config.Agents {
		byName[agent.Name] = agent
	}
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		key := join("agents", id)
		if !name.MatchString(id) {
			l.problem(key, nil, "an agent's name begins with a small letter and has small letters, digits, - and _ only, at most 64")
			continue
		}
		agent, known := byName[id]
		if !known {
			agent = session.Agent{Name: id, Mode: session.AgentAll}
		}
		if tables[id].Disabled && known && agent.Mode == session.AgentHidden {
			l.problem(join(key, "disabled"), nil, "the host itself needs this agent; it can be changed, not disabled")
		}
		if byName[id] = l.agent(key, agent, tables[id]); tables[id].Disabled {
			delete(byName, id)
		}
	}
	l.config.Agents = slices.SortedFunc(maps.Values(byName), func(a, b session.Agent) int { return strings.Compare(a.Name, b.Name) })
}

// agent answers the agent with what the table, found at key, says of it.
func (l *loader) agent(at string, agent session.Agent, table agentTable) session.Agent {
	key := func(field string) string { return join(at, field) }
	if table.Description != nil {
		agent.Description = *table.Description
		if len(agent.Description) > maxDescription || strings.ContainsFunc(agent.Description, unicode.IsControl) {
			l.problem(key("description"), nil, "must be one line of at most %d bytes", maxDescription)
		}
	}
	if table.Mode != nil {
		agent.Mode = session.AgentMode(*table.Mode)
		l.oneOf(key("mode"), *table.Mode, string(session.AgentPrimary), string(session.AgentSubagent), string(session.AgentAll), string(session.AgentHidden))
	}
	if table.Steps != nil {
		agent.Steps = *table.Steps
		l.within(key("steps"), agent.Steps, 0, maxSteps)
	}
	agent.System = l.system(at, agent.System, table)
	set(&agent.Reminder, table.Reminder)
	set(&agent.Leaving, table.Leaving)
	l.systemSize(key("reminder"), agent.Reminder)
	l.systemSize(key("leaving"), agent.Leaving)
	agent.Model = l.agentModel(at, agent.Model, table)
	agent.Actions = l.actions(key("actions"), agent.Actions, table.Actions)
	l.rules(key("rules"), table.Rules)
	for _, rule := range table.Rules {
		agent.Rules = append(agent.Rules, session.Rule{Action: rule.Action, Resource: rule.Resource, Effect: session.Effect(rule.Effect)})
	}
	if table.Generation != nil {
		agent.Generation = l.generation(key("generation"), agent.Generation, *table.Generation)
	}
	if table.Options != nil {
		agent.Options = l.options(key("options"), table.Options)
	}
	return agent
}

// system answers the system text, of the table or of its file.
func (l *loader) system(at, text string, table agentTable) string {
	switch {
	case table.System != nil && table.SystemFile != nil:
		l.problem(join(at, "system_file"), nil, "has no place beside system; keep one of them")
	case table.System != nil:
		text = *table.System
		l.systemSize(join(at, "system"), text)
	case table.SystemFile != nil:
		key := join(at, "system_file")
		path := l.absolute(key, *table.SystemFile)
		if !strings.HasPrefix(path, "/") {
			return text
		}
		read, err := readSystem(path)
		if err != nil {
			l.problem(key, path, "%v", err)
		}
		text = read
	}
	return text
}

// systemSize bounds a text that models are told.
func (l *loader) systemSize(key, text string) {
	if len(text) > session.MaxAgentSystem {
		l.problem(key, nil, "has %d bytes, the limit is %d", len(text), session.MaxAgentSystem)
	}
}

// readSystem reads a system text, without the line end behind it.
func readSystem(path string) (string, error) {
	data, err := readFile(path, session.MaxAgentSystem+1, "a system text")
	switch {
	case err != nil:
		return "", err
	case len(data) > session.MaxAgentSystem:
		return "", fmt.Errorf("has more than %d KiB; shorten it", session.MaxAgentSystem>>10)
	case !utf8.Valid(data):
		return "", errors.New("is not text in UTF-8")
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// agentModel answers the model, and whether it is one that a provider offers.
func (l *loader) agentModel(at string, model *session.ModelRef, table agentTable) *session.ModelRef {
	if table.Model != nil {
		chosen, err := session.ParseModel(*table.Model)
		if err != nil {
			l.problem(join(at, "model"), *table.Model, `must be "provider/model", like "offline/rules"`)
			return model
		}
		l.offered(join(at, "model"), chosen)
		model = &chosen
	}
	if table.Variant == nil {
		return model
	}
	if model == nil {
		l.problem(join(at, "variant"), *table.Variant, "has no use without a model; add one, like model = %q", "offline/rules")
		return nil
	}
	varied := *model
	varied.Variant = *table.Variant
	return &varied
}

// actions answers the only actions of an agent, as they were unless some are given.
func (l *loader) actions(key string, before, given []string) []string {
	if given == nil {
		return before
	}
	for i, action := range given {
		if action == "" || strings.ContainsAny(action, `*?\`) {
			l.problem(join(key, strconv.Itoa(i)), action, "must be an action without patterns, like %q; patterns are for rules", "read")
		}
	}
	return given
}

// chosenAgent checks the agent of new sessions against those there are.
func (l *loader) chosenAgent() {
	if !name.MatchString(l.config.Agent) {
		l.problem("agent", l.config.Agent, "must be a name of small letters, digits, - and _, like %q", session.DefaultAgent)
		return
	}
	var selectable []string
	for _, agent := range l.config.Agents {
		if agent.Selectable() {
			selectable = append(selectable, agent.Name)
		}
	}
	if !slices.Contains(selectable, l.config.Agent) {
		l.problem("agent", l.config.Agent, "is no agent of the mode primary or all; those are %s; choose one of them, or configure [agents.%s]",
			orNone(strings.Join(selectable, ", ")), l.config.Agent)
	}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
