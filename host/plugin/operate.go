package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/session"
)

// Errors of what somebody wants of a plugin.
var (
	// ErrUnknown: there is no plugin, version or revision of that name.
	ErrUnknown = errors.New("not known")
	// ErrRefused: it cannot be done as things stand.
	ErrRefused = errors.New("refused")
)

// Ref names a plugin in a scope.
type Ref struct {
	ID       string
	Location string // a project's root; empty for the global level
}

// at answers the slot of a plugin that the log knows.
func (m *Manager) at(ref Ref) (*slot, error) {
	m.mu.Lock()
	s := m.slots[place{ref.ID, ref.Location}]
	m.mu.Unlock()
	if s != nil {
		if known, _ := s.look(); known.State != "" {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no plugin %s%s; plinth plugin list shows them", ErrUnknown, clip(ref.ID), within(ref.Location))
}

// find answers the slot of a plugin that the log knows, with its turn.
func (m *Manager) find(ctx context.Context, ref Ref) (s *slot, done func(), err error) {
	if s, err = m.at(ref); err != nil {
		return nil, nil, err
	}
	if err := m.begin(); err != nil {
		return nil, nil, err
	}
	if err := s.take(ctx); err != nil {
		m.work.Done()
		return nil, nil, err
	}
	return s, func() { s.yield(); m.work.Done() }, nil
}

func within(location string) string {
	if location == "" {
		return ""
	}
	return " in " + clip(location)
}

// Approval is what somebody grants a version.
type Approval struct {
	// Digest begins like that of the version that is meant; empty for the one that waits,
	// or else the one that serves.
	Digest string
	// Grants are the keys of the requests that are granted; nil for all.
	Grants []string
}

// Approve grants a version what it asks for, or part of it, and has it serve.
func (m *Manager) Approve(ctx context.Context, by session.Origin, ref Ref, approval Approval) (session.Plugin, error) {
	s, done, err := m.find(ctx, ref)
	if err != nil {
		return session.Plugin{}, err
	}
	defer done()
	known, _ := s.look()
	offer, err := m.version(known, approval.Digest)
	if err != nil {
		return known, err
	}
	if offer.Candidate.Builtin || offer.Source == SourceNative {
		return known, fmt.Errorf("%w: the plugin %s is part of plinth and has all that it asks for", ErrRefused, ref.ID)
	}
	offer.By, offer.Grants = by, approval.Grants
	if offer.Grants == nil {
		offer.Grants = trust.Keys(offer.Candidate.Manifest)
		if offer.Grants == nil {
			offer.Grants = []string{}
		}
	}
	if err := offer.grantable(); err != nil {
		return known, err
	}
	if known.State == session.PluginStateDisabled {
		return known, fmt.Errorf("%w: the plugin %s is disabled; enable it first", ErrRefused, ref.ID)
	}
	err = m.accept(context.WithoutCancel(ctx), s, offer)
	known, _ = s.look()
	return known, err
}

// version is the candidate of a version that is known.
func (m *Manager) version(known session.Plugin, digest string) (Offer, error) {
	type version struct{ digest, source, origin string }
	var all []version
	if held := known.Held; held != nil {
		all = append(all, version{held.Digest, held.Source, held.Origin})
	}
	if current := known.Current(); current != nil {
		all = append(all, version{current.Digest, current.Source, current.Origin})
	}
	for _, revision := range slices.Backward(known.Revisions) {
		all = append(all, version{revision.Digest, revision.Source, revision.Origin})
	}
	at := slices.IndexFunc(all, func(v version) bool { return len(v.digest) >= len(digest) && v.digest[:len(digest)] == digest })
	if at < 0 {
		return Offer{}, fmt.Errorf("%w: the plugin %s has no version whose digest begins with %q; plinth plugin show %s lists them", ErrUnknown, known.ID, clip(digest), known.ID)
	}
	candidate, err := m.kept(known.ID, all[at].digest, all[at].source, all[at].origin)
	return Offer{Candidate: candidate, Source: all[at].source, Location: known.Location}, err
}

// kept is a version whose bytes are in the program or in the depot.
func (m *Manager) kept(id, digest, source, origin string) (Candidate, error) {
	if source == SourceBuiltin {
		m.mu.Lock()
		builtin, ok := m.builtins[id]
		m.mu.Unlock()
		if !ok || builtin.Digest != digest {
			return Candidate{}, fmt.Errorf("%w: the bytes of this version of %s came with another build of plinth", ErrUnknown, id)
		}
		return builtin, nil
	}
	if source == SourceNative {
		native, ok := m.nativeOf(id)
		if !ok || native.Digest != digest {
			return Candidate{}, fmt.Errorf("%w: %w", ErrUnknown, lacking(id))
		}
		return native, nil
	}
	packed, err := m.options.Depot.Get(digest)
	if err != nil {
		return Candidate{}, err
	}
	candidate, err := Packed(origin, packed, false)
	if err == nil && candidate.Manifest.ID != id {
		err = fmt.Errorf("the kept version %.12s is of %s, not of %s", digest, candidate.Manifest.ID, id)
	}
	return candidate, err
}

// Rollback has an earlier revision serve again; the one named, or the last that served
// before and was not rolled back itself. What served does not come back by itself.
func (m *Manager) Rollback(ctx context.Context, by session.Origin, ref Ref, revision string) (session.Plugin, error) {
	s, done, err := m.find(ctx, ref)
	if err != nil {
		return session.Plugin{}, err
	}
	defer done()
	err = m.rollback(context.WithoutCancel(ctx), s, by, revision, "rolled back by hand")
	known, _ := s.look()
	return known, err
}

// rollback is Rollback with the slot's turn.
func (m *Manager) rollback(ctx context.Context, s *slot, by session.Origin, revision, reason string) error {
	known, _ := s.look()
	target := earlier(known, revision)
	switch {
	case known.State != session.PluginStateActive:
		return fmt.Errorf("%w: the plugin %s is %s; only one that serves is rolled back", ErrRefused, s.id, known.State)
	case target == nil && revision != "":
		return fmt.Errorf("%w: the plugin %s has no revision %s that served; plinth plugin show %s lists them", ErrUnknown, s.id, clip(revision), s.id)
	case target == nil:
		return fmt.Errorf("%w: the plugin %s has no earlier revision", ErrRefused, s.id)
	case target.Revision == known.Revision:
		return fmt.Errorf("%w: the revision %s serves already", ErrRefused, target.Revision)
	}
	next, err := m.again(ctx, s, target, false)
	if err != nil {
		return fmt.Errorf("roll back to %s: %w", target.Revision, err)
	}
	event := session.PluginRolledBack{Plugin: s.id, Location: s.location, Revision: target.Revision, From: known.Revision, Reason: reason}
	if err := m.swap(ctx, s, by, next, event); err != nil {
		return errors.Join(err, next.close())
	}
	return nil
}

// earlier finds the revision to roll back to; nil when there is none.
func earlier(known session.Plugin, revision string) *session.PluginRevision {
	var found *session.PluginRevision
	for i := range known.Revisions {
		one := &known.Revisions[i]
		switch {
		case one.Activated == 0:
		case revision != "" && one.Revision == revision:
			return one
		case revision == "" && one.Revision != known.Revision && !one.Blocked && (found == nil || one.Activated >= found.Activated):
			found = one
		}
	}
	return found
}

// again builds a revision that the log knows.
func (m *Manager) again(ctx context.Context, s *slot, revision *session.PluginRevision, lazy bool) (*serving, error) {
	candidate, err := m.kept(s.id, revision.Digest, revision.Source, revision.Origin)
	if err != nil {
		return nil, err
	}
	terms, err := TermsOf(revision.Terms)
	if err != nil {
		return nil, err
	}
	return m.build(ctx, s, candidate, revision.Revision, terms, lazy || candidate.Builtin)
}

// Disable has a plugin serve no more, as if it were removed, until it is enabled.
func (m *Manager) Disable(ctx context.Context, by session.Origin, ref Ref) (session.Plugin, error) {
	s, done, err := m.find(ctx, ref)
	if err != nil {
		return session.Plugin{}, err
	}
	defer done()
	if known, _ := s.look(); known.State != session.PluginStateDisabled {
		err = m.disable(context.WithoutCancel(ctx), s, by, false)
	}
	known, _ := s.look()
	return known, err
}

func (m *Manager) disable(ctx context.Context, s *slot, by session.Origin, configured bool) error {
	if known, _ := s.look(); known.State == "" {
		return nil // it never served
	}
	old, retirement, err := m.withdraw(ctx, s, by, session.PluginDisabled{Plugin: s.id, Location: s.location, Configured: configured})
	if old != nil || err == nil {
		m.leave(s, old, retirement)
	}
	return err
}

// Enable lets a disabled or quarantined plugin serve again.
func (m *Manager) Enable(ctx context.Context, by session.Origin, ref Ref) (session.Plugin, error) {
	s, done, err := m.find(ctx, ref)
	if err != nil {
		return session.Plugin{}, err
	}
	defer done()
	err = m.enable(context.WithoutCancel(ctx), s, by)
	known, _ := s.look()
	if source, origin := sourceOf(known); (source == SourceFolder || source == SourceProject) && m.comesBack(origin, s.location) {
		m.aside(func() { m.look(origin, s.location) }) // what it is by now
	}
	return known, err
}

func (m *Manager) enable(ctx context.Context, s *slot, by session.Origin) error {
	known, _ := s.look()
	if known.Configured {
		return fmt.Errorf("%w: the configuration disables the plugin; set enabled = true in [plugins.%q]", ErrRefused, s.id)
	}
	switch known.State {
	case session.PluginStateDisabled, session.PluginStateQuarantined:
	case session.PluginStateFailed:
		return fmt.Errorf("%w: the plugin %s is not disabled, it failed: %s; mend that, then plinth plugin reload %s",
			ErrRefused, s.id, known.Error, commandRef(s.id, s.location))
	case session.PluginStateHeld:
		return fmt.Errorf("%w: the plugin %s is not disabled, it waits for approval: plinth plugin approve %s", ErrRefused, s.id, commandRef(s.id, s.location))
	default:
		return nil
	}
	if err := m.record(ctx, s, by, session.PluginEnabled{Plugin: s.id, Location: s.location}); err != nil {
		return err
	}
	if m.lacks(known) {
		return m.nativeAgain(ctx, s, by)
	}
	revision := known.Current()
	if revision == nil {
		return m.offerAgain(ctx, s, by)
	}
	next, err := m.again(ctx, s, revision, false)
	offer := Offer{By: by, Location: s.location, Source: revision.Source, Candidate: Candidate{Origin: revision.Origin, Digest: revision.Digest}}
	offer.Candidate.Manifest.ID = s.id
	if err != nil {
		return m.refuse(ctx, s, offer, revision.Revision, failedAt(stageStart, err))
	}
	if err := m.swap(ctx, s, by, next, session.PluginActivated{Plugin: s.id, Location: s.location, Revision: revision.Revision}); err != nil {
		return m.refuse(ctx, s, offer, revision.Revision, errors.Join(failedAt(stageContribute, err), next.close()))
	}
	return nil
}

// offerAgain offers again the last version of a plugin of which none came to serve. One that
// waits still does, and what a folder holds is looked at there.
func (m *Manager) offerAgain(ctx context.Context, s *slot, by session.Origin) error {
	known, _ := s.look()
	if source, _ := sourceOf(known); known.Held != nil || len(known.Revisions) == 0 || source == SourceFolder || source == SourceProject {
		return nil
	}
	offer, err := m.version(known, "")
	if err != nil {
		last := known.Revisions[len(known.Revisions)-1]
		offer = Offer{By: by, Location: s.location, Source: last.Source, Candidate: Candidate{Origin: last.Origin, Digest: last.Digest}}
		offer.Candidate.Manifest.ID = s.id
		return m.refuse(ctx, s, offer, last.Revision, failedAt(stageRead, err))
	}
	offer.By = by
	return m.accept(ctx, s, offer)
}

// Removal says how a plugin is removed.
type Removal struct {
	// Purge: its stored values go at once, not after 30 days.
	Purge bool
	// Patience is how long turns may go on with it; 0 is to their end.
	Patience time.Duration
}

// Remove takes a plugin out for good: its scope is closed, turns that pinned it go on to
// their end, and what it took is returned. One that its source would bring back at once is
// refused.
func (m *Manager) Remove(ctx context.Context, by session.Origin, ref Ref, removal Removal) error {
	s, done, err := m.find(ctx, ref)
	if err != nil {
		return err
	}
	defer done()
	known, _ := s.look()
	source, origin := sourceOf(known)
	switch {
	case source == SourceNative && strings.HasPrefix(s.id, serverOwner+"/"):
		return fmt.Errorf("%w: the plugin %s is of a configured server; take its table out of the configuration, or disable it", ErrRefused, s.id)
	case source == SourceBuiltin || source == SourceNative:
		return fmt.Errorf("%w: the plugin %s is part of plinth; disable it instead", ErrRefused, s.id)
	case (source == SourceFolder || source == SourceProject) && m.comesBack(origin, s.location):
		return fmt.Errorf("%w: the plugin %s would come back from %s; remove it there, or disable it", ErrRefused, s.id, origin)
	}
	err = m.remove(context.WithoutCancel(ctx), s, by, removal)
	if err == nil {
		m.aside(func() { m.heirs(s) })
	}
	return err
}

// sourceOf is where a plugin came from last.
func sourceOf(known session.Plugin) (source, origin string) {
	if current := known.Current(); current != nil {
		return current.Source, current.Origin
	}
	if known.Held != nil {
		return known.Held.Source, known.Held.Origin
	}
	if n := len(known.Revisions); n > 0 {
		return known.Revisions[n-1].Source, known.Revisions[n-1].Origin
	}
	if known.Failed != nil {
		return known.Failed.Source, known.Failed.Origin
	}
	return "", ""
}

func (m *Manager) remove(ctx context.Context, s *slot, by session.Origin, removal Removal) error {
	old, retirement, err := m.withdraw(ctx, s, by, session.PluginRemoved{Plugin: s.id, Location: s.location, Purged: removal.Purge})
	if err != nil && old == nil {
		return err
	}
	err = errors.Join(err, m.bury(ctx, s, removal.Purge), m.requireMissing())
	if old == nil {
		m.sweepDepot()
		return err
	}
	m.retire(s, old, retirement, removal.Patience, func() {
		if removal.Purge { // what its last calls stored
			if err := m.bury(context.WithoutCancel(m.life), s, true); err != nil {
				m.options.Logger.Warn("values of a removed plugin are left until they are swept", "plugin", s.id, "error", err)
			}
		}
	})
	return err
}

// bury has the plugin's stored values go, unless it is known in another scope, or again.
func (m *Manager) bury(ctx context.Context, s *slot, purge bool) error {
	for _, other := range m.all() {
		if known, _ := other.look(); other.id == s.id && known.State != "" {
			return nil
		}
	}
	if purge {
		return m.options.Services.Store.Purge(ctx, s.id, time.Now())
	}
	return m.options.Services.Store.Bury(ctx, s.id, time.Now())
}

// forget makes the slot that of a plugin nobody knows.
func (s *slot) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = session.Plugin{ID: s.id, Location: s.location}
}
