package plugin

import (
	"context"
	"errors"
	"slices"

	"github.com/plinthhost/plinth/session"
)

// serverOwner is the owner that only native plugins have which come and go while the host
// runs: those of servers.
const serverOwner = "mcp"

// Await says which native plugins are to come by Serve: Start leaves what the log has of
// them as it is. It is called before Start.
func (m *Manager) Await(ids ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.awaited = append(m.awaited, ids...)
}

func (m *Manager) isAwaited(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.awaited, id)
}

// Serve has a native plugin serve in the place of the one before of its id, after Start
// and as often as it changes. It is no part of the program: it asks for permission as a
// plugin does and reserves no names. When it is what the log says serves, nothing is
// recorded; while it is disabled it only takes the place.
func (m *Manager) Serve(ctx context.Context, native Native) error {
	candidate, err := native.candidate(serverOwner)
	if err != nil {
		return err
	}
	if err := m.begin(); err != nil {
		return err
	}
	defer m.work.Done()
	m.mu.Lock()
	m.natives = slices.DeleteFunc(m.natives, func(c Candidate) bool { return c.Manifest.ID == native.ID })
	m.natives = append(m.natives, candidate)
	m.mu.Unlock()
	s := m.slot(native.ID, "")
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.yield()
	ctx = context.WithoutCancel(ctx)
	known, serving := s.look()
	if current := known.Current(); serving == nil && known.State == session.PluginStateActive && current != nil && current.Digest == candidate.Digest {
		m.bring(ctx, s)
	}
	return m.accept(ctx, s, Offer{Candidate: candidate, Source: SourceNative, By: session.System()})
}

// Leave removes a native plugin that came by Serve, or was to. One that somebody disabled
// stays disabled should it come back.
func (m *Manager) Leave(ctx context.Context, id string) error {
	if err := m.begin(); err != nil {
		return err
	}
	defer m.work.Done()
	m.mu.Lock()
	m.natives = slices.DeleteFunc(m.natives, func(c Candidate) bool { return c.Manifest.ID == id })
	m.awaited = slices.DeleteFunc(m.awaited, func(awaited string) bool { return awaited == id })
	m.mu.Unlock()
	s := m.slot(id, "")
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.yield()
	known, _ := s.look()
	if known.State == "" || known.State == session.PluginStateDisabled {
		return nil
	}
	err := m.remove(context.WithoutCancel(ctx), s, session.System(), Removal{})
	if err == nil {
		m.aside(func() { m.heirs(s) })
	}
	return err
}

// Wanted reports whether nobody disabled a native plugin.
func (m *Manager) Wanted(id string) bool {
	settings, _ := m.configured(id)
	known, _ := m.slot(id, "").look()
	return !settings.Disabled && (known.State != session.PluginStateDisabled || known.Configured)
}

// Unserved keeps why a native plugin is not there, among what could not be read; nil
// forgets it.
func (m *Manager) Unserved(id string, err error) {
	if err == nil {
		m.forgive(id)
		return
	}
	m.Refused(&SourceError{Origin: id, Err: err})
}

// lacks reports that what the log has of a native plugin is not what there is now.
func (m *Manager) lacks(known session.Plugin) bool {
	source, _ := sourceOf(known)
	current := known.Current()
	return source == SourceNative && (current == nil || m.natively(known.ID) != current.Digest)
}

// nativeAgain offers what there is now of a native plugin; it may be that nothing is yet.
func (m *Manager) nativeAgain(ctx context.Context, s *slot, by session.Origin) error {
	native, there := m.nativeOf(s.id)
	if !there {
		return nil
	}
	return m.accept(ctx, s, Offer{Candidate: native, Source: SourceNative, By: by})
}

// lacking words that a version of a native plugin is not there.
func lacking(id string) error {
	return errors.New("this version of " + id + " is gone: a native plugin is as plinth, or its server, is now")
}
