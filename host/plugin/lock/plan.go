package lock

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Ways a plugin came to a host. A plan removes or replaces the last three only.
const (
	FromBuiltin = "builtin"
	FromFolder  = "folder" // of the configuration
	FromProject = "project"
	FromNative  = "native"
	FromUpload  = "upload"
	FromURL     = "url"
	FromLock    = "lock"
)

// Current is a plugin that a host has.
type Current struct {
	ID       string
	Location string
	Version  string
	// Digest is of what serves; empty when nothing does.
	Digest string
	From   string // one of the ways
	Origin string // for people: a path or an address
	Grants []string
}

func (c Current) scope() scope { return scope{c.ID, c.Location} }

// ours says that a plan may change the plugin.
func (c Current) ours() bool { return slices.Contains([]string{FromUpload, FromURL, FromLock}, c.From) }

// Action is what is done about a plugin.
type Action string

// The actions, in the order in which they are done: what goes makes room for what comes.
const (
	Remove   Action = "remove"
	Replace  Action = "replace"
	Add      Action = "add"
	Nothing  Action = "nothing"
	Conflict Action = "conflict" // the list and the host's own sources want different things
)

// Step is what is done about one plugin, and why.
type Step struct {
	Action   Action `json:"action"`
	ID       string `json:"id"`
	Location string `json:"location,omitempty"`
	Reason   string `json:"reason"`
	// Entry is that of the list; nil for a plugin that it does not have.
	Entry *Entry `json:"-"`
}

func (s Step) String() string {
	name := s.ID
	if s.Location != "" {
		name += " in " + s.Location
	}
	return fmt.Sprintf("%s %s: %s", s.Action, name, s.Reason)
}

// Plan answers what makes a host as a list says: a step for each plugin of either, in
// the order in which they are to be done. Builtins and what comes from configured
// folders and projects is never removed or replaced.
func Plan(f File, current []Current) []Step {
	here := map[scope]Current{}
	for _, one := range current {
		here[one.scope()] = one
	}
	var steps []Step
	for i := range f.Plugins {
		entry := f.Plugins[i]
		known, ok := here[entry.scope()]
		delete(here, entry.scope())
		action, reason := Add, "it is not here"
		if ok {
			action, reason = wanted(entry, known)
		}
		steps = append(steps, Step{Action: action, ID: entry.ID, Location: entry.Location, Reason: reason, Entry: &entry})
	}
	for _, key := range slices.SortedFunc(maps.Keys(here), compareScopes) {
		known := here[key]
		step := Step{Action: Remove, ID: known.ID, Location: known.Location, Reason: "the list does not have it"}
		if !known.ours() {
			step.Action, step.Reason = Nothing, "it is here by "+known.way()
		}
		steps = append(steps, step)
	}
	order := []Action{Remove, Replace, Add, Nothing, Conflict}
	slices.SortStableFunc(steps, func(a, b Step) int {
		if byAction := slices.Index(order, a.Action) - slices.Index(order, b.Action); byAction != 0 {
			return byAction
		}
		return compareScopes(scope{a.ID, a.Location}, scope{b.ID, b.Location})
	})
	return steps
}

// wanted is what is done about a plugin of the list that the host has.
func wanted(entry Entry, known Current) (Action, string) {
	var reasons []string
	switch {
	case known.Digest == "":
		reasons = append(reasons, "no version of it serves")
	case known.Digest != entry.Digest:
		reasons = append(reasons, fmt.Sprintf("it is %s (%.12s), not %s (%.12s)", known.Version, known.Digest, entry.Version, entry.Digest))
	}
	if missing := without(entry.Grants, known.Grants); len(missing) > 0 {
		reasons = append(reasons, "it gets "+strings.Join(missing, ", "))
	}
	if more := without(known.Grants, entry.Grants); len(more) > 0 {
		reasons = append(reasons, "it loses "+strings.Join(more, ", "))
	}
	reason := strings.Join(reasons, "; ")
	switch {
	case reason == "":
		return Nothing, "it is as the list says"
	case !known.ours():
		return Conflict, fmt.Sprintf("%s, but it is here by %s; change it there, or take it out of the list", reason, known.way())
	}
	return Replace, reason
}

// way is how the plugin came, for people.
func (c Current) way() string {
	switch c.From {
	case FromBuiltin:
		return "being built in"
	case FromNative:
		return "the program that Plinth is part of"
	case FromProject:
		return "the project, from " + c.Origin
	}
	return "the configured folders, from " + c.Origin
}

// without are the keys of some that all does not have, ascending.
func without(some, all []string) []string {
	var left []string
	for _, key := range some {
		if !slices.Contains(all, key) {
			left = append(left, key)
		}
	}
	slices.Sort(left)
	return left
}
