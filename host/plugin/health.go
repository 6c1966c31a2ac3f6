package plugin

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/probation"
	"github.com/plinthhost/plinth/session"
)

// trial watches the calls of a revision: on probation each fault counts, and at any time
// one that cannot start is told apart.
type trial struct {
	mu        sync.Mutex
	probation *probation.Probation // nil when it is over
	fallen    bool                 // something is being done about it
	unproved  bool                 // earlier starts failed, and none has succeeded since
	recorded  int                  // faults in the log, or soon
	untold    []session.Payload    // of these, the ones that are not there yet
	figures   Figures
}

// maxRecordedFaults is how many faults of one revision's probation are recorded: more say
// nothing new, and one session alone could make them without end.
const maxRecordedFaults = 20

// Figures are what the calls of a revision came to in this process.
type Figures struct {
	Calls  int64
	Faults int64
	Last   string // the last fault
}

// try has the revision watched from now on.
func (m *Manager) try(s *slot, next *serving) {
	if next.plugin == nil {
		return
	}
	known, _ := s.look()
	next.trial = &trial{unproved: known.Attempts > 0}
	if revision := known.At(next.revision); revision != nil && !revision.Proved && !next.candidate.Builtin {
		started := time.UnixMilli(revision.Activated)
		var faults []probation.Fault
		for _, fault := range revision.Faults {
			faults = append(faults, probation.Fault{Time: time.UnixMilli(fault.At), Session: fault.Session, Kind: fault.Fault, Reason: fault.Message})
		}
		next.trial.probation, next.trial.recorded = probation.Restore(m.options.Probation, started, faults), len(faults)
	}
	next.plugin.Called = func(session string, fault *bridge.Fault) { m.called(s, next, session, fault) }
}

// called counts a call that has ended. It must not wait: the call's session does.
func (m *Manager) called(s *slot, serving *serving, sessionID string, fault *bridge.Fault) {
	t := serving.trial
	t.mu.Lock()
	defer t.mu.Unlock()
	t.figures.Calls++
	if fault != nil {
		t.figures.Faults++
		t.figures.Last = fault.Err.Error()
	}
	if t.fallen {
		return
	}
	if fault != nil && fault.Kind == bridge.FaultStart {
		t.fallen = true
		m.soon(s, serving, func() { m.unstartedNow(s, serving, fault.Err) })
		return
	}
	if t.unproved {
		t.unproved = false
		m.soon(s, serving, func() { m.startsAgain(s, serving.revision) })
	}
	if t.probation == nil {
		return
	}
	var counted *probation.Fault
	if fault != nil {
		counted = &probation.Fault{Kind: string(fault.Kind), Reason: fault.Err.Error()}
		if t.recorded < maxRecordedFaults {
			t.recorded++
			t.untold = append(t.untold, session.PluginFaulted{Plugin: s.id, Location: s.location, Revision: serving.revision, Session: sessionID,
				Fault: string(fault.Kind), Message: clip(fault.Err.Error())})
			m.inTurn(s, func() { m.tellFaults(s, serving) })
		}
	}
	switch result := t.probation.Call(time.Now(), sessionID, counted); result.Verdict {
	case probation.Passed:
		t.probation = nil
		m.soon(s, serving, func() {
			m.note(s, session.PluginProved{Plugin: s.id, Location: s.location, Revision: serving.revision})
		})
	case probation.Failed:
		t.fallen = true
		reason := fmt.Sprintf("%d of its first %d calls broke it, in %d sessions; the last: %s", result.Faults, result.Calls, result.Sessions, clip(result.Last.Reason))
		m.soon(s, serving, func() { m.fell(s, serving, reason) })
	case probation.Watching:
	}
}

// soon runs something with the slot's turn, if the revision still serves then.
func (m *Manager) soon(s *slot, serving *serving, run func()) {
	m.inTurn(s, func() {
		if _, now := s.look(); now == serving {
			run()
		}
	})
}

// inTurn runs something with the slot's turn, while its caller goes on.
func (m *Manager) inTurn(s *slot, run func()) {
	m.aside(func() {
		if s.take(m.life) != nil {
			return
		}
		defer s.yield()
		run()
	})
}

// tellFaults records the faults that are not in the log yet, in their order, also when the
// revision has fallen by them meanwhile.
func (m *Manager) tellFaults(s *slot, serving *serving) {
	serving.trial.mu.Lock()
	untold := serving.trial.untold
	serving.trial.untold = nil
	serving.trial.mu.Unlock()
	if known, _ := s.look(); len(untold) > 0 && known.At(serving.revision) != nil {
		m.note(s, untold...)
	}
}

// fell takes a revision back that broke on probation: the one before serves again, or
// none until somebody enables the plugin.
func (m *Manager) fell(s *slot, serving *serving, reason string) {
	m.tellFaults(s, serving)
	m.options.Logger.Error("a revision broke on probation", "plugin", s.id, "revision", serving.revision, "reason", reason)
	known, _ := s.look()
	if earlier(known, "") != nil {
		err := m.rollback(m.life, s, session.System(), "", reason)
		if err == nil || m.life.Err() != nil {
			return
		}
		reason = errors.Join(errors.New(reason), err).Error()
	}
	m.note(s, session.PluginQuarantined{Plugin: s.id, Location: s.location, Revision: serving.revision, Reason: reason})
	old, retirement, err := m.restand(s, serving.candidate)
	if err != nil {
		m.options.Logger.Warn("nothing stands in for the context sources of a plugin", "plugin", s.id, "error", err)
	}
	m.leave(s, old, retirement)
}

// startsAgain notes that a revision whose starts failed has started.
func (m *Manager) startsAgain(s *slot, revision string) {
	m.note(s, session.PluginStarted{Plugin: s.id, Location: s.location, Revision: revision})
}

// unstartedNow is unstarted for a revision that serves.
func (m *Manager) unstartedNow(s *slot, serving *serving, cause error) {
	known, _ := s.look()
	if revision := known.At(serving.revision); revision != nil {
		m.unstarted(s, *revision, cause)
	}
}
