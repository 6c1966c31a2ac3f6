package model

import (
	"slices"
	"testing"
)

// TestRegressions plays what random sequences have found before, in their shortest form,
// and several times where it is a race.
func TestRegressions(t *testing.T) {
	for name, c := range map[string]struct {
		times int
		steps []step
	}{
		"a session moves between two attempts of a turn": {1, []step{
			{Do: "steer", Plan: "busy"},
			{Do: "move", Item: 1},
		}},
		"a crash between an answer and what it allows": {1, []step{
			{Do: "steer", Plan: "call extra"},
			{Do: "crash"},
			{Do: "reject"},
			{Do: "crash", Item: 3},
		}},
		"an answer to what an interrupt withdraws": {20, []step{
			{Do: "steer", Plan: "hold"},
			{Do: "crash"},
			{Do: "together", Parts: []step{{Do: "interrupt"}, {Do: "allow"}}},
		}},
		"a prompt after a second crash, when the first was allowed": {1, []step{
			{Do: "steer", Plan: "hold"},
			{Do: "crash"},
			{Do: "allow"},
			{Do: "crash"},
			{Do: "steer", Plan: "say"},
		}},
		"an interrupt of what waits, and a resume that asks again": {20, []step{
			{Do: "rules", Item: 2},
			{Do: "steer", Plan: "hold; call quiz"},
			{Do: "crash"},
			{Do: "together", Parts: []step{{Do: "interrupt"}, {Do: "resume"}, {Do: "steer", Plan: "call quiz"}}},
		}},
		"a crash between a summary of what was too large and the step again": {1, []step{
			{Do: "steer", Plan: "call look gaze; say"},
			{Do: "steer", Plan: "tight"},
			{Do: "allow"},
			{Do: "crash", Item: 3},
		}},
		"a repeated admission that an interrupt has come after": {1, []step{
			{Do: "steer", Plan: "hold"},
			{Do: "steer", Plan: "say"},
			{Do: "interrupt"},
			{Do: "retry", Flag: true},
		}},
		"a crash while a summary is made": {1, append(slices.Clone(before[:6]),
			step{Do: "summary", Item: 4}, step{Do: "compact"}, step{Do: "crash"}, step{Do: "steer", Plan: "say"})},
		"an interrupt while a summary is made": {5, append(slices.Clone(before[:6]), step{Do: "summary", Item: 4}, step{Do: "compact"},
			step{Do: "together", Parts: []step{{Do: "interrupt"}, {Do: "steer", Plan: "say"}, {Do: "weather", Item: 3}}})},
		"a source that changes its value, its plugin and its mind": {1, []step{
			{Do: "steer", Plan: "say"}, {Do: "weather", Other: 1, Item: 3}, {Do: "steer", Plan: "say"}, {Do: "weather", Other: 1}, {Do: "steer", Plan: "say"},
			{Do: "weather", Other: 2, Item: 1}, {Do: "steer", Plan: "say"}, // what another epoch has to tell, which is not possible now
			{Do: "weather", Other: 1, Item: 2}, {Do: "steer", Plan: "say"}, {Do: "remove", Item: 6}, {Do: "steer", Plan: "say"},
			{Do: "swap", Item: 6}, {Do: "steer", Plan: "say"},
		}},
		"a session that was condensed, forked, reverted and pruned, and goes": {1, append(slices.Clone(before),
			step{Do: "fork", Session: 0, Item: 1}, step{Do: "fork", Session: 2, Flag: true}, step{Do: "revert", Session: 2, Item: 1, Other: 1},
			step{Do: "steer", Session: 2, Plan: "long"}, step{Do: "compact", Session: 2}, step{Do: "prune", Session: 2}, step{Do: "prune"},
			step{Do: "steer", Session: 2, Plan: "call look"}, step{Do: "erase", Session: 2}, step{Do: "steer", Session: 2, Plan: "say"})},
	} {
		t.Run(name, func(t *testing.T) {
			for range c.times {
				if err := play(t, course{Parallel: 1, Steps: c.steps}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
