package probation

import (
	"slices"
	"time"
)

// Limits say how long a revision is watched and what ends it. Zero fields take the
// default.
type Limits struct {
	// Calls and Time are how long it lasts: a revision is watched until it has been
	// called so often and has been active so long. 50, and 10 minutes.
	Calls int           `json:"calls"`
	Time  time.Duration `json:"time"`
	// Faults in Sessions fail it: so many in all, from so many sessions. 5 of 2. One
	// session alone never fails a revision: Sessions is at least 2.
	Faults   int `json:"faults"`
	Sessions int `json:"sessions"`
}

// minSessions is how many sessions it takes at least.
const minSessions = 2

func (l Limits) defaults() Limits {
	if l.Calls <= 0 {
		l.Calls = 50
	}
	if l.Time <= 0 {
		l.Time = 10 * time.Minute
	}
	if l.Faults <= 0 {
		l.Faults = 5
	}
	l.Sessions = max(l.Sessions, minSessions)
	return l
}

// Fault is a call that the engine could not bring to an answer.
type Fault struct {
	Time time.Time `json:"time"`
	// Session is whose call it was; "" for those of no session, which count as one.
	Session string `json:"session,omitempty"`
	Kind    string `json:"kind"`
	Reason  string `json:"reason,omitempty"`
}

// Verdict is what is decided about a revision.
type Verdict string

// The verdicts. The last two are final.
const (
	Watching Verdict = "watching"
	Passed   Verdict = "passed"
	Failed   Verdict = "failed"
)

// Result is a verdict with what it stands on.
type Result struct {
	Verdict  Verdict `json:"verdict"`
	Calls    int     `json:"calls"`
	Faults   int     `json:"faults"`
	Sessions int     `json:"sessions"` // with a fault; counted as far as Limits.Sessions
	Last     Fault   `json:"last"`     // the zero Fault when there was none
}

// State is a probation as it is kept. Its size does not grow with the calls.
type State struct {
	Started  time.Time `json:"started"`
	Verdict  Verdict   `json:"verdict"`
	Calls    int       `json:"calls"`
	Faults   int       `json:"faults"`
	Sessions []string  `json:"sessions,omitempty"` // the first with a fault, at most Limits.Sessions
	Last     Fault     `json:"last"`
}

// Probation watches one revision. It is not safe for use by several goroutines.
type Probation struct {
	limits Limits
	state  State
}

// New begins the probation of a revision that became active at started.
func New(limits Limits, started time.Time) *Probation {
	return &Probation{limits: limits.defaults(), state: State{Started: started, Verdict: Watching}}
}

// Resume continues from a state that was kept.
func Resume(limits Limits, state State) *Probation {
	state.Sessions = slices.Clone(state.Sessions)
	return &Probation{limits: limits.defaults(), state: state}
}

// Restore begins a probation with the faults that the log tells of, in their order.
// The calls between them are not known and not counted.
func Restore(limits Limits, started time.Time, faults []Fault) *Probation {
	p := New(limits, started)
	for _, fault := range faults {
		p.Call(fault.Time, fault.Session, &fault)
	}
	return p
}

// Call counts a call that ended now, of a session or of none (""), with the fault it
// ended with or nil. The fault's time and session are those of the call. After a final
// verdict nothing is counted.
func (p *Probation) Call(now time.Time, session string, fault *Fault) Result {
	if p.Check(now).Verdict != Watching {
		return p.result()
	}
	s := &p.state
	s.Calls++
	if fault == nil {
		return p.Check(now)
	}
	s.Faults++
	s.Last = *fault
	s.Last.Time, s.Last.Session = now, session
	if len(s.Sessions) < p.limits.Sessions && !slices.Contains(s.Sessions, session) {
		s.Sessions = append(s.Sessions, session)
	}
	if s.Faults >= p.limits.Faults && len(s.Sessions) >= p.limits.Sessions {
		s.Verdict = Failed
	}
	return p.Check(now)
}

// Check answers the verdict at a time without a call: it passes a revision whose
// probation is over.
func (p *Probation) Check(now time.Time) Result {
	s := &p.state
	if s.Verdict == Watching && s.Calls >= p.limits.Calls && now.Sub(s.Started) >= p.limits.Time {
		s.Verdict = Passed
	}
	return p.result()
}

// State answers what Resume takes.
func (p *Probation) State() State {
	state := p.state
	state.Sessions = slices.Clone(state.Sessions)
	return state
}

func (p *Probation) result() Result {
	s := p.state
	return Result{Verdict: s.Verdict, Calls: s.Calls, Faults: s.Faults, Sessions: len(s.Sessions), Last: s.Last}
}
