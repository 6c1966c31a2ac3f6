package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plinthhost/plinth/session"
)

// Start brings back the plugins that served when the host ended, as the log has them and
// without running any, then has the builtins serve, and tries what the configured folders
// and the trusted projects hold now, and the configured files, in the background: see
// Ready.
func (m *Manager) Start(ctx context.Context, builtins []Candidate, folders, files []string) error {
	for _, builtin := range builtins {
		m.builtins[builtin.Manifest.ID] = builtin
	}
	all, trusted, err := m.options.Ledger.All(ctx)
	if err != nil {
		return err
	}
	for _, root := range trusted {
		m.trusted[root] = true
	}
	if err := m.settle(ctx, all); err != nil {
		return err
	}
	for _, known := range all {
		s := m.slot(known.ID, known.Location)
		if err := s.learn(ctx, m.options.Ledger); err != nil {
			return err
		}
		if dropped, err := m.dropNative(ctx, s); err != nil {
			return err
		} else if !dropped {
			m.bring(ctx, s)
		}
	}
	for _, builtin := range builtins {
		if err := m.accept1(ctx, Offer{Candidate: builtin, Source: SourceBuiltin, By: session.System()}); err != nil {
			return fmt.Errorf("builtin %s: %w", builtin.Manifest.ID, err)
		}
	}
	if err := m.startNatives(ctx); err != nil {
		return err
	}
	if err := m.stand(); err != nil {
		return err
	}
	m.sweepDepot()
	if err := m.watch(folders, files, trusted); err != nil {
		return err
	}
	m.aside(func() {
		defer close(m.ready)
		// What fails is in the log of the host and in each plugin's state.
		_ = errors.Join(m.resettle(m.life, session.System(), nil), m.scanAll())
		if err := m.requireMissing(); err != nil {
			m.options.Logger.Error("a required plugin is not there", "error", err)
		}
	})
	return nil
}

// accept1 is an offer that is seen to at once.
func (m *Manager) accept1(ctx context.Context, offer Offer) error {
	s := m.slot(offer.Candidate.Manifest.ID, offer.Location)
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.yield()
	return m.accept(ctx, s, offer)
}

func (m *Manager) stand() error {
	m.commit.Lock()
	defer m.commit.Unlock()
	return m.standForProviders(nil)
}

// settle records what became of what the last process left in the middle.
func (m *Manager) settle(ctx context.Context, all []session.Plugin) error {
	var payloads []session.Payload
	for _, known := range all {
		for _, revision := range known.Revisions {
			switch revision.State {
			case session.RevisionRetiring:
				payloads = append(payloads, session.PluginRetired{Plugin: known.ID, Location: known.Location, Revision: revision.Revision})
			case session.RevisionStaged:
				payloads = append(payloads, session.PluginFailed{Plugin: known.ID, Location: known.Location, Revision: revision.Revision,
					Digest: revision.Digest, Stage: string(stageLoad), Message: "the host ended before the version was proved; it is tried again when its source is looked at: plinth plugin reload " + commandRef(known.ID, known.Location)})
			case session.RevisionActive, session.RevisionRetired, session.RevisionFailed:
			}
		}
	}
	if len(payloads) == 0 {
		return nil
	}
	return m.options.Ledger.Record(ctx, session.System(), payloads...)
}

// bring has a plugin serve as the log says, or stand in for itself. It appends nothing
// unless that fails.
func (m *Manager) bring(ctx context.Context, s *slot) {
	known, _ := s.look()
	revision := known.Current()
	switch {
	case known.State == session.PluginStateDisabled:
		return
	case known.State != session.PluginStateActive || revision == nil:
		m.standFromLog(s, known)
		return
	case revision.Source == SourceBuiltin && m.builtins[s.id].Digest != revision.Digest:
		return // another build of the program: its builtin comes next
	case revision.Source == SourceNative && m.natively(s.id) != revision.Digest:
		return // likewise
	}
	next, err := m.again(ctx, s, revision, true)
	if err == nil {
		err = m.open(s, next)
	}
	if err != nil {
		m.unstarted(s, *revision, err)
	}
}

// open puts a revision that serves already, as the log says, into the registries.
func (m *Manager) open(s *slot, next *serving) error {
	m.commit.Lock()
	defer m.commit.Unlock()
	if err := m.standForProviders(next); err != nil {
		return errors.Join(err, next.close())
	}
	m.try(s, next)
	if _, err := m.options.Registries.Replace(next.scope); err != nil {
		return errors.Join(err, next.close())
	}
	s.serve(next)
	return m.standForProviders(nil)
}

// standFromLog stands in for the context sources of a plugin that does not serve, where
// its bytes are still there to say what they are.
func (m *Manager) standFromLog(s *slot, known session.Plugin) {
	offer, err := m.version(known, "")
	if err != nil {
		m.options.Logger.Debug("nothing stands in for a plugin that does not serve", "plugin", s.id, "error", err)
		return
	}
	m.standIn(s, offer.Candidate)
}

// unstarted is what becomes of a revision that is to serve and cannot start: it is tried
// again, later each time, and quarantined when that does not help. The count outlives the
// host.
func (m *Manager) unstarted(s *slot, revision session.PluginRevision, cause error) {
	if m.life.Err() != nil {
		return
	}
	known, _ := s.look()
	attempt := known.Attempts + 1
	wait, quarantine := m.options.Backoff.After(attempt)
	message := fmt.Sprintf("plugin %s from %s: %v", s.id, revision.Origin, cause)
	m.options.Logger.Error("a plugin does not start", "plugin", s.id, "attempt", attempt, "error", cause)
	payloads := []session.Payload{session.PluginFailed{Plugin: s.id, Location: s.location, Revision: revision.Revision,
		Digest: revision.Digest, Stage: string(stageStart), Message: message, Attempt: attempt}}
	if quarantine {
		payloads = append(payloads, session.PluginQuarantined{Plugin: s.id, Location: s.location, Revision: revision.Revision,
			Reason: fmt.Sprintf("it did not start in %d attempts: %v", attempt, cause)})
	}
	m.note(s, payloads...)
	candidate, err := m.kept(s.id, revision.Digest, revision.Source, revision.Origin)
	if err != nil {
		candidate = Candidate{}
		candidate.Manifest.ID = s.id
	}
	old, retirement, err := m.restand(s, candidate)
	if err != nil {
		m.options.Logger.Warn("nothing stands in for the context sources of a plugin", "plugin", s.id, "error", err)
	}
	m.leave(s, old, retirement)
	if !quarantine {
		m.later(wait, func() { m.retry(s, revision) })
	}
}

// later runs something after a time, unless the manager is closed first.
func (m *Manager) later(wait time.Duration, run func()) {
	m.aside(func() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			run()
		case <-m.life.Done():
		}
	})
}

// retry starts a revision that did not start, unless something else has become of the
// plugin meanwhile.
func (m *Manager) retry(s *slot, revision session.PluginRevision) {
	if s.take(m.life) != nil {
		return
	}
	defer s.yield()
	known, serving := s.look()
	if known.State != session.PluginStateActive || known.Revision != revision.Revision || serving != nil {
		return
	}
	next, err := m.again(m.life, s, &revision, false)
	if err == nil {
		err = m.open(s, next)
	}
	if err != nil {
		m.unstarted(s, revision, err)
		return
	}
	m.startsAgain(s, revision.Revision)
}

// sweepDepot removes the bytes of versions that the log does not name any more.
func (m *Manager) sweepDepot() {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	ctx := context.WithoutCancel(m.life)
	all, _, err := m.options.Ledger.All(ctx)
	if err != nil {
		m.options.Logger.Warn("the bytes of old versions were not removed", "error", err)
		return
	}
	var named []string
	for _, known := range all {
		if known.Held != nil {
			named = append(named, known.Held.Digest)
		}
		for _, revision := range known.Revisions {
			named = append(named, revision.Digest)
		}
	}
	kept, err := m.options.Depot.List()
	for _, digest := range kept {
		if !slices.Contains(named, digest) {
			err = errors.Join(err, m.options.Depot.Remove(digest))
		}
	}
	if err != nil {
		m.options.Logger.Warn("the bytes of old versions were not removed", "error", err)
	}
}
