package plugin

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// maxRetiring is how many revisions of a plugin may still be used by turns beside the
// one that serves. Beyond it the oldest is ended.
const maxRetiring = 4

// retiring is a revision that no new turn gets.
type retiring struct {
	serving *serving
	now     chan struct{} // closed when it is not to wait for its turns
	once    sync.Once
}

func (r *retiring) hurry() { r.once.Do(func() { close(r.now) }) }

// retire ends a revision once no turn uses it any more, or after the patience; 0 is for
// ever. Then, where it is not nil, it runs last.
func (m *Manager) retire(s *slot, old *serving, retirement *registry.Retirement, patience time.Duration, last func()) {
	leaving := &retiring{serving: old, now: make(chan struct{})}
	s.mu.Lock()
	s.retiring = append(s.retiring, leaving)
	for _, oldest := range s.retiring[:max(0, len(s.retiring)-maxRetiring)] {
		oldest.hurry()
	}
	s.mu.Unlock()
	m.work.Go(func() {
		superseded := m.outlast(leaving, retirement, patience)
		if err := old.close(); err != nil {
			m.options.Logger.Warn("a revision did not close well", "plugin", s.id, "revision", old.revision, "error", err)
		}
		s.mu.Lock()
		s.retiring = slices.DeleteFunc(s.retiring, func(r *retiring) bool { return r == leaving })
		s.mu.Unlock()
		if m.life.Err() != nil {
			return // the next start says that it retired
		}
		m.note(s, session.PluginRetired{Plugin: s.id, Location: s.location, Revision: old.revision, Superseded: superseded})
		m.sweepDepot()
		if last != nil {
			last()
		}
	})
}

// leave has what was taken out of the registries retire. Where nothing was in them the
// log is told at once that nobody uses what it calls retiring.
func (m *Manager) leave(s *slot, old *serving, retirement *registry.Retirement) {
	if old == nil {
		m.forgetUnserved(s)
		return
	}
	m.retire(s, old, retirement, 0, nil)
}

// outlast waits until a revision may end, and reports whether turns still use it.
func (m *Manager) outlast(leaving *retiring, retirement *registry.Retirement, patience time.Duration) (superseded bool) {
	var late <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-retirement.Done():
		return false
	case <-leaving.now:
	case <-late:
	case <-m.life.Done():
	}
	return true
}

// note records what the manager itself noticed. It is not lost silently.
func (m *Manager) note(s *slot, payloads ...session.Payload) {
	ctx := context.WithoutCancel(m.life)
	if err := m.options.Ledger.Record(ctx, session.System(), payloads...); err != nil {
		m.options.Logger.Error("what became of a plugin was not recorded", "plugin", s.id, "error", err)
		return
	}
	if err := s.learn(ctx, m.options.Ledger); err != nil {
		m.options.Logger.Error("what became of a plugin cannot be read", "plugin", s.id, "error", err)
	}
}
