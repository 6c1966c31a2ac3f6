package main

import "testing"

// A plugin is replaced under load. The memory is for make soak-reload: it needs more
// reloads to come to rest.
func TestSoak(t *testing.T) {
	o, err := soak(t.Context(), t.TempDir(), 60, 20)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.check(60); err != nil {
		t.Error(err)
	}
	if o.tally.calls < sessions*calls {
		t.Errorf("%d calls are no load", o.tally.calls)
	}
}
