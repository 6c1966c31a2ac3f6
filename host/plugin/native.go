package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// SourceNative is that of contributions of the program's own, written in Go.
const SourceNative = "native"

// Native is a plugin without a module: Go values behind the ports. It is staged,
// activated, listed, disabled and enabled like any other; it asks for nothing, and
// nothing watches its calls.
type Native struct {
	ID            string // "core/name"
	Version       string // another version is another revision
	Description   string
	Contributions []registry.Contribution
	// Fingerprint, where it differs, makes another revision of the same version.
	Fingerprint []byte
}

// candidate is the plugin as one that was found, under this owner.
func (n Native) candidate(owner string) (Candidate, error) {
	switch {
	case !strings.HasPrefix(n.ID, owner+"/"):
		return Candidate{}, fmt.Errorf("native plugin %q: its id must begin with %s/", n.ID, owner)
	case n.Version == "":
		return Candidate{}, fmt.Errorf("native plugin %s: its version is missing", n.ID)
	}
	digest := sha256.Sum256(append([]byte(n.ID+"\x00"+n.Version), n.Fingerprint...))
	contributions := n.Contributions
	if contributions == nil {
		contributions = []registry.Contribution{}
	}
	return Candidate{Origin: "native " + n.ID, Builtin: owner == builtinOwner, Digest: hex.EncodeToString(digest[:]),
		Manifest: abi.Manifest{ID: n.ID, Version: n.Version, Description: n.Description}, native: contributions}, nil
}

// Native has a native plugin serve from the start on. It is called before Start. One that
// served in an earlier process and is not there any more is removed by Start.
func (m *Manager) Native(native Native) error {
	candidate, err := native.candidate(builtinOwner)
	if err == nil && len(native.Contributions) == 0 {
		err = fmt.Errorf("native plugin %s: it contributes nothing", native.ID)
	}
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, other := range m.natives {
		if other.Manifest.ID == native.ID {
			return fmt.Errorf("native plugin %s: there is one of this id", native.ID)
		}
	}
	m.natives = append(m.natives, candidate)
	return nil
}

// nativeOf is the native plugin of an id.
func (m *Manager) nativeOf(id string) (Candidate, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, native := range m.natives {
		if native.Manifest.ID == id {
			return native, true
		}
	}
	return Candidate{}, false
}

// natively is the digest of the native plugin of an id, "" for none.
func (m *Manager) natively(id string) string {
	native, _ := m.nativeOf(id)
	return native.Digest
}

// serveNative makes a revision of Go values, which is closed when no turn uses it.
func serveNative(s *slot, candidate Candidate, revision string, terms Terms) *serving {
	made := &serving{candidate: candidate, revision: revision, terms: terms,
		scope: registry.Scope{ID: s.id, Location: s.location, Builtin: candidate.Builtin, Revision: revision, Contributions: candidate.native}}
	made.life, made.end = context.WithCancelCause(context.Background())
	return made
}

// dropNative removes what the log has of a native plugin that the program has no more. One
// that somebody disabled stays disabled should it come back.
func (m *Manager) dropNative(ctx context.Context, s *slot) (dropped bool, err error) {
	known, _ := s.look()
	source, _ := sourceOf(known)
	if _, there := m.nativeOf(s.id); source != SourceNative || there || m.isAwaited(s.id) || known.State == session.PluginStateDisabled {
		return false, nil
	}
	err = m.options.Ledger.Record(ctx, session.System(), session.PluginRemoved{Plugin: s.id, Location: s.location})
	s.forget()
	return true, err
}

// startNatives has the native plugins serve.
func (m *Manager) startNatives(ctx context.Context) error {
	m.mu.Lock()
	natives := m.natives
	m.mu.Unlock()
	var err error
	for _, native := range natives {
		if failed := m.accept1(ctx, Offer{Candidate: native, Source: SourceNative, By: session.System()}); failed != nil {
			err = errors.Join(err, fmt.Errorf("native %s: %w", native.Manifest.ID, failed))
		}
	}
	return err
}
