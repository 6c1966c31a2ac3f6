package model

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// step is something that happens to the host. Session, Item and Other choose among
// what there is then, modulo its number, so that every step means something in every
// sequence and a shorter sequence is one as well.
type step struct {
	Do      string
	Session int
	Item    int
	Other   int
	Plan    string
	Flag    bool
	Parts   []step // of "together": at the same time
}

func (s step) String() string {
	words := fmt.Sprintf("%s session %d item %d other %d flag %v", s.Do, s.Session, s.Item, s.Other, s.Flag)
	if s.Plan != "" {
		words += fmt.Sprintf(" plan %q", s.Plan)
	}
	for _, part := range s.Parts {
		words += "\n        beside: " + part.String()
	}
	return words
}

// course is one drawn sequence and the host it happens to.
type course struct {
	Rules    int // the operator's, of ruleSets
	Recovery int // of policies
	Parallel int // tools of a turn that run at once
	Window   int // of the models, of windows
	Steps    []step
}

func (c course) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "rules %v, recovery %s, %d tools at once, windows %v\n", ruleSets[c.Rules], policies[c.Recovery], c.Parallel, windows[c.Window])
	for i, s := range c.Steps {
		fmt.Fprintf(&text, "%3d  %s\n", i+1, s)
	}
	return text.String()
}

// turns are what a model can answer to one request; see script.play.
var turns = []string{"say", "say", "empty", "call echo", "call echo", "call look", "call slow", "call echo slow look", "call slow slow", "call quiz",
	"call form", "call late", "call bad boom", "call extra", "call quiz echo", "call nosuch", "call here", "call slow quiz", "fail", "busy", "once", "cut",
	"cutcall slow", "cutcall echo", "hold", "broken", "task say", "task call echo", "task call quiz", "task call slow", "background say",
	"background call echo", "long", "long", "long; call gaze", "call gaze", "call gaze look", "full", "tight"}

func drawPlan(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(turns), 1, 4).Draw(t, "turns"), "; ")
}

// commands can happen beside each other.
var commands = []string{"steer", "steer", "steer", "queue", "queue", "retry", "clash", "cancel", "edit", "redeliver", "reorder", "interrupt", "resume",
	"agent", "model", "move", "rules", "allow", "allow", "always", "reject", "correct", "answer", "answer", "dismiss", "release", "release",
	"weather", "weather", "weather", "swap", "remove", "compact", "compact", "compact", "summary", "fork", "fork", "revert", "revert", "revert", "clear", "commit", "prune", "prune", "keep",
	"rename", "archive", "erase"}

// alone happen by themselves.
var alone = []string{"wait", "wait", "restart", "crash", "crash", "together", "together"}

func drawCommand(t *rapid.T, kinds []string) step {
	s := step{
		Do:      rapid.SampledFrom(kinds).Draw(t, "do"),
		Session: rapid.SampledFrom([]int{0, 0, 0, 0, 1, 1, 2, 3, 4, 5}).Draw(t, "session"),
		Item:    rapid.IntRange(0, 7).Draw(t, "item"),
		Other:   rapid.IntRange(0, 3).Draw(t, "other"),
		Flag:    rapid.Bool().Draw(t, "flag"),
	}
	switch s.Do {
	case "steer", "queue", "edit":
		s.Plan = drawPlan(t)
	case "together":
		s.Parts = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step { return drawCommand(t, commands) }), 2, 4).Draw(t, "parts")
	}
	return s
}

// before begins a course: what was said before, so that there is something to condense, to
// fork and to revert.
var before = []step{
	{Do: "steer", Plan: "call look gaze; say"},
	{Do: "always"},
	{Do: "always"},
	{Do: "steer", Plan: "call echo; long"},
	{Do: "always"},
	{Do: "steer", Plan: "call gaze look; say"},
	{Do: "compact"},
	{Do: "steer", Plan: "say"},
	{Do: "steer", Plan: "long"},
}

func drawCourse(t *rapid.T) course {
	all := append(append([]string{}, commands...), alone...)
	c := course{
		Rules:    rapid.IntRange(0, len(ruleSets)-1).Draw(t, "rules"),
		Recovery: rapid.IntRange(0, len(policies)-1).Draw(t, "recovery"),
		Parallel: rapid.SampledFrom([]int{1, 4}).Draw(t, "parallel"),
		Window:   rapid.IntRange(0, len(windows)-1).Draw(t, "window"),
	}
	n := rapid.IntRange(0, len(before)).Draw(t, "past")
	drawn := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step { return drawCommand(t, all) }), 6, 60).Draw(t, "steps")
	c.Steps = append(append([]step{}, before[:n]...), drawn...)
	return c
}
