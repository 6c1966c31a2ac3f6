package plugin

import (
	"context"
	"errors"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// swap has a revision serve in the place of the one before: first in the log, then in
// the registries, for all kinds at once. On an error nothing has changed.
func (m *Manager) swap(ctx context.Context, s *slot, by session.Origin, next *serving, event session.Payload) error {
	m.commit.Lock()
	defer m.commit.Unlock()
	if err := m.standForProviders(next); err != nil {
		return err
	}
	if err := m.options.Registries.Check(next.scope); err != nil {
		return errors.Join(err, m.standForProviders(nil))
	}
	if err := m.record(ctx, s, by, event); err != nil {
		return errors.Join(err, m.standForProviders(nil))
	}
	m.try(s, next)
	retirement, err := m.options.Registries.Replace(next.scope)
	if err != nil { // what was checked cannot fail; the next start sets it right
		return errors.Join(err, m.standForProviders(nil))
	}
	if before := s.serve(next); before != nil {
		m.retire(s, before, retirement, 0, nil)
	} else {
		m.forgetUnserved(s)
	}
	return m.standForProviders(nil)
}

// forgetUnserved notes that what the log still calls retiring is gone with the process
// that had it.
func (m *Manager) forgetUnserved(s *slot) {
	known, _ := s.look()
	var gone []session.Payload
	for _, revision := range known.Revisions {
		if revision.State == session.RevisionRetiring && !s.leaving(revision.Revision) {
			gone = append(gone, session.PluginRetired{Plugin: s.id, Location: s.location, Revision: revision.Revision})
		}
	}
	if len(gone) > 0 {
		m.note(s, gone...)
	}
}

// leaving reports a revision that turns still use.
func (s *slot) leaving(revision string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, leaving := range s.retiring {
		if leaving.serving.revision == revision {
			return true
		}
	}
	return false
}

// withdraw closes the slot's scope: first in the log, then in the registries. What it
// answers ends when no turn uses the revision any more; serving is nil when none did.
func (m *Manager) withdraw(ctx context.Context, s *slot, by session.Origin, event session.Payload) (*serving, *registry.Retirement, error) {
	m.commit.Lock()
	defer m.commit.Unlock()
	if err := m.record(ctx, s, by, event); err != nil {
		return nil, nil, err
	}
	retirement, _ := m.options.Registries.Remove(s.id, s.location)
	return s.serve(nil), retirement, m.standForProviders(nil)
}

// restand puts a stand-in into the slot's scope, so that what sessions were told stays
// told. The caller has recorded why.
func (m *Manager) restand(s *slot, candidate Candidate) (*serving, *registry.Retirement, error) {
	m.commit.Lock()
	defer m.commit.Unlock()
	retirement, err := m.standFor(s, candidate)
	if err != nil {
		return nil, nil, err
	}
	return s.serve(nil), retirement, m.standForProviders(nil)
}
