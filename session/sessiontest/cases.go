package sessiontest

import (
	"fmt"
	"testing"
)

// Case is one numbered case of the behaviour that sessions are held to.
// docs/reference/behaviour.md is made of the tables of cases, so Text and Ours are
// written for its readers and are constants.
type Case struct {
	Number int
	// Text says what is given, what happens and what must hold, in one sentence.
	Text string
	// Ours says what holds here instead, and why, where Plinth decides otherwise.
	Ours string
	Run  func(t *testing.T)
}

// Cases runs the cases of an area, each as the subtest AREA and NUMBER.
func Cases(t *testing.T, area string, cases []Case) {
	seen := map[int]bool{}
	for _, c := range cases {
		if seen[c.Number] || c.Text == "" {
			t.Errorf("case %s%d is there twice, or has no text", area, c.Number)
		}
		seen[c.Number] = true
		t.Run(fmt.Sprintf("%s%d", area, c.Number), c.Run)
	}
}
