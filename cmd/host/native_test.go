package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/session"
)

// The program's own Go contributions are plugins like the others.
func TestGoContributionsArePlugins(t *testing.T) {
	r := newRig(t)
	states := func() (states []string) {
		t.Helper()
		list, err := r.client().Plugins(r.within())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list.Plugins {
			if strings.HasPrefix(one.Origin, "native ") {
				states = append(states, one.ID+" "+string(one.State))
			}
		}
		return states
	}
	if got := states(); !slices.Equal(got, []string{"core/offline active", "core/session active"}) {
		t.Errorf("%q", got)
	}
	id := r.session()
	ref := plugin.Ref{ID: "core/offline"}
	if _, err := r.plugins.Disable(r.within(), session.System(), ref); err != nil {
		t.Fatal(err)
	}
	r.configure("[references.docs]\npath = \"/usr\"\ndescription = \"system files\"\n")
	r.restart()
	if got := states(); !slices.Equal(got, []string{"core/offline disabled", "core/session active", "core/references active"}) {
		t.Errorf("disabled: %q", got)
	}
	if result := r.settled(id, "count 1"); result.Error == nil || result.Error.Code != string(session.FailureModelUnavailable) {
		t.Errorf("disabled: %+v", result)
	}
	if _, err := r.plugins.Enable(r.within(), session.System(), ref); err != nil {
		t.Fatal(err)
	}
	if result := r.settled(id, "count 1"); result.Outcome != protocol.OutcomeCompleted {
		t.Errorf("enabled: %+v", result)
	}
	r.configure("")
	r.restart()
	if got := states(); !slices.Equal(got, []string{"core/offline active", "core/session active"}) {
		t.Errorf("without references: %q", got)
	}
}
