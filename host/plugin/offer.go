package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/session"
)

// Offer is a plugin that is to serve.
type Offer struct {
	Candidate Candidate
	Source    string // SourceFolder and the like
	Location  string // a project's root; empty for the global level
	By        session.Origin
	// Grants are the keys of the requests that somebody grants with the offer; nil leaves
	// it to earlier approvals.
	Grants []string
}

// Offer proves a plugin and has it serve in the place of the one before, or holds it
// until somebody approves of what it asks for. When it fails, what served goes on. Of
// offers from one origin that come while one is proved the newest is taken, and answers
// all of them. Who does not wait for the end leaves it to itself.
func (m *Manager) Offer(ctx context.Context, offer Offer) (session.Plugin, error) {
	if err := offer.grantable(); err != nil {
		return session.Plugin{}, err
	}
	s, offering, err := m.submit(offer)
	if err != nil {
		return session.Plugin{}, err
	}
	select {
	case <-offering.done:
		known, _ := s.look()
		return known, offering.err
	case <-ctx.Done():
		return session.Plugin{}, context.Cause(ctx)
	}
}

// grantable refuses grants that cannot be given, before anything is recorded.
func (o Offer) grantable() error {
	if o.Grants == nil {
		return nil
	}
	if _, err := trust.Narrow(o.Candidate.Manifest, o.Grants); err != nil {
		return failedAt(stageSettings, named(o.Candidate, err))
	}
	if unmet := trust.Unmet(o.Candidate.Manifest, o.Grants); len(unmet) > 0 {
		return failedAt(stageSettings, named(o.Candidate, errors.New(unmet[0].String())))
	}
	return nil
}

// submit puts an offer in line and sees to it.
func (m *Manager) submit(offer Offer) (*slot, *offering, error) {
	if err := m.begin(); err != nil {
		return nil, nil, err
	}
	s := m.slot(offer.Candidate.Manifest.ID, offer.Location)
	offering, first := s.propose(offer)
	if !first {
		m.work.Done()
		return s, offering, nil
	}
	go func() {
		defer m.work.Done()
		m.consider(s)
	}()
	return s, offering, nil
}

// consider takes what is in line for a slot, once it is its turn.
func (m *Manager) consider(s *slot) {
	if err := s.take(m.life); err != nil {
		offering := s.pick()
		offering.err = err
		close(offering.done)
		return
	}
	defer s.yield()
	offering := s.pick()
	defer close(offering.done)
	offering.err = m.accept(m.life, s, offering.offer)
	if _, said := errors.AsType[*Failure](offering.err); offering.err != nil && !said {
		offering.err = named(offering.offer.Candidate, offering.err)
	}
}

// accept is what becomes of an offer. The caller has the slot's turn.
func (m *Manager) accept(ctx context.Context, s *slot, offer Offer) error {
	candidate := offer.Candidate
	known, serving := s.look()
	settings, _ := m.configured(s.id)
	switch {
	case settings.Disabled && known.State == session.PluginStateDisabled:
		return nil
	case settings.Disabled:
		return m.disable(ctx, s, offer.By, true)
	case known.State == session.PluginStateDisabled && known.Configured:
		if err := m.record(ctx, s, offer.By, session.PluginEnabled{Plugin: s.id, Location: s.location}); err != nil {
			return err
		}
		known, serving = s.look()
	case known.State == session.PluginStateDisabled:
		return nil // until somebody enables it
	}
	if err := m.foreign(known, offer); err != nil {
		return m.refuse(ctx, s, offer, "", failedAt(stageRead, err))
	}
	release := m.naming()
	defer release()
	if !candidate.Builtin && candidate.native == nil {
		if _, err := m.options.Depot.Put(candidate.Wasm); err != nil {
			return m.refuse(ctx, s, offer, "", failedAt(stageRead, err))
		}
	}
	grants, held, err := m.granted(ctx, s, offer)
	if err != nil {
		return m.refuse(ctx, s, offer, "", failedAt(stageSettings, err))
	}
	if held != "" {
		return m.hold(ctx, s, offer, held)
	}
	terms, err := m.terms(candidate, grants)
	if err != nil {
		return m.refuse(ctx, s, offer, "", failedAt(stageSettings, err))
	}
	kept, err := terms.encode()
	if err != nil {
		return m.refuse(ctx, s, offer, "", failedAt(stageSettings, err))
	}
	revision := revisionOf(candidate.Digest, kept)
	if serving != nil && serving.revision == revision {
		return m.moved(ctx, s, offer)
	}
	switch at := known.At(revision); {
	case known.State == session.PluginStateQuarantined && known.Revision == revision:
		return fmt.Errorf("%w: this version is quarantined: %s; enable the plugin to try it again", ErrRefused, known.Error)
	case at != nil && at.Blocked:
		return &blockedError{fmt.Errorf("%w: this version was rolled back: %s; roll back to %s to have it all the same", ErrRefused, at.Error, revision)}
	}
	staged := session.PluginStaged{Plugin: s.id, Location: s.location, Revision: revision, Digest: candidate.Digest,
		Version: candidate.Manifest.Version, Source: offer.Source, Origin: candidate.Origin, Terms: kept}
	if err := m.record(ctx, s, offer.By, staged); err != nil {
		return err
	}
	release() // the proof of one plugin keeps no other waiting
	return m.activate(ctx, s, offer, revision, terms)
}

// blockedError is of a version that was rolled back.
type blockedError struct{ error }

func (e *blockedError) Unwrap() error { return e.error }

// unlessBlocked is an error of what everything is offered again for: that a version which
// was rolled back stays so is what somebody wanted.
func unlessBlocked(err error) error {
	if _, blocked := errors.AsType[*blockedError](err); blocked {
		return nil
	}
	return err
}

// naming keeps what is put into the depot there until what it answers is called, by when
// the log names it. That may be called twice.
func (m *Manager) naming() (release func()) {
	m.keeping.RLock()
	return sync.OnceFunc(m.keeping.RUnlock)
}

// moved records that what serves comes from elsewhere now.
func (m *Manager) moved(ctx context.Context, s *slot, offer Offer) error {
	known, _ := s.look()
	current := known.Current()
	if current == nil || current.Source == offer.Source && current.Origin == offer.Candidate.Origin {
		return nil
	}
	staged := current.PluginStaged
	staged.Source, staged.Origin = offer.Source, offer.Candidate.Origin
	return m.record(ctx, s, offer.By, staged)
}

// activate proves a revision that is staged and has it serve.
func (m *Manager) activate(ctx context.Context, s *slot, offer Offer, revision string, terms Terms) error {
	if err := m.options.Services.Store.Unbury(ctx, s.id); err != nil {
		return m.refuse(ctx, s, offer, revision, failedAt(stageStart, err))
	}
	next, err := m.prove(ctx, s, offer.Candidate, revision, terms)
	if err != nil {
		return m.refuse(ctx, s, offer, revision, err)
	}
	known, serving := s.look()
	activated := session.PluginActivated{Plugin: s.id, Location: s.location, Revision: revision}
	if serving != nil || known.State == session.PluginStateActive {
		activated.Replaces = known.Revision
	}
	if err := m.swap(ctx, s, offer.By, next, activated); err != nil {
		return m.refuse(ctx, s, offer, revision, errors.Join(failedAt(stageContribute, err), next.close()))
	}
	return nil
}

// prove builds a revision that has started once and does what its goldens recorded. Those
// of builtins are proved when they are built.
func (m *Manager) prove(ctx context.Context, s *slot, candidate Candidate, revision string, terms Terms) (*serving, error) {
	next, err := m.build(ctx, s, candidate, revision, terms, candidate.Builtin)
	if err != nil || candidate.Builtin || terms.ExtismSDK || len(candidate.Manifest.Goldens) == 0 {
		return next, err
	}
	goldens, err := candidate.Goldens()
	if err != nil {
		return nil, errors.Join(failedAt(stageGolden, err), next.close())
	}
	proofs, err := Prove(ctx, m.engine, candidate, goldens)
	for _, proof := range proofs {
		err = errors.Join(err, proof.Err)
	}
	if err != nil {
		return nil, errors.Join(failedAt(stageGolden, err), next.close())
	}
	return next, nil
}

// foreign refuses a plugin whose id another one has that came from elsewhere and is
// still there.
func (m *Manager) foreign(known session.Plugin, offer Offer) error {
	current := known.Current()
	if current == nil || known.State == session.PluginStateFailed || known.State == session.PluginStateHeld {
		return nil
	}
	switch {
	case current.Source == offer.Source && (offer.Source != SourceFolder || current.Origin == offer.Candidate.Origin || !m.comesBack(current.Origin, known.Location)):
		return nil
	case current.Source == SourceFolder && !m.comesBack(current.Origin, known.Location):
		return nil
	case offer.By.Actor != session.System().Actor && (current.Source == SourceUpload || current.Source == SourceURL):
		return nil // somebody replaces what somebody gave
	}
	return fmt.Errorf("the plugin from %s has this id; remove one, or give it an id of its own", current.Origin)
}

// granted are the requests that an offer is granted, or why it is held.
func (m *Manager) granted(ctx context.Context, s *slot, offer Offer) (grants []string, held string, err error) {
	manifest, digest := offer.Candidate.Manifest, offer.Candidate.Digest
	requests := trust.Requests(manifest)
	all := trust.Keys(manifest)
	known, _ := s.look()
	switch {
	case offer.Candidate.Builtin:
		return all, "", nil
	case offer.Grants != nil:
		grants, err = m.approve(ctx, s, offer)
	default:
		grants, held, err = m.earlier(known, offer, requests)
	}
	if err != nil || held != "" {
		return nil, held, err
	}
	if unmet := trust.Unmet(manifest, grants); len(unmet) > 0 {
		return nil, "", fmt.Errorf("%s: plinth plugin approve %s --digest %.12s --grant KEY", unmet[0], commandRef(s.id, s.location), digest)
	}
	return grants, "", nil
}

// earlier are the grants that follow from what was approved before.
func (m *Manager) earlier(known session.Plugin, offer Offer, requests []trust.Request) (grants []string, held string, err error) {
	manifest, digest := offer.Candidate.Manifest, offer.Candidate.Digest
	at := slices.IndexFunc(known.Approvals, func(a session.PluginApproved) bool { return a.Digest == digest })
	switch {
	case at >= 0:
		return known.Approvals[at].Grants, "", nil
	case offer.Source == SourceProject:
		return nil, "a project's plugin serves when this very version is approved", nil
	case m.options.Development && offer.Source == SourceFolder:
		return trust.Keys(manifest), "", nil
	case len(requests) == 0:
		return nil, "", nil
	case len(known.Approvals) == 0:
		return nil, "it asks for " + listed(requests), nil
	}
	last := known.Approvals[len(known.Approvals)-1]
	approval := trust.Approval{Digest: last.Digest, Granted: last.Grants}
	if err := json.Unmarshal(last.Requests, &approval.Requests); err != nil {
		return nil, "", fmt.Errorf("read what was approved: %w", err)
	}
	grants, more := trust.Covers(approval, manifest)
	if len(more) > 0 {
		return nil, "it asks for more than was approved: " + listed(more), nil
	}
	return grants, "", nil
}

// listed are requests in one line, each with its reason.
func listed(requests []trust.Request) string {
	texts := make([]string, len(requests))
	for i, request := range requests {
		texts[i] = request.Key
		if request.Reason != "" {
			texts[i] += " (" + request.Reason + ")"
		}
	}
	return strings.Join(texts, ", ")
}

// approve records that somebody grants a version these requests.
func (m *Manager) approve(ctx context.Context, s *slot, offer Offer) ([]string, error) {
	manifest := offer.Candidate.Manifest
	if _, err := trust.Narrow(manifest, offer.Grants); err != nil {
		return nil, err
	}
	grants := slices.Compact(slices.Sorted(slices.Values(offer.Grants)))
	requests, err := json.Marshal(trust.Records(manifest))
	if err != nil {
		return nil, fmt.Errorf("encode the requests: %w", err)
	}
	return grants, m.record(ctx, s, offer.By, session.PluginApproved{Plugin: s.id, Location: s.location,
		Digest: offer.Candidate.Digest, Grants: grants, Requests: requests})
}

// hold keeps a version until somebody approves of it. What serves goes on. Who offered
// it learns so from the answer.
func (m *Manager) hold(ctx context.Context, s *slot, offer Offer, reason string) error {
	known, _ := s.look()
	if known.Held != nil && known.Held.Digest == offer.Candidate.Digest {
		return nil
	}
	level := hclog.Info
	if offer.By.Actor == session.System().Actor { // nobody else is told
		level = hclog.Warn
	}
	m.options.Logger.Log(level, "a plugin waits for approval", "plugin", s.id, "version", offer.Candidate.Manifest.Version, "reason", reason,
		"fix", "plinth plugin show "+commandRef(s.id, s.location)+", then plinth plugin approve "+commandRef(s.id, s.location))
	if err := m.record(ctx, s, offer.By, session.PluginHeld{Plugin: s.id, Location: s.location, Digest: offer.Candidate.Digest,
		Version: offer.Candidate.Manifest.Version, Source: offer.Source, Origin: offer.Candidate.Origin, Reason: reason}); err != nil {
		return err
	}
	m.standIn(s, offer.Candidate)
	if known.Held != nil { // whose bytes nobody asks for any more
		m.aside(m.sweepDepot)
	}
	return nil
}

// refuse records that a version did not come to serve, and answers why.
func (m *Manager) refuse(ctx context.Context, s *slot, offer Offer, revision string, cause error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	at := stageRead
	if failed, ok := errors.AsType[*stageError](cause); ok {
		at = failed.stage
	}
	m.options.Logger.Error("plugin refused", "plugin", s.id, "origin", offer.Candidate.Origin, "stage", at, "error", cause)
	failure := &Failure{Stage: string(at), Message: sentence(named(offer.Candidate, cause)), err: cause}
	err := m.record(ctx, s, offer.By, session.PluginFailed{Plugin: s.id, Location: s.location, Revision: revision,
		Digest: offer.Candidate.Digest, Version: offer.Candidate.Manifest.Version, Source: offer.Source, Origin: offer.Candidate.Origin,
		Stage: failure.Stage, Message: failure.Message})
	m.standIn(s, offer.Candidate)
	return errors.Join(failure, err)
}

// record appends events of the slot and learns what follows from them.
func (m *Manager) record(ctx context.Context, s *slot, by session.Origin, payloads ...session.Payload) error {
	if by.Actor == "" {
		by = session.System()
	}
	ctx = context.WithoutCancel(ctx)
	if err := m.options.Ledger.Record(ctx, by, payloads...); err != nil {
		return err
	}
	return s.learn(ctx, m.options.Ledger)
}
