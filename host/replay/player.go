package replay

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
)

// player stands on the host's side of a replayed call: it answers each step from the
// recording and notices the first that is not the recorded one.
type player struct {
	steps  []Step // without the log
	next   int
	start  bool // it serves the start of an instance
	strict bool // clock, randomness and sleep are steps as well
	// outside: the recorded call was ended from outside, so after the last step comes
	// its end.
	outside bool
	world   wasm.Ambient // where they are not
	stop    context.CancelCauseFunc

	asked   *Operation // recorded, for the one under way
	found   *Divergence
	reached string // the operation, or what it was, in which the recorded call ended
	lines   []string
}

var errDiverged = errors.New("the replay has diverged")

// ending is what the player panics with where the recorded call ended.
type ending struct{}

func (p *player) end(during string) {
	p.reached = during
	panic(ending{})
}

// take answers the recorded step in the place of one that came, nil when they are not
// the same.
func (p *player) take(came Step, same func(recorded *Step) bool) *Step {
	if p.found != nil {
		return nil
	}
	p.next++
	if p.next > len(p.steps) {
		if p.outside && p.strict {
			p.end(came.describe())
		}
		p.diverge(nil, &came)
		return nil
	}
	recorded := &p.steps[p.next-1]
	if !same(recorded) {
		p.diverge(recorded, &came)
		return nil
	}
	return recorded
}

// diverge keeps the first divergence and has the engine end the call.
func (p *player) diverge(want, got *Step) {
	p.found = &Divergence{Step: p.next, Start: p.start, Want: want, Got: got}
	p.stop(errDiverged)
}

// divergence answers what was found, or else what was recorded and not asked for.
func (p *player) divergence() *Divergence {
	if p.found != nil || p.next >= len(p.steps) {
		return p.found
	}
	return &Divergence{Step: p.next + 1, Start: p.start, Want: &p.steps[p.next], Left: len(p.steps) - p.next}
}

// World is the recorded one.
func (p *player) World(wasm.Ambient) wasm.Ambient {
	if p.strict {
		return p
	}
	return p.world
}

// Asked holds an operation against the recorded one.
func (p *player) Asked(name string, request []byte) {
	came := Step{Operation: &Operation{Name: name, Request: append(Data{}, request...)}}
	recorded := p.take(came, func(r *Step) bool {
		return r.Operation != nil && r.Operation.Name == name && bytes.Equal(r.Operation.Request, request)
	})
	p.asked = nil
	if recorded != nil {
		p.asked = recorded.Operation
	}
}

// Call answers it.
func (p *player) Call(_ context.Context, operation string, _ []byte) []byte {
	switch {
	case p.asked == nil: // it has diverged: the engine tells the guest that its call has ended
		return nil
	case p.asked.Answer == nil:
		p.end(operation)
	case p.asked.Ended != nil:
		p.stop(p.asked.Ended.cause())
		return nil
	}
	return p.asked.Answer
}

// Answered holds what the engine itself answers against the recorded answer.
func (p *player) Answered(answer []byte, _ error) {
	if p.found != nil {
		return
	}
	recorded := p.asked
	p.asked = nil
	came := Step{Operation: &Operation{Answer: append(Data{}, answer...)}}
	if recorded == nil { // refused unread
		step := p.take(came, func(r *Step) bool { return r.Operation != nil && r.Operation.Name == "" })
		if step == nil {
			return
		}
		recorded = step.Operation
	}
	if !bytes.Equal(recorded.Answer, answer) {
		came.Operation.Name, came.Operation.Request = recorded.Name, recorded.Request
		p.diverge(&Step{Operation: recorded}, &came)
	}
}

// Logged gathers lines.
func (p *player) Logged(line string) { p.lines = append(p.lines, line) }

// Realtime is the recorded one.
func (p *player) Realtime() time.Time {
	step := p.take(Step{Realtime: new(time.Time)}, func(r *Step) bool { return r.Realtime != nil })
	if step == nil {
		return time.Unix(0, 0)
	}
	return *step.Realtime
}

// Monotonic is the recorded one.
func (p *player) Monotonic() time.Duration {
	step := p.take(Step{Monotonic: new(time.Duration)}, func(r *Step) bool { return r.Monotonic != nil })
	if step == nil {
		return 0
	}
	return *step.Monotonic
}

// Sleep takes no time.
func (p *player) Sleep(d time.Duration) bool {
	came := Step{Sleep: &Sleep{Duration: d}}
	step := p.take(came, func(r *Step) bool { return r.Sleep != nil && r.Sleep.Duration == d })
	if step != nil && step.Sleep.Stopped {
		p.end(came.describe())
	}
	return false
}

// Random answers the recorded bytes.
func (p *player) Random(to []byte) {
	step := p.take(Step{Random: make([]byte, len(to))}, func(r *Step) bool { return len(r.Random) == len(to) })
	if step != nil {
		copy(to, step.Random)
	}
}
