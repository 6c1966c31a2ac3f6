package epoch

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/plinthhost/plinth/session"
)

// Metrics counts what it takes to keep models told, since the program began. The
// zero value is ready; it is safe for concurrent use, and a nil one counts nothing.
type Metrics struct {
	mu      sync.Mutex
	sources map[string]*SourceCounts
	counts  Counts
}

// Counts is what was counted.
type Counts struct {
	Sources []SourceCounts // by name
	// Baselines were rendered, of BaselineBytes together; the largest had BaselineMax.
	Baselines, BaselineBytes, BaselineMax int64
	// Updates were told, of UpdateBytes together.
	Updates, UpdateBytes int64
	// Blocked boundaries should have replaced an epoch and could not.
	Blocked int64
	// Contended boundaries were reached again, because the session changed meanwhile.
	Contended int64
}

// SourceCounts is of one source.
type SourceCounts struct {
	Name         string
	Observations int64
	Total, Max   time.Duration // that they took
	Unavailable  int64         // observations without one of its keys
	Held         int64         // keys that were not told because they flap
}

func (m *Metrics) observed(name string, took time.Duration, unavailable bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	source := m.source(name)
	source.Observations++
	source.Total += took
	source.Max = max(source.Max, took)
	if unavailable {
		source.Unavailable++
	}
}

// source answers the counts of a source. m.mu is held.
func (m *Metrics) source(name string) *SourceCounts {
	if m.sources == nil {
		m.sources = map[string]*SourceCounts{}
	}
	if m.sources[name] == nil {
		m.sources[name] = &SourceCounts{Name: name}
	}
	return m.sources[name]
}

// Recorded counts a context event that is in the log.
func (m *Metrics) Recorded(payload session.Payload) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e := payload.(type) {
	case session.ContextInitialized:
		m.baseline(e.Baseline)
	case session.ContextReplaced:
		m.baseline(e.Baseline)
	case session.ContextUpdated:
		m.counts.Updates++
		m.counts.UpdateBytes += int64(len(e.Text))
	}
}

func (m *Metrics) baseline(text string) {
	m.counts.Baselines++
	m.counts.BaselineBytes += int64(len(text))
	m.counts.BaselineMax = max(m.counts.BaselineMax, int64(len(text)))
}

// Settled counts what a sample could not tell.
func (m *Metrics) Settled(outcome Outcome, observed []Observed) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(outcome.Blocked) > 0 {
		m.counts.Blocked++
	}
	for _, o := range observed {
		if slices.Contains(outcome.Held, o.Key) {
			m.source(o.Source).Held++
		}
	}
}

// Contended counts a boundary that is reached again.
func (m *Metrics) Contended() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Contended++
}

// Counts answers what was counted so far.
func (m *Metrics) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := m.counts
	for _, name := range slices.Sorted(maps.Keys(m.sources)) {
		counts.Sources = append(counts.Sources, *m.sources[name])
	}
	return counts
}
