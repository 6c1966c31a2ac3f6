package session_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
)

// pluginScope is where a plugin stands.
type pluginScope struct{ id, location string }

// pluginModel is the fold that the tables are held to.
type pluginModel map[pluginScope]*session.Plugin

func (m pluginModel) know(at pluginScope, state session.PluginState, seq, now int64) *session.Plugin {
	if m[at] == nil {
		m[at] = &session.Plugin{ID: at.id, Location: at.location, Seq: seq, State: state, Changed: now}
	}
	return m[at]
}

// names answers the plugin and the revisions that an event needs to be there.
func needs(payload session.Payload) (at pluginScope, plugin bool, revisions []string) {
	switch e := payload.(type) {
	case session.PluginActivated:
		if revisions = []string{e.Revision}; e.Replaces != "" {
			revisions = append(revisions, e.Replaces)
		}
		return pluginScope{e.Plugin, e.Location}, true, revisions
	case session.PluginStarted:
		return pluginScope{e.Plugin, e.Location}, true, nil
	case session.PluginProved:
		return pluginScope{e.Plugin, e.Location}, true, []string{e.Revision}
	case session.PluginFaulted:
		return pluginScope{e.Plugin, e.Location}, true, []string{e.Revision}
	case session.PluginFailed:
		if e.Revision != "" && e.Attempt == 0 {
			revisions = []string{e.Revision}
		}
		return pluginScope{e.Plugin, e.Location}, false, revisions
	case session.PluginRolledBack:
		return pluginScope{e.Plugin, e.Location}, true, []string{e.Revision, e.From}
	case session.PluginQuarantined:
		return pluginScope{e.Plugin, e.Location}, true, []string{e.Revision}
	case session.PluginDisabled:
		return pluginScope{e.Plugin, e.Location}, true, nil
	case session.PluginEnabled:
		return pluginScope{e.Plugin, e.Location}, true, nil
	}
	return at, false, nil
}

// refuses reports that the log cannot take the event.
func (m pluginModel) refuses(payload session.Payload) bool {
	at, plugin, revisions := needs(payload)
	return plugin && m[at] == nil || slices.ContainsFunc(revisions, func(revision string) bool { return m[at] == nil || m[at].At(revision) == nil })
}

func (m pluginModel) apply(payload session.Payload, seq, now int64) {
	switch e := payload.(type) {
	case session.PluginStaged:
		m.stage(e, seq, now)
	case session.PluginHeld:
		p := m.know(pluginScope{e.Plugin, e.Location}, session.PluginStateHeld, seq, now)
		if p.Held, p.Changed = &e, now; p.State == session.PluginStateFailed || p.State == session.PluginStateStaged {
			p.State = session.PluginStateHeld
		}
		if p.Failed != nil && p.Attempts == 0 && p.State != session.PluginStateQuarantined {
			p.Failed, p.Error = nil, ""
		}
	case session.PluginApproved:
		p := m.know(pluginScope{e.Plugin, e.Location}, session.PluginStateStaged, seq, now)
		p.Approvals = slices.DeleteFunc(p.Approvals, func(a session.PluginApproved) bool { return a.Digest == e.Digest })
		p.Approvals = append(p.Approvals, e)
	case session.PluginActivated:
		p := m[pluginScope{e.Plugin, e.Location}]
		if e.Replaces != "" {
			p.At(e.Replaces).State = session.RevisionRetiring
		}
		if next, current := p.At(e.Revision), p.Current(); p.Held != nil && (current == nil || current.Digest != next.Digest || p.Held.Digest == next.Digest) {
			p.Held = nil
		}
		serves(p, e.Revision, now)
	case session.PluginRolledBack:
		p := m[pluginScope{e.Plugin, e.Location}]
		from := p.At(e.From)
		from.State, from.Blocked, from.Error = session.RevisionRetiring, true, e.Reason
		serves(p, e.Revision, now)
		p.Error = e.Reason
	case session.PluginRetired:
		if p := m[pluginScope{e.Plugin, e.Location}]; p != nil {
			if r := p.At(e.Revision); r != nil && r.State == session.RevisionRetiring {
				r.State = session.RevisionRetired
			}
			forgets(p)
		}
	case session.PluginFailed:
		m.fail(e, seq, now)
	case session.PluginRemoved:
		delete(m, pluginScope{e.Plugin, e.Location})
	case session.FolderDistrusted:
		for at := range m {
			if at.location == e.Root {
				delete(m, at)
			}
		}
	default:
		m.turn(payload, now)
	}
}

// turn applies what changes a plugin's state, or a revision's marks.
func (m pluginModel) turn(payload session.Payload, now int64) {
	at, _, _ := needs(payload)
	p := m[at]
	switch e := payload.(type) {
	case session.PluginStarted:
		p.Failed, p.Error, p.Attempts, p.Changed = nil, "", 0, now
	case session.PluginProved:
		p.At(e.Revision).Proved = true
	case session.PluginFaulted:
		r := p.At(e.Revision)
		r.Faults = append(r.Faults, session.PluginFault{Session: e.Session, Fault: e.Fault, Message: e.Message, At: now})
	case session.PluginQuarantined:
		r := p.At(e.Revision)
		r.State, r.Error = session.RevisionRetiring, e.Reason
		p.State, p.Error, p.Changed = session.PluginStateQuarantined, e.Reason, now
	case session.PluginDisabled:
		for i := range p.Revisions {
			if p.Revisions[i].State == session.RevisionActive {
				p.Revisions[i].State = session.RevisionRetiring
			}
		}
		p.State, p.Configured, p.Failed, p.Error, p.Attempts, p.Changed = session.PluginStateDisabled, e.Configured, nil, "", 0, now
	case session.PluginEnabled:
		p.State, p.Configured, p.Failed, p.Error, p.Attempts, p.Changed = session.PluginStateStaged, false, nil, "", 0, now
		if p.Held != nil && p.Revision == "" {
			p.State = session.PluginStateHeld
		}
	}
}

func (m pluginModel) stage(e session.PluginStaged, seq, now int64) {
	p := m.know(pluginScope{e.Plugin, e.Location}, session.PluginStateStaged, seq, now)
	r := p.At(e.Revision)
	if r == nil {
		p.Revisions = append(p.Revisions, session.PluginRevision{PluginStaged: e, Seq: seq, State: session.RevisionStaged})
		return
	}
	if r.PluginStaged, r.Seq, r.Error = e, seq, ""; r.State != session.RevisionActive && r.State != session.RevisionRetiring {
		r.State = session.RevisionStaged
	}
	slices.SortFunc(p.Revisions, func(a, b session.PluginRevision) int { return cmp.Compare(a.Seq, b.Seq) })
}

func (m pluginModel) fail(e session.PluginFailed, seq, now int64) {
	p := m.know(pluginScope{e.Plugin, e.Location}, session.PluginStateFailed, seq, now)
	if e.Revision != "" && e.Attempt == 0 {
		r := p.At(e.Revision)
		if r.Error = e.Message; r.State != session.RevisionActive && r.State != session.RevisionRetiring {
			r.State = session.RevisionFailed
		}
	}
	if p.Failed, p.Error, p.Changed = &e, e.Message, now; e.Attempt > 0 {
		p.Attempts = e.Attempt
	}
	if p.State == session.PluginStateStaged || p.State == session.PluginStateHeld {
		p.State = session.PluginStateFailed
	}
	forgets(p)
}

func serves(p *session.Plugin, revision string, now int64) {
	r := p.At(revision)
	r.State, r.Blocked, r.Error, r.Faults, r.Activated, r.Proved = session.RevisionActive, false, "", nil, now, false
	p.State, p.Revision, p.Failed, p.Error, p.Attempts, p.Changed = session.PluginStateActive, revision, nil, "", 0, now
}

// forgets drops what has ended beyond the ten newest.
func forgets(p *session.Plugin) {
	left := 10
	for i := range slices.Backward(p.Revisions) {
		ended := p.Revisions[i].State == session.RevisionRetired || p.Revisions[i].State == session.RevisionFailed
		if !ended || p.Revisions[i].Revision == p.Revision {
			continue
		}
		if left--; left < 0 {
			p.Revisions = slices.Delete(p.Revisions, i, i+1)
		}
	}
}

// pluginEvent draws an event of one of a few plugins.
func pluginEvent(r *rapid.T, round int) session.Payload {
	id := fmt.Sprintf("acme/p%d", round)
	root := fmt.Sprintf("/p%d", round)
	location := rapid.SampledFrom([]string{"", "", root}).Draw(r, "location")
	names := make([]string, 14)
	for i := range names {
		names[i] = fmt.Sprintf("r%d", i)
	}
	drawn := func(what string) string { return rapid.SampledFrom(names).Draw(r, what) }
	revision := drawn("revision")
	digest := rapid.SampledFrom([]string{"d1", "d2"})
	text := rapid.SampledFrom([]string{"one", "two"})
	switch rapid.SampledFrom([]string{"staged", "staged", "staged", "staged", "held", "approved", "activated", "activated", "activated", "started", "proved", "faulted",
		"retired", "retired", "retired", "failed", "failed", "failed", "rolled back", "quarantined", "disabled", "enabled", "enabled", "removed", "distrusted"}).Draw(r, "event") {
	case "staged":
		return session.PluginStaged{Plugin: id, Location: location, Revision: revision, Digest: digest.Draw(r, "digest"), Terms: []byte(`{}`)}
	case "held":
		return session.PluginHeld{Plugin: id, Location: location, Digest: digest.Draw(r, "digest"), Reason: text.Draw(r, "text")}
	case "approved":
		return session.PluginApproved{Plugin: id, Location: location, Digest: digest.Draw(r, "digest"), Grants: []string{text.Draw(r, "text")}, Requests: []byte(`[]`)}
	case "activated":
		replaces := drawn("replaces")
		if rapid.Bool().Draw(r, "first") || replaces == revision {
			replaces = ""
		}
		return session.PluginActivated{Plugin: id, Location: location, Revision: revision, Replaces: replaces}
	case "started":
		return session.PluginStarted{Plugin: id, Location: location, Revision: revision}
	case "proved":
		return session.PluginProved{Plugin: id, Location: location, Revision: revision}
	case "faulted":
		return session.PluginFaulted{Plugin: id, Location: location, Revision: revision, Fault: "trap", Message: text.Draw(r, "text")}
	case "retired":
		return session.PluginRetired{Plugin: id, Location: location, Revision: revision}
	case "failed":
		if rapid.Bool().Draw(r, "unstaged") {
			revision = ""
		}
		return session.PluginFailed{Plugin: id, Location: location, Revision: revision, Message: text.Draw(r, "text"), Attempt: rapid.IntRange(0, 2).Draw(r, "attempt")}
	case "rolled back":
		return session.PluginRolledBack{Plugin: id, Location: location, Revision: revision, From: drawn("from"), Reason: text.Draw(r, "text")}
	case "quarantined":
		return session.PluginQuarantined{Plugin: id, Location: location, Revision: revision, Reason: text.Draw(r, "text")}
	case "disabled":
		return session.PluginDisabled{Plugin: id, Location: location, Configured: rapid.Bool().Draw(r, "configured")}
	case "enabled":
		return session.PluginEnabled{Plugin: id, Location: location}
	case "removed":
		return session.PluginRemoved{Plugin: id, Location: location}
	}
	return session.FolderDistrusted{Root: root}
}

// TestPluginsAreAFoldOfTheLog holds the tables to a fold in Go, whatever comes, and a
// replay into an empty store to the tables.
func TestPluginsAreAFoldOfTheLog(t *testing.T) {
	p := newPlugins(t)
	round, refused := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		model := pluginModel{}
		for range rapid.IntRange(10, 80).Draw(r, "events") {
			payload := pluginEvent(r, round)
			events, err := p.try(session.Host, payload)
			if model.refuses(payload) {
				if refused++; !errors.Is(err, session.ErrNotFound) {
					r.Fatalf("%+v: %v", payload, err)
				}
				continue
			}
			if err != nil {
				r.Fatalf("%+v: %v", payload, err)
			}
			model.apply(payload, events[0].Seq, events[0].Time.UnixMilli())
		}
		for _, location := range []string{"", fmt.Sprintf("/p%d", round)} {
			at := pluginScope{fmt.Sprintf("acme/p%d", round), location}
			got, err := p.ledger.Get(t.Context(), at.id, at.location)
			if model[at] == nil {
				if !errors.Is(err, session.ErrNotFound) {
					r.Fatalf("%+v, %v", got, err)
				}
				continue
			}
			if diff := gocmp.Diff(*model[at], got); diff != "" || err != nil {
				r.Fatalf("%v %s", err, diff)
			}
		}
	})
	if refused == 0 || round < 20 {
		t.Errorf("%d rounds, %d refusals: the events are drawn badly", round, refused)
	}
	var stored, replayed store.Log = p.log, replayedHost(t, p.log)
	if diff := gocmp.Diff(sessiontest.Tables(t, stored), sessiontest.Tables(t, replayed)); diff != "" {
		t.Error(diff)
	}
}
