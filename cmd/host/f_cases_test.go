package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/expand"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/epoch"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// The cases of the context that only a whole host decides.
func TestContextCases(t *testing.T) {
	sessiontest.Cases(t, "F", []sessiontest.Case{
		{Number: 178, Text: "Where no reference has a description there is no source of references, and nothing is told of any.", Run: f178},
	})
}

func f178(t *testing.T) {
	r := newRig(t)
	for description, want := range map[string]bool{"": false, "description = \"the system's\"\n": true} {
		r.configure("[references.system]\npath = \"/usr\"\n" + description)
		r.restart()
		id := r.session()
		r.settled(id, "count 1")
		begun := r.decode(r.await(id, -1, is[session.ContextInitialized])).(session.ContextInitialized)
		if _, told := begun.Snapshot[expand.GuidanceKey]; told != want || strings.Contains(begun.Baseline, "/usr") != want {
			t.Errorf("with %q: told %v\n%s", description, told, begun.Baseline)
		}
		observed := slices.ContainsFunc(r.backend.runner.ContextCounts().Sources, func(source epoch.SourceCounts) bool { return source.Name == expand.GuidanceKey })
		if observed != want {
			t.Errorf("with %q: a source was asked: %v", description, observed)
		}
	}
}
