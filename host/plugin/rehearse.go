package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session/runner"
)

// Rehearse runs a candidate and the version that serves the session's Location beside each
// other, on what the session has recorded, and answers what differs. Neither is in the
// registries, and the candidate gets what the serving version was granted. Nothing is
// appended, no request leaves the machine, no tool runs, and their operations only read.
// The error is ErrRefused where the candidate could not serve, or nothing serves that it
// could be compared with. One rehearsal runs at a time.
func (m *Manager) Rehearse(ctx context.Context, candidate Candidate, past runner.Past) (Rehearsal, error) {
	if err := m.begin(); err != nil {
		return Rehearsal{}, err
	}
	defer m.work.Done()
	select {
	case m.rehearsal <- struct{}{}:
		defer func() { <-m.rehearsal }()
	case <-ctx.Done():
		return Rehearsal{}, context.Cause(ctx)
	}
	ctx, cancel := context.WithCancelCause(bridge.Rehearsing(ctx))
	defer cancel(nil)
	defer context.AfterFunc(m.life, func() { cancel(context.Cause(m.life)) })()
	s, serving, err := m.rehearsed(candidate.Manifest.ID, past.Session.Location.Root)
	if err != nil {
		return Rehearsal{}, err
	}
	run := &rehearsing{manager: m, past: past, report: Rehearsal{Plugin: s.id, Location: s.location, Session: past.Session.ID, Turns: len(past.Turns),
		Manifest: trust.Difference(serving.candidate.Manifest, candidate.Manifest)}}
	terms, err := run.terms(serving, candidate)
	if err != nil {
		return Rehearsal{}, err
	}
	kept, err := terms.encode()
	if err != nil {
		return Rehearsal{}, err
	}
	run.report.Serving = Rehearsed{serving.candidate.Manifest.Version, serving.candidate.Digest, serving.revision}
	run.report.New = Rehearsed{candidate.Manifest.Version, candidate.Digest, revisionOf(candidate.Digest, kept)}
	if err := run.open(ctx, s, serving, candidate, terms); err != nil {
		return Rehearsal{}, errors.Join(err, run.close())
	}
	err = run.compare(ctx)
	if err = errors.Join(err, run.close()); err != nil {
		return Rehearsal{}, err
	}
	return run.report, nil
}

// rehearsed finds what a session at the root calls by the id.
func (m *Manager) rehearsed(id, root string) (*slot, *serving, error) {
	for _, location := range []string{root, ""} {
		m.mu.Lock()
		s := m.slots[place{id, location}]
		m.mu.Unlock()
		if s == nil {
			continue
		}
		if _, serving := s.look(); serving != nil && serving.plugin != nil {
			return s, serving, nil
		}
	}
	return nil, nil, fmt.Errorf("%w: no plugin %s serves the session, so there is nothing to compare with; plinth plugin list shows what serves", ErrRefused, clip(id))
}

// rehearsing is one rehearsal.
type rehearsing struct {
	manager *Manager
	past    runner.Past
	report  Rehearsal
	old     stageplay
	new     stageplay
}

// stageplay is a version in registries of its own.
type stageplay struct {
	*serving
	pin *registry.Pin
}

// terms are what the candidate would serve under: the operator's settings, and of what
// it asks for that which the serving version was granted.
func (r *rehearsing) terms(serving *serving, candidate Candidate) (Terms, error) {
	before := serving.candidate.Manifest
	grants, _ := trust.Covers(trust.Approval{Requests: trust.Records(before), Granted: serving.terms.Grants}, candidate.Manifest)
	withheld, err := trust.Withheld(candidate.Manifest, grants)
	if err != nil {
		return Terms{}, err
	}
	for _, request := range withheld {
		r.report.Withheld = append(r.report.Withheld, request.Key)
	}
	terms, err := r.manager.terms(candidate, grants)
	if err != nil {
		return Terms{}, fmt.Errorf("%w: the new version could not serve: %w", ErrRefused, err)
	}
	return terms, nil
}

// open makes both versions anew, beside what serves.
func (r *rehearsing) open(ctx context.Context, s *slot, serving *serving, candidate Candidate, terms Terms) error {
	var err error
	if r.old, err = r.play(ctx, s, serving.candidate, serving.revision, serving.terms); err != nil {
		return fmt.Errorf("make the serving version again: %w", err)
	}
	if r.new, err = r.play(ctx, s, candidate, r.report.New.Revision, terms); err != nil {
		return fmt.Errorf("%w: the new version could not serve: %w", ErrRefused, err)
	}
	return nil
}

func (r *rehearsing) play(ctx context.Context, s *slot, candidate Candidate, revision string, terms Terms) (stageplay, error) {
	terms.Record = "" // a rehearsal is none of the plugin's calls
	made, err := r.manager.buildFor(ctx, s, place{}, candidate, revision, terms, false)
	if err != nil {
		return stageplay{}, err
	}
	apart := r.manager.options.Kinds.Registries()
	if _, err := apart.Replace(made.scope); err != nil {
		return stageplay{}, errors.Join(err, made.close())
	}
	return stageplay{made, apart.Pin(s.location)}, nil
}

func (r *rehearsing) close() error {
	var err error
	for _, play := range []stageplay{r.old, r.new} {
		if play.serving != nil {
			play.pin.Release()
			err = errors.Join(err, play.serving.close())
		}
	}
	return err
}

// compare makes all comparisons. It fails when ctx ends.
func (r *rehearsing) compare(ctx context.Context) error {
	for _, compare := range []func(context.Context) error{r.contexts, r.transforms, r.encodes, r.classifies, r.decodes, r.tools} {
		if err := compare(ctx); err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// answer is what a version answers, or how it fails.
type answer struct {
	OK    any    `json:"ok,omitempty"`
	Error string `json:"error,omitempty"`
}

func answered(ok any, err error) answer {
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{OK: ok}
}

// judge compares two answers; nil is of a version that has nothing of the name.
func (r *rehearsing) judge(kind CheckKind, name, on string, before, after *answer) error {
	texts := [2][]byte{}
	for i, one := range []*answer{before, after} {
		var value any = map[string]any{}
		if one != nil {
			value = one
		}
		var err error
		if texts[i], err = json.Marshal(value); err != nil {
			return fmt.Errorf("encode what %s %s answers: %w", kind, name, err)
		}
	}
	differences, err := compareJSON("", texts[1], texts[0])
	if err != nil {
		return err
	}
	r.report.compared(Finding{Kind: kind, Name: name, On: on, Changes: changesOf(differences)})
	return nil
}

// both are the entries of a kind in both versions by name, ascending.
func both[T any](r *rehearsing, kind *registry.Kind[T]) (names []string, before, after map[string]T) {
	collect := func(play stageplay) map[string]T {
		found := map[string]T{}
		for _, entry := range registry.All(play.pin, kind) {
			found[entry.Name] = entry.Value
		}
		return found
	}
	before, after = collect(r.old), collect(r.new)
	all := maps.Clone(before)
	maps.Copy(all, after)
	return slices.Sorted(maps.Keys(all)), before, after
}
