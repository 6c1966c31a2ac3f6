package model

import "testing"

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
		"a repeated admission that an interrupt has come after": {1, []step{
			{Do: "steer", Plan: "hold"},
			{Do: "steer", Plan: "say"},
			{Do: "interrupt"},
			{Do: "retry", Flag: true},
		}},
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
