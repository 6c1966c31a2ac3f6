package plugin

import (
	"errors"
	"maps"
	"slices"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/session"
)

// Status is a plugin as people see it: what the log says, with what is known of the
// version that serves, or else of the latest.
type Status struct {
	session.Plugin
	// Serving: calls reach it.
	Serving bool
	// Manifest is that of the version that serves, or else waits, or else came last; nil
	// when its bytes are gone.
	Manifest *abi.Manifest
	Requests []trust.Request
	Terms    Terms
	Figures  Figures
	// Operations are what it asked of the host in this process.
	Operations map[string]bridge.Count
	// Report is of the engine; nil while it does not serve.
	Report *wasm.Report
	Stats  *wasm.Stats
	// Retiring are the revisions that turns still use beside the one that serves.
	Retiring []string
	// Change is what the version that waits would change of the one that serves; nil when
	// none does.
	Change *trust.Change
	// Asked are the requests of the version that waits.
	Asked []trust.Request
}

// Failure is a version that did not come to serve. What served goes on.
type Failure struct {
	// Stage is what it failed at, Message one sentence that says why, both as the log has
	// them in host.plugin.failed.
	Stage, Message string
	err            error
}

func (e *Failure) Error() string { return e.Message }
func (e *Failure) Unwrap() error { return e.err }

// FailedStage answers what a version failed at; empty for an error that says no such
// thing.
func FailedStage(err error) string {
	if failure, ok := errors.AsType[*Failure](err); ok {
		return failure.Stage
	}
	if failed, ok := errors.AsType[*stageError](err); ok {
		return string(failed.stage)
	}
	_, manifest := errors.AsType[*ManifestError](err)
	_, source := errors.AsType[*SourceError](err)
	_, url := errors.AsType[*URLError](err)
	if manifest || source || url {
		return string(stageRead)
	}
	return ""
}

// sentence is the error's text in one line.
func sentence(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// List answers all plugins in the order they were first known.
func (m *Manager) List() []Status {
	var all []Status
	for _, s := range m.all() {
		if known, _ := s.look(); known.State != "" {
			all = append(all, m.status(s))
		}
	}
	slices.SortStableFunc(all, func(a, b Status) int { return int(a.Seq - b.Seq) })
	return all
}

// Show answers one plugin.
func (m *Manager) Show(ref Ref) (Status, error) {
	s, err := m.at(ref)
	if err != nil {
		return Status{}, err
	}
	return m.status(s), nil
}

// Refusals are the plugins that could not even be read, by origin.
func (m *Manager) Refusals() []Refusal {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Refusal
	for _, origin := range slices.Sorted(maps.Keys(m.refused)) {
		all = append(all, m.refused[origin])
	}
	return all
}

func (m *Manager) status(s *slot) Status {
	s.mu.Lock()
	known, serving := s.known, s.serving
	status := Status{Plugin: known, Serving: serving != nil}
	for _, leaving := range s.retiring {
		status.Retiring = append(status.Retiring, leaving.serving.revision)
	}
	s.mu.Unlock()
	if serving != nil {
		status.describe(serving)
	} else if offer, err := m.version(known, ""); err == nil {
		status.Manifest = &offer.Candidate.Manifest
	}
	if status.Manifest != nil {
		status.Requests = trust.Requests(*status.Manifest)
	}
	if known.Held != nil {
		m.compare(&status, serving)
	}
	return status
}

// describe adds what is known of the revision that serves.
func (s *Status) describe(serving *serving) {
	s.Manifest, s.Terms = &serving.candidate.Manifest, serving.terms
	if serving.plugin == nil {
		return
	}
	s.Operations = serving.plugin.Counts.All()
	serving.trial.mu.Lock()
	s.Figures = serving.trial.figures
	serving.trial.mu.Unlock()
	if loaded, ok := serving.module.(interface {
		Report() wasm.Report
		Stats() wasm.Stats
	}); ok {
		report, stats := loaded.Report(), loaded.Stats()
		s.Report, s.Stats = &report, &stats
	}
}

// compare adds what the version that waits would change.
func (m *Manager) compare(status *Status, serving *serving) {
	held := status.Held
	waiting, err := m.kept(status.ID, held.Digest, held.Source, held.Origin)
	if err != nil {
		return
	}
	status.Asked = trust.Requests(waiting.Manifest)
	if serving == nil {
		status.Manifest, status.Requests = &waiting.Manifest, status.Asked
		return
	}
	change := trust.Difference(serving.candidate.Manifest, waiting.Manifest)
	status.Change = &change
}
