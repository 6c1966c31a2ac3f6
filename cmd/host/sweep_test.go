package main

import (
	"slices"
	"testing"
	"time"

	"github.com/plinthhost/plinth/host/bridge"
)

// What plugins stored in a session goes with the session. What a crash left of that, and
// what removed plugins stored, is swept; the rest stays.
func TestValuesOfPluginsGo(t *testing.T) {
	r := newRig(t)
	kv := r.store.KV()
	set := func(namespaces ...string) {
		t.Helper()
		for _, namespace := range namespaces {
			if err := kv.Set(r.within(), namespace, "k", []byte(`{"version":0,"value":1}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect := func(when string, want ...string) {
		t.Helper()
		got, err := kv.Namespaces(r.within(), "plugin:", "", 100)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", when, got, err, want)
		}
	}
	gone, kept := r.session(), r.session()
	set("plugin:acme/a", "plugin:acme/a:"+gone, "plugin:acme/a:"+kept, "plugin:acme/b:"+gone)
	if _, err := r.command("sessions", "remove", gone, "--yes"); err != nil {
		t.Fatal(err)
	}
	expect("after the removal", "plugin:acme/a", "plugin:acme/a:"+kept)
	set("plugin:acme/b:"+gone, "plugin:acme/b:ses_never", "plugin:acme/b")
	r.sweepValues(r.within(), time.Now())
	expect("after a sweep", "plugin:acme/a", "plugin:acme/a:"+kept, "plugin:acme/b")
	if err := r.values.Bury(r.within(), "acme/a", time.Now().Add(-bridge.BuriedFor)); err != nil {
		t.Fatal(err)
	}
	r.sweepValues(r.within(), time.Now())
	expect("after the plugin's time", "plugin:acme/b")
}
