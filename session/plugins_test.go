package session_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// plugins is a desk for what becomes of plugins.
type plugins struct {
	*desk
	ledger *session.Plugins
}

func newPlugins(t *testing.T) plugins {
	d := newDesk(t, session.SessionOptions{})
	return plugins{d, session.NewPlugins(d.log, d.encoder)}
}

// record must succeed.
func (p plugins) record(payloads ...session.Payload) {
	p.t.Helper()
	if err := p.ledger.Record(p.t.Context(), session.System(), payloads...); err != nil {
		p.t.Fatal(err)
	}
}

func (p plugins) get() session.Plugin {
	p.t.Helper()
	plugin, err := p.ledger.Get(p.t.Context(), "acme/a", "")
	if err != nil {
		p.t.Fatal(err)
	}
	return plugin
}

func staged(revision string) session.PluginStaged {
	return session.PluginStaged{Plugin: "acme/a", Revision: revision, Digest: "d-" + revision, Version: "1.0.0", Source: "upload", Origin: "a.wasm", Terms: []byte(`{}`)}
}

func activated(revision, replaces string) session.PluginActivated {
	return session.PluginActivated{Plugin: "acme/a", Revision: revision, Replaces: replaces}
}

func failed(revision string, attempt int) session.PluginFailed {
	return session.PluginFailed{Plugin: "acme/a", Revision: revision, Stage: "load", Message: "it broke", Attempt: attempt}
}

var (
	held        = session.PluginHeld{Plugin: "acme/a", Digest: "d2", Version: "2.0.0", Source: "upload", Origin: "a.wasm", Reason: "it asks for kv"}
	enabled     = session.PluginEnabled{Plugin: "acme/a"}
	disabled    = session.PluginDisabled{Plugin: "acme/a"}
	quarantined = session.PluginQuarantined{Plugin: "acme/a", Revision: "r1", Reason: "it breaks"}
)

// brief is a plugin in one line: its state, revision and counters, and its revisions.
func brief(p session.Plugin) string {
	line := fmt.Sprintf("%s rev=%s", p.State, p.Revision)
	if p.Held != nil {
		line += " held=" + p.Held.Digest
	}
	if p.Error != "" {
		line += fmt.Sprintf(" error=%q", p.Error)
	}
	if p.Attempts != 0 {
		line += fmt.Sprintf(" attempts=%d", p.Attempts)
	}
	if p.Configured {
		line += " configured"
	}
	for _, r := range p.Revisions {
		line += fmt.Sprintf("; %s %s", r.Revision, r.State)
		if r.Blocked {
			line += " blocked"
		}
		if r.Proved {
			line += " proved"
		}
		if len(r.Faults) > 0 {
			line += fmt.Sprintf(" faults=%d", len(r.Faults))
		}
		if r.Error != "" {
			line += fmt.Sprintf(" error=%q", r.Error)
		}
	}
	return line
}

// TestWhatFollowsFromEventsOfPlugins is the table of the state machine.
func TestWhatFollowsFromEventsOfPlugins(t *testing.T) {
	serving := []session.Payload{staged("r1"), activated("r1", "")}
	replaced := append(serving[:2:2], staged("r2"), activated("r2", "r1"))
	with := func(before []session.Payload, more ...session.Payload) []session.Payload {
		return append(slices.Clip(before), more...)
	}
	fault := session.PluginFaulted{Plugin: "acme/a", Revision: "r1", Session: "ses_1", Fault: "trap", Message: "m"}
	back := session.PluginRolledBack{Plugin: "acme/a", Revision: "r1", From: "r2", Reason: "it broke"}
	for _, test := range []struct {
		name   string
		events []session.Payload
		want   string
	}{
		{"staged", []session.Payload{staged("r1")}, "staged rev=; r1 staged"},
		{"held", []session.Payload{held}, "held rev= held=d2"},
		{"approved before anything else", []session.Payload{session.PluginApproved{Plugin: "acme/a", Digest: "d2", Requests: []byte(`[]`)}}, "staged rev="},
		{"a first failure", []session.Payload{staged("r1"), failed("r1", 0)}, `failed rev= error="it broke"; r1 failed error="it broke"`},
		{"a failure before it was staged", []session.Payload{failed("", 0)}, `failed rev= error="it broke"`},
		{"staged again after a failure", []session.Payload{staged("r1"), failed("r1", 0), staged("r1")}, `failed rev= error="it broke"; r1 staged`},
		{"held after a failure", []session.Payload{failed("", 0), held}, `held rev= held=d2`},
		{"failed while it is held", []session.Payload{held, failed("", 0)}, `failed rev= held=d2 error="it broke"`},
		{"active", serving, "active rev=r1; r1 active"},
		{"active after it was held", []session.Payload{held, staged("r1"), activated("r1", "")}, "active rev=r1; r1 active"},
		{"staged while it serves", with(serving, staged("r1")), "active rev=r1; r1 active"},
		{"a next one staged", with(serving, staged("r2")), "active rev=r1; r1 active; r2 staged"},
		{"a next one held", with(serving, held), "active rev=r1 held=d2; r1 active"},
		{"a next one failed", with(serving, staged("r2"), failed("r2", 0)), `active rev=r1 error="it broke"; r1 active; r2 failed error="it broke"`},
		{"a next one held after one that failed", with(serving, staged("r2"), failed("r2", 0), held), `active rev=r1 held=d2; r1 active; r2 failed error="it broke"`},
		{"a next one held while starts fail", with(serving, failed("r1", 1), held), `active rev=r1 held=d2 error="it broke" attempts=1; r1 active`},
		{"a next one held in quarantine", with(serving, quarantined, held), `quarantined rev=r1 held=d2 error="it breaks"; r1 retiring error="it breaks"`},
		{"a next one held after a rollback", with(replaced, back, held), `active rev=r1 held=d2 error="it broke"; r1 active; r2 retiring blocked error="it broke"`},
		{"replaced", replaced, "active rev=r2; r1 retiring; r2 active"},
		{"replaced by itself", with(serving, activated("r1", "r1")), "active rev=r1; r1 active"},
		{"retired", with(replaced, session.PluginRetired{Plugin: "acme/a", Revision: "r1"}), "active rev=r2; r1 retired; r2 active"},
		{"retired while it serves", with(serving, session.PluginRetired{Plugin: "acme/a", Revision: "r1"}), "active rev=r1; r1 active"},
		{"retired and forgotten", with(serving, session.PluginRetired{Plugin: "acme/a", Revision: "gone"}), "active rev=r1; r1 active"},
		{"a start that failed", with(serving, failed("r1", 1), failed("r1", 2)), `active rev=r1 error="it broke" attempts=2; r1 active`},
		{"another version's failure between starts", with(serving, failed("r1", 1), staged("r2"), failed("r2", 0)),
			`active rev=r1 error="it broke" attempts=1; r1 active; r2 failed error="it broke"`},
		{"a start after failures", with(serving, failed("r1", 2), session.PluginStarted{Plugin: "acme/a", Revision: "r1"}), "active rev=r1; r1 active"},
		{"proved", with(serving, session.PluginProved{Plugin: "acme/a", Revision: "r1"}), "active rev=r1; r1 active proved"},
		{"faulted", with(serving, fault, fault), "active rev=r1; r1 active faults=2"},
		{"faults and proof are of one service", with(serving, fault, session.PluginProved{Plugin: "acme/a", Revision: "r1"}, activated("r1", "r1")), "active rev=r1; r1 active"},
		{"rolled back", with(replaced, back), `active rev=r1 error="it broke"; r1 active; r2 retiring blocked error="it broke"`},
		{"a blocked one by hand", with(replaced, back, session.PluginRolledBack{Plugin: "acme/a", Revision: "r2", From: "r1", Reason: "by hand"}),
			`active rev=r2 error="by hand"; r1 retiring blocked error="by hand"; r2 active`},
		{"quarantined", with(serving, quarantined), `quarantined rev=r1 error="it breaks"; r1 retiring error="it breaks"`},
		{"a failure in quarantine", with(serving, quarantined, staged("r2"), failed("r2", 0)), `quarantined rev=r1 error="it broke"; r1 retiring error="it breaks"; r2 failed error="it broke"`},
		{"enabled after a quarantine", with(serving, failed("r1", 5), quarantined, enabled), `staged rev=r1; r1 retiring error="it breaks"`},
		{"disabled", with(serving, disabled), "disabled rev=r1; r1 retiring"},
		{"disabled by the configuration", with(serving, session.PluginDisabled{Plugin: "acme/a", Configured: true}), "disabled rev=r1 configured; r1 retiring"},
		{"enabled again", with(serving, session.PluginDisabled{Plugin: "acme/a", Configured: true}, enabled, activated("r1", "")), "active rev=r1; r1 active"},
		{"a first version enabled that waits", []session.Payload{held, disabled, enabled}, "held rev= held=d2"},
		{"a next version enabled that waits", with(serving, held, disabled, enabled), "staged rev=r1 held=d2; r1 retiring"},
		{"a next version that waits, and other terms", with(serving, held, session.PluginStaged{Plugin: "acme/a", Revision: "r1b", Digest: "d-r1", Terms: []byte(`{}`)}, activated("r1b", "r1")),
			"active rev=r1b held=d2; r1 retiring; r1b active"},
		{"a next version that waits, and one after it", with(serving, held, staged("r2"), activated("r2", "r1")), "active rev=r2; r1 retiring; r2 active"},
		{"a next version that waits, and a rollback", with(replaced, held, back), `active rev=r1 held=d2 error="it broke"; r1 active; r2 retiring blocked error="it broke"`},
		{"the version that waited", with(serving, held, session.PluginStaged{Plugin: "acme/a", Revision: "r2", Digest: "d2", Terms: []byte(`{}`)}, activated("r2", "r1")),
			"active rev=r2; r1 retiring; r2 active"},
		{"held while it is disabled", with(serving, disabled, held), "disabled rev=r1 held=d2; r1 retiring"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPlugins(t)
			p.record(test.events...)
			if got := brief(p.get()); got != test.want {
				t.Errorf("\ngot  %s\nwant %s", got, test.want)
			}
		})
	}
}

// What the log does not know cannot be said of, and nothing of a record that is refused
// is kept.
func TestEventsOfPluginsThatAreRefused(t *testing.T) {
	p := newPlugins(t)
	p.record(staged("r1"), activated("r1", ""))
	before := sessiontest.Tables(t, p.log)
	nobody, unknown := "acme/b", "r9"
	for _, payload := range []session.Payload{
		session.PluginActivated{Plugin: "acme/a", Revision: unknown}, session.PluginActivated{Plugin: "acme/a", Revision: "r1", Replaces: unknown},
		session.PluginActivated{Plugin: "acme/a", Location: "/p", Revision: "r1"}, session.PluginStarted{Plugin: nobody, Revision: "r1"},
		session.PluginProved{Plugin: "acme/a", Revision: unknown}, session.PluginFaulted{Plugin: "acme/a", Revision: unknown},
		failed(unknown, 0), session.PluginRolledBack{Plugin: "acme/a", Revision: unknown, From: "r1"},
		session.PluginRolledBack{Plugin: "acme/a", Revision: "r1", From: unknown}, session.PluginQuarantined{Plugin: "acme/a", Revision: unknown},
		session.PluginDisabled{Plugin: nobody}, session.PluginEnabled{Plugin: nobody},
	} {
		if err := p.ledger.Record(t.Context(), session.System(), staged("r2"), payload); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%+v: %v", payload, err)
		}
		if diff := cmp.Diff(before, sessiontest.Tables(t, p.log)); diff != "" {
			t.Fatalf("%+v: %s", payload, diff)
		}
	}
	if _, err := p.ledger.Get(t.Context(), "acme/a", "/p"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// Ten revisions that have ended are remembered, beside those that have not and the one
// that a disabled plugin would serve again.
func TestEndedRevisionsAreForgotten(t *testing.T) {
	p := newPlugins(t)
	names := func() (all []string) {
		for _, revision := range p.get().Revisions {
			all = append(all, revision.Revision)
		}
		return all
	}
	p.record(staged("r0"), activated("r0", ""), disabled, session.PluginRetired{Plugin: "acme/a", Revision: "r0"})
	want := []string{"r0"}
	for i := range 12 {
		name := fmt.Sprintf("f%d", i)
		p.record(staged(name), failed(name, 0))
		if i >= 2 {
			want = append(want, name)
		}
	}
	if diff := cmp.Diff(want, names()); diff != "" {
		t.Errorf("of a disabled plugin: %s", diff)
	}
	p.record(enabled, activated("r0", ""), staged("r1"), activated("r1", "r0"), staged("waiting"))
	if n := len(names()); n != 13 {
		t.Errorf("%d revisions before r0 has ended", n)
	}
	p.record(session.PluginRetired{Plugin: "acme/a", Revision: "r0"}) // it was staged first, so it is the oldest
	if diff := cmp.Diff(append(want[1:], "r1", "waiting"), names()); diff != "" {
		t.Error(diff)
	}
}

// Fifty approved versions are remembered, beside those of revisions that are known: what
// serves stays approved, however much was approved since.
func TestOldApprovalsAreForgotten(t *testing.T) {
	p := newPlugins(t)
	approved := func(digest string) session.Payload {
		return session.PluginApproved{Plugin: "acme/a", Digest: digest, Requests: []byte(`[]`)}
	}
	serving := staged("r1")
	serving.Digest = "d0"
	elsewhere := session.PluginApproved{Plugin: "acme/a", Location: "/p", Digest: "d1", Requests: []byte(`[]`)}
	p.record(approved("d0"), serving, activated("r1", ""), elsewhere)
	want := []string{"d0"}
	for i := range 53 {
		digest := fmt.Sprintf("d%d", i+1)
		p.record(approved(digest))
		if i >= 4 {
			want = append(want, digest)
		}
	}
	p.record(approved("d4")) // which was the oldest and is the newest
	want = append(want, "d4")
	var got []string
	for _, approval := range p.get().Approvals {
		got = append(got, approval.Digest)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	known, err := p.ledger.Get(t.Context(), "acme/a", "/p")
	if err != nil || len(known.Approvals) != 1 {
		t.Errorf("of the project: %+v, %v", known.Approvals, err)
	}
}

// A removed plugin leaves nothing, and a folder that is not trusted takes its plugins
// with it; those of other scopes stay.
func TestRemovedAndDistrusted(t *testing.T) {
	p := newPlugins(t)
	in := func(location string) []session.Payload {
		s := staged("r1")
		s.Location = location
		return []session.Payload{session.PluginApproved{Plugin: "acme/a", Location: location, Digest: "d", Requests: []byte(`[]`)}, s,
			session.PluginActivated{Plugin: "acme/a", Location: location, Revision: "r1"}}
	}
	scopes := func() (all []string) {
		known, trusted, err := p.ledger.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, plugin := range known {
			all = append(all, fmt.Sprintf("%s@%s %d %d", plugin.ID, plugin.Location, len(plugin.Revisions), len(plugin.Approvals)))
		}
		return append(all, trusted...)
	}
	empty := sessiontest.Tables(t, p.log)
	p.record(session.FolderTrusted{Root: "/p"}, session.FolderTrusted{Root: "/p"}, session.FolderTrusted{Root: "/a"})
	p.record(append(append(in(""), in("/p")...), in("/a")...)...)
	if diff := cmp.Diff([]string{"acme/a@ 1 1", "acme/a@/p 1 1", "acme/a@/a 1 1", "/a", "/p"}, scopes()); diff != "" {
		t.Error(diff)
	}
	p.record(session.PluginRemoved{Plugin: "acme/a"}, session.PluginRemoved{Plugin: "acme/none"}, session.FolderDistrusted{Root: "/p"})
	if diff := cmp.Diff([]string{"acme/a@/a 1 1", "/a"}, scopes()); diff != "" {
		t.Error(diff)
	}
	p.record(session.FolderDistrusted{Root: "/a"})
	if diff := cmp.Diff(empty, sessiontest.Tables(t, p.log)); diff != "" {
		t.Error(diff)
	}
}

// replayedHost is a store that took the host's events of another.
func replayedHost(t *testing.T, log store.Log) store.Log {
	t.Helper()
	copied := sessiontest.OpenStore(t, t.TempDir())
	t.Cleanup(func() {
		if err := copied.Close(); err != nil {
			t.Error(err)
		}
	})
	for after := int64(-1); ; {
		page, err := log.Read(t.Context(), session.Host, after, 1000)
		if err == nil && len(page.Events) > 0 {
			err = copied.Replay(t.Context(), page.Events, store.ReplayOptions{})
			after = page.Events[len(page.Events)-1].Seq
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) == 0 {
			return copied
		}
	}
}
