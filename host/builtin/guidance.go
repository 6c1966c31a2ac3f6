package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/plinthhost/plinth/session"
)

// The keys of the context sources.
const (
	AgentsKey = "core/agents"
	SkillsKey = "core/skills"
)

// Bounds of what a source tells.
const (
	maxLine   = 250      // bytes of a description
	maxListed = 12 << 10 // bytes of a list
)

// Rules say what would become of an action, without asking anybody.
// *session.Permissions is one.
type Rules interface {
	Effects(ctx context.Context, asker session.Asker, plugin, action string, resources []string) ([]session.Effect, error)
}

// Agents are those that there are in a place. *session.Agents is one.
type Agents interface {
	In(location session.Location) []session.Agent
}

// line is one entry of a list.
type line struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// guidance is a context source that lists what the session's agent may use: of each a name
// and a line, in the order of the names.
type guidance struct {
	key    string
	action string // that uses one; its name is the resource
	rules  Rules
	all    func(ctx context.Context, location session.Location) ([]line, error)
	// What stands before the list at first and when it changed, and what is told when
	// nothing is left.
	baseline, update, removed string
}

// AgentGuidance tells of the agents that take tasks.
func AgentGuidance(agents Agents, rules Rules) session.ContextSource {
	return guidance{key: AgentsKey, action: "task", rules: rules,
		all: func(_ context.Context, location session.Location) (lines []line, err error) {
			for _, agent := range agents.In(location) {
				if agent.Delegable() {
					lines = append(lines, line{agent.Name, clip(agent.Description, maxLine)})
				}
			}
			return lines, nil
		},
		baseline: "Agents that take a task from you through the tool task:",
		update:   "The agents that take tasks have changed. This list takes the place of the one before:",
		removed:  "No agent takes tasks from you any more; do not use those that were listed before.",
	}
}

// SkillGuidance tells of the skills.
func SkillGuidance(skills session.SkillFinder, rules Rules) session.ContextSource {
	return guidance{key: SkillsKey, action: "skill", rules: rules,
		all: func(ctx context.Context, location session.Location) (lines []line, err error) {
			found, err := skills.Skills(ctx, location)
			for _, skill := range found {
				lines = append(lines, line{skill.Name, clip(skill.Description, maxLine)})
			}
			return lines, err
		},
		baseline: "Skills tell how certain work is done. Before you do what one of them is for, load it with the tool skill:",
		update:   "The skills have changed. This list takes the place of the one before:",
		removed:  "There are no skills any more; do not load those that were listed before.",
	}
}

// Keys is the one key.
func (g guidance) Keys() []string { return []string{g.key} }

// Observe lists what the rules do not deny.
func (g guidance) Observe(ctx context.Context, observation session.Observation) ([]session.SourceState, error) {
	lines, err := g.permitted(ctx, observation)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return []session.SourceState{{Key: g.key, State: session.SourceAbsent}}, nil
	}
	value, err := json.Marshal(lines)
	if err != nil {
		return nil, fmt.Errorf("encode the value of %s: %w", g.key, err)
	}
	list := listed(lines)
	return []session.SourceState{{Key: g.key, State: session.SourceValue, Value: value,
		Baseline: g.baseline + list, Update: g.update + list, Removed: g.removed}}, nil
}

func (g guidance) permitted(ctx context.Context, observation session.Observation) (permitted []line, err error) {
	lines, err := g.all(ctx, observation.Location)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	names := make([]string, len(lines))
	for i, one := range lines {
		names[i] = one.Name
	}
	asker := session.Asker{Session: observation.Session, Agent: observation.Agent, Location: observation.Location}
	effects, err := g.rules.Effects(ctx, asker, "", g.action, names)
	if err != nil {
		return nil, err
	}
	for i, one := range lines {
		if effects[i] != session.Deny {
			permitted = append(permitted, one)
		}
	}
	return permitted, nil
}

// listed writes the lines, as many as there is room for.
func listed(lines []line) string {
	var list strings.Builder
	for i, one := range lines {
		entry := "\n- " + one.Name
		if one.Description != "" {
			entry += ": " + one.Description
		}
		if list.Len()+len(entry) > maxListed {
			fmt.Fprintf(&list, "\n- and %d more", len(lines)-i)
			break
		}
		list.WriteString(entry)
	}
	return list.String()
}

// clip shortens a text to so many bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const ellipsis = "…"
	end := most - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
