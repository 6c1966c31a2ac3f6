package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Agent is a way to work: which model, which words, which permissions.
type Agent struct {
	// Name has small letters, digits, - and _, begins with a letter and has at most
	// 64 bytes.
	Name string
	// Description says what it is good for, to people and to models that choose.
	Description string
	Mode        AgentMode
	// System is what the model is told first; "" for what the model's own settings say.
	// At most MaxAgentSystem bytes, like the two below.
	System string
	// Reminder is told behind it, for as long as the session works as the agent.
	Reminder string
	// Leaving is told when the session leaves the agent.
	Leaving string
	// Model is nil for the session's.
	Model *ModelRef
	// Actions are the only ones it may take, without patterns; nil for any.
	Actions []string
	// Rules come last, see Permitted.
	Rules []Rule
	// Steps is how many provider turns may follow a promoted prompt; the last of them
	// is without tools. 0: any number.
	Steps      int
	Generation Generation
	// Options are handed to the provider's codec.
	Options map[string]json.RawMessage
	// Confined: somebody wrote it who is not the operator. Its Rules open nothing then:
	// they and the configured ones decide together, and the strictest answer counts.
	Confined bool
}

// MaxAgentSystem bounds each text of an agent, a model or a provider, in bytes.
const MaxAgentSystem = 64 << 10

// AgentMode says who may choose an agent.
type AgentMode string

// The modes.
const (
	AgentPrimary  AgentMode = "primary"  // a person, for a session
	AgentSubagent AgentMode = "subagent" // a model, for a task
	AgentAll      AgentMode = "all"      // both
	AgentHidden   AgentMode = "hidden"   // the host alone
)

// Selectable reports whether a person may choose the agent for a session.
func (a Agent) Selectable() bool { return a.Mode == AgentPrimary || a.Mode == AgentAll }

// Delegable reports whether a model may give the agent a task.
func (a Agent) Delegable() bool { return a.Mode == AgentSubagent || a.Mode == AgentAll }

// Permitted answers the rules the agent works under, of which the last that matches
// decides: the configured ones (the defaults, then the operator's), then the agent's
// own. Where Actions are given, everything else is denied before the agent's own
// rules, and the configured ones go on to decide on those actions. A subagent gives
// no tasks unless its own rules allow it. The rules of a confined agent are not among
// them.
func (a Agent) Permitted(configured []Rule) []Rule {
	rules := slices.Clone(configured)
	if a.Actions != nil {
		rules = narrowed(configured, a.Actions)
	}
	if a.Mode == AgentSubagent {
		rules = append(rules, Rule{Action: actionTask, Resource: "*", Effect: Deny})
	}
	if a.Confined {
		return rules
	}
	return append(rules, a.Rules...)
}

// policies are what decides together under the agent, given the configured rules and the
// session's own.
func (a Agent) policies(configured, own []Rule) []Policy {
	policies := []Policy{{Configured: a.Permitted(configured), Own: own}}
	if a.Confined && len(a.Rules) > 0 {
		narrow := append([]Rule{{Action: "*", Resource: "*", Effect: Allow}}, a.Rules...)
		policies = append(policies, Policy{Configured: narrow})
	}
	return policies
}

// actionTask is the action of giving a task to another agent.
const actionTask = "task"

// narrowed denies everything but the actions, on which the rules decide as before.
func narrowed(rules []Rule, actions []string) []Rule {
	narrow := []Rule{{Action: "*", Resource: "*", Effect: Deny}}
	for _, action := range actions {
		narrow = append(narrow, Rule{Action: action, Resource: "*", Effect: Ask}) // as where no rule matches
		for _, rule := range rules {
			if Match(rule.Action, action) {
				narrow = append(narrow, Rule{Action: action, Resource: rule.Resource, Effect: rule.Effect})
			}
		}
	}
	return narrow
}

// Agents is a set of agents, to which places may add some. What it answers must not be
// changed.
type Agents struct {
	list        []Agent // by name
	defaultName string
	local       LocalAgents // nil for none
}

// LocalAgents answers the agents that a place adds, as they are now. It is asked often.
type LocalAgents func(location Location) []Agent

// WithLocal is the set with what places add.
func (a *Agents) WithLocal(local LocalAgents) *Agents {
	return &Agents{list: a.list, defaultName: a.defaultName, local: local}
}

// At is the set of a place. What the place adds is confined; it takes the place of no other
// agent, is not hidden, and is left out when it is not valid.
func (a *Agents) At(location Location) *Agents {
	if a.local == nil {
		return a
	}
	at := &Agents{list: a.list, defaultName: a.defaultName}
	for _, agent := range a.local(location) {
		agent.Confined = true
		if _, taken := at.Agent(agent.Name); taken || agent.Mode == AgentHidden || agent.Check() != nil {
			continue
		}
		i, _ := at.search(agent.Name)
		at.list = slices.Insert(slices.Clone(at.list), i, agent)
	}
	return at
}

// In answers the agents of a place by name, hidden ones too.
func (a *Agents) In(location Location) []Agent { return a.At(location).List() }

// NewAgents checks the agents and makes them a set. A session whose creator names no
// agent has defaultName, which must be one that a person may choose.
func NewAgents(list []Agent, defaultName string) (*Agents, error) {
	a := &Agents{list: slices.Clone(list), defaultName: defaultName}
	slices.SortStableFunc(a.list, func(x, y Agent) int { return strings.Compare(x.Name, y.Name) })
	for i, agent := range a.list {
		if err := agent.Check(); err != nil {
			return nil, fmt.Errorf("agent %q: %w", clip(agent.Name), err)
		}
		if i > 0 && a.list[i-1].Name == agent.Name {
			return nil, fmt.Errorf("agent %q: %w: there are two of the name", agent.Name, ErrInvalid)
		}
	}
	if err := a.Choose("agent", defaultName); err != nil {
		return nil, fmt.Errorf("default agent: %w", err)
	}
	return a, nil
}

// Agent answers the agent of that name.
func (a *Agents) Agent(name string) (Agent, bool) {
	i, found := a.search(name)
	if !found {
		return Agent{}, false
	}
	return a.list[i], true
}

func (a *Agents) search(name string) (int, bool) {
	return slices.BinarySearchFunc(a.list, name, func(agent Agent, name string) int { return strings.Compare(agent.Name, name) })
}

// Default is the name of the agent that sessions have whose creator names none.
func (a *Agents) Default() string { return a.defaultName }

// List answers all agents by name, hidden ones too.
func (a *Agents) List() []Agent { return slices.Clone(a.list) }

// Subagent answers the model of an agent that may be given tasks, nil for the
// parent's; ok is false when there is no such agent, or it takes no tasks.
func (a *Agents) Subagent(name string) (model *ModelRef, ok bool) {
	agent, known := a.Agent(name)
	return agent.Model, known && agent.Delegable()
}

// Subagents are the names that Subagent knows, ascending.
func (a *Agents) Subagents() []string {
	var names []string
	for _, agent := range a.list {
		if agent.Delegable() {
			names = append(names, agent.Name)
		}
	}
	return names
}

// Choose answers nil when a person may choose the agent for a session, else an
// ErrInvalid that names the field and those that can be chosen.
func (a *Agents) Choose(field, name string) error {
	agent, ok := a.Agent(name)
	if ok && agent.Selectable() {
		return nil
	}
	var names []string
	for _, one := range a.list {
		if one.Selectable() {
			names = append(names, one.Name)
		}
	}
	why := "which is none"
	if ok {
		why = "which has the mode " + string(agent.Mode)
	}
	return fmt.Errorf("%w: %s is %q, %s; choose one of %s", ErrInvalid, field, clip(name), why, strings.Join(names, ", "))
}

// Check answers nil for an agent that can be one, else an ErrInvalid that names the field.
func (a Agent) Check() error {
	switch {
	case !isAgentName(a.Name):
		return fmt.Errorf("%w: a name begins with a small letter and has small letters, digits, - and _, at most 64", ErrInvalid)
	case !slices.Contains([]AgentMode{AgentPrimary, AgentSubagent, AgentAll, AgentHidden}, a.Mode):
		return fmt.Errorf("%w: mode is %q; it must be primary, subagent, all or hidden", ErrInvalid, clip(string(a.Mode)))
	case a.Steps < 0:
		return fmt.Errorf("%w: steps is %d; it must be 0, for any number, or more", ErrInvalid, a.Steps)
	case a.Model != nil && (a.Model.Provider == "" || a.Model.Model == ""):
		return fmt.Errorf("%w: model needs provider and model", ErrInvalid)
	}
	for _, text := range [...]struct{ field, text string }{{"system", a.System}, {"reminder", a.Reminder}, {"leaving", a.Leaving}} {
		switch {
		case len(text.text) > MaxAgentSystem:
			return fmt.Errorf("%w: %s has %d bytes, the limit is %d", ErrInvalid, text.field, len(text.text), MaxAgentSystem)
		case !utf8.ValidString(text.text):
			return fmt.Errorf("%w: %s is not valid UTF-8", ErrInvalid, text.field)
		}
	}
	for i, action := range a.Actions {
		if action == "" || strings.ContainsAny(action, `*?\`) {
			return fmt.Errorf("%w: actions[%d] is %q; it must be an action without patterns, like read", ErrInvalid, i, clip(action))
		}
	}
	for i, rule := range a.Rules {
		if err := rule.check(); err != nil {
			return fmt.Errorf("rules[%d]: %w", i, err)
		}
	}
	return nil
}

func (r Rule) check() error {
	switch {
	case r.Action == "":
		return fmt.Errorf("%w: action is missing; give an action like read, or *", ErrInvalid)
	case r.Resource == "":
		return fmt.Errorf("%w: resource is missing; give a pattern like docs/*, or *", ErrInvalid)
	case r.Effect != Allow && r.Effect != Deny && r.Effect != Ask:
		return fmt.Errorf("%w: effect is %q; it must be allow, ask or deny", ErrInvalid, clip(string(r.Effect)))
	}
	return nil
}

func isAgentName(name string) bool {
	for i, r := range []byte(name) {
		letter := 'a' <= r && r <= 'z'
		if !letter && (i == 0 || !('0' <= r && r <= '9' || r == '-' || r == '_')) {
			return false
		}
	}
	return name != "" && len(name) <= 64
}
