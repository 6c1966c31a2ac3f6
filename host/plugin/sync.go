package plugin

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/plinthhost/plinth/host/plugin/lock"
	"github.com/plinthhost/plinth/session"
)

// SyncStep is one step of a Sync and how it came out.
type SyncStep struct {
	lock.Step
	Error string // empty when it was done, or is only planned
}

// Sync makes the plugins those of a list, without asking: what the list grants is granted.
// Paths that begin with ~/ are below home. With dry it only answers what it would do. A
// step that fails keeps nothing else from being done.
func (m *Manager) Sync(ctx context.Context, by session.Origin, list lock.File, home string, dry bool) []SyncStep {
	var steps []SyncStep
	for _, step := range lock.Plan(list, m.current()) {
		done := SyncStep{Step: step}
		if !dry {
			if err := m.carryOut(ctx, by, step, home); err != nil {
				done.Error = strings.Replace(sentence(err), ErrRefused.Error()+": ", "", 1)
			}
		}
		steps = append(steps, done)
	}
	return steps
}

// Locked is the list of the plugins that serve and came by hand, as Sync takes it.
func (m *Manager) Locked() lock.File {
	list := lock.File{}
	for _, one := range m.current() {
		if one.Digest == "" || one.From != lock.FromUpload && one.From != lock.FromURL {
			continue
		}
		list.Plugins = append(list.Plugins, lock.Entry{ID: one.ID, Version: one.Version, Digest: one.Digest,
			Source: one.Origin, Grants: one.Grants, Location: one.Location})
	}
	return list
}

// current are the plugins as a plan sees them.
func (m *Manager) current() []lock.Current {
	var all []lock.Current
	for _, s := range m.all() {
		known, serving := s.look()
		if known.State == "" {
			continue
		}
		one := lock.Current{ID: s.id, Location: s.location}
		one.From, one.Origin = sourceOf(known)
		if serving != nil {
			one.Version, one.Digest, one.Grants = serving.candidate.Manifest.Version, serving.candidate.Digest, serving.terms.Grants
		}
		all = append(all, one)
	}
	return all
}

func (m *Manager) carryOut(ctx context.Context, by session.Origin, step lock.Step, home string) error {
	switch step.Action {
	case lock.Remove:
		return m.Remove(ctx, by, Ref{step.ID, step.Location}, Removal{})
	case lock.Add, lock.Replace:
		return m.bringAbout(ctx, by, *step.Entry, home)
	case lock.Nothing, lock.Conflict:
	}
	return nil
}

// bringAbout has the plugin of an entry serve: exactly those bytes, with those grants.
func (m *Manager) bringAbout(ctx context.Context, by session.Origin, entry lock.Entry, home string) error {
	candidate, source, err := m.fetch(ctx, entry, home)
	switch {
	case err != nil:
		return err
	case candidate.Digest != entry.Digest:
		return fmt.Errorf("%s has other bytes now, %.12s…, than the list says, %.12s…; write the list anew when that is meant", entry.Source, candidate.Digest, entry.Digest)
	case candidate.Manifest.ID != entry.ID:
		return fmt.Errorf("the digest %.12s… is of the plugin %s, not of %s; correct the list", entry.Digest, candidate.Manifest.ID, entry.ID)
	}
	grants := entry.Grants
	if grants == nil {
		grants = []string{}
	}
	known, err := m.Offer(ctx, Offer{Candidate: candidate, Source: source, Location: entry.Location, By: by, Grants: grants})
	if err == nil && known.State != session.PluginStateActive {
		err = fmt.Errorf("the plugin %s %s", entry.ID, whyNot(known))
	}
	return err
}

// fetch answers the version of an entry: from the depot where it is kept, else from its
// source.
func (m *Manager) fetch(ctx context.Context, entry lock.Entry, home string) (candidate Candidate, source string, err error) {
	source, origin := SourceUpload, entry.Path(home)
	if entry.IsURL() {
		source, origin = SourceURL, entry.Source
	}
	if packed, err := m.options.Depot.Get(entry.Digest); err == nil {
		candidate, err = Packed(origin, packed, false)
		return candidate, source, err
	}
	if entry.IsURL() {
		candidate, err = Download(ctx, m.options.Network, entry.Source)
		candidate.Origin = entry.Source
		return candidate, source, err
	}
	candidate, err = At(filepath.Clean(origin))
	return candidate, source, err
}
