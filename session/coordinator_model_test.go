package session_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/session"
)

// coordinationStep is something that happens to a session. Events are numbered from
// 1 on as they come; one that is late tells of an earlier event.
type coordinationStep struct {
	Do      string
	Session int
	Late    int // how many events ago, 0: a new one
}

// chainModel is what a coordinator should make of one session.
type chainModel struct {
	active, stopping, waiting bool
	newest, boundary, pending int64
	joined                    int // interrupts that wait
}

func (m *chainModel) wake(seq int64) {
	switch {
	case !m.active:
		*m = chainModel{active: true, newest: seq}
	case m.stopping && seq <= m.boundary:
	case m.waiting:
		m.pending = max(m.pending, seq)
	default:
		m.waiting, m.pending = true, seq
	}
}

func (m *chainModel) interrupt(seq int64) {
	if !m.active {
		return
	}
	m.waiting = m.waiting && m.pending > seq
	if m.stopping || m.newest <= seq {
		m.stopping, m.boundary = true, max(m.boundary, seq)
		m.joined++
	}
}

func (m *chainModel) end() { *m = chainModel{active: m.waiting, newest: m.pending} }

// chainHistory is what happened to one session, by step, and the model of it.
type chainHistory struct {
	chainModel
	held       *attempt
	waiters    []<-chan error
	starts     []int
	wakes      map[int]int64
	interrupts []int64
}

// kept holds that every wake was followed by a drain, unless an interrupt was newer.
func (h *chainHistory) kept() error {
	for step, seq := range h.wakes {
		lost := len(h.starts) == 0 || h.starts[len(h.starts)-1] < step
		for _, boundary := range h.interrupts {
			lost = lost && boundary < seq
		}
		if lost {
			return fmt.Errorf("no drain followed the wake %d of step %d; drains began in steps %v, interrupts were %v", seq, step, h.starts, h.interrupts)
		}
	}
	return nil
}

// player does steps to a coordinator and to the model.
type player struct {
	*coordination
	head     int64
	sessions [2]chainHistory
}

func (p *player) play(steps []coordinationStep) error {
	for i := range p.sessions {
		p.sessions[i].wakes = map[int]int64{}
	}
	for i, step := range steps {
		p.do(i, step)
		if err := p.compare(i); err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, step, err)
		}
	}
	for i := len(steps); len(p.Active()) > 0; i++ {
		for session := range p.sessions {
			p.do(i, coordinationStep{"end", session, 0})
		}
		if err := p.compare(i); err != nil {
			return fmt.Errorf("settling: %w", err)
		}
	}
	if n := p.Owned(); n > 0 {
		return fmt.Errorf("%d sessions are still owned", n)
	}
	return errors.Join(p.sessions[0].kept(), p.sessions[1].kept())
}

func (p *player) do(i int, step coordinationStep) {
	h, id := &p.sessions[step.Session], fmt.Sprint(step.Session)
	if step.Late == 0 && (step.Do == "wake" || step.Do == "interrupt") {
		p.head++
	}
	seq := max(1, p.head-int64(step.Late))
	switch step.Do {
	case "wake":
		p.Wake(id, seq)
		h.wake(seq)
		h.wakes[i] = seq
	case "interrupt":
		answer := call(func() error { return p.Interrupt(p.t.Context(), id, seq) })
		h.interrupt(seq)
		h.interrupts = append(h.interrupts, seq)
		h.waiters = append(h.waiters, answer)
	case "open":
		if h.active {
			h.held.Opened(seq)
			h.newest = max(h.newest, seq)
		}
	default:
		if h.active {
			h.end()
			h.held.end <- map[string]func() error{
				"end":   func() error { return nil },
				"fail":  func() error { return errors.New("no network") },
				"panic": func() error { panic("a bug") },
			}[step.Do]
			h.held = nil
		}
	}
}

// compare takes the drains that have begun and holds everything to the model.
func (p *player) compare(i int) error {
	for a := p.fresh(); a != nil; a = p.fresh() {
		h := &p.sessions[a.Session[0]-'0']
		if h.held != nil {
			return fmt.Errorf("session %s has two drains at once", a.Session)
		}
		h.held = a
		h.starts = append(h.starts, i)
	}
	for id := range p.sessions {
		h := &p.sessions[id]
		if running := p.Running(fmt.Sprint(id)); running != h.active || (h.held != nil) != h.active {
			return fmt.Errorf("session %d has a drain: %v, and says %v; want %v", id, h.held != nil, running, h.active)
		}
		if h.held != nil && errors.Is(h.held.cause(), session.ErrInterrupted) != h.stopping {
			return fmt.Errorf("session %d: the drain is told %v; it should stop: %v", id, h.held.cause(), h.stopping)
		}
		if err := h.answered(); err != nil {
			return fmt.Errorf("session %d: %w", id, err)
		}
	}
	return nil
}

// answered holds that interrupts wait while the drain that they stop cleans up.
func (h *chainHistory) answered() error {
	var left []<-chan error
	for _, answer := range h.waiters {
		select {
		case err := <-answer:
			if err != nil {
				return err
			}
		default:
			left = append(left, answer)
		}
	}
	h.waiters = left
	if len(left) != h.joined {
		return fmt.Errorf("%d interrupts wait, want %d", len(left), h.joined)
	}
	return nil
}

// clear ends whatever runs, so that a failure can be shown.
func (p *player) clear() {
	go p.Close(0)
	for _, h := range p.sessions {
		if h.held != nil {
			h.held.ends(nil)
		}
	}
	for a := p.fresh(); a != nil; a = p.fresh() {
		a.ends(nil)
	}
}

// TestCoordinatorModel plays what may happen, in any order, and compares with a
// model after each step.
func TestCoordinatorModel(t *testing.T) {
	step := rapid.Custom(func(t *rapid.T) coordinationStep {
		return coordinationStep{
			Do:      rapid.SampledFrom([]string{"wake", "wake", "wake", "interrupt", "interrupt", "open", "open", "end", "fail", "panic"}).Draw(t, "do"),
			Session: rapid.IntRange(0, 1).Draw(t, "session"),
			Late:    rapid.SampledFrom([]int{0, 0, 1, 2, 4}).Draw(t, "late"),
		}
	})
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(step, 20, 200).Draw(r, "steps")
		var err error
		synctest.Test(t, func(t *testing.T) {
			p := &player{coordination: newCoordination(t)}
			err = p.play(steps)
			p.clear()
		})
		if err != nil {
			r.Fatal(err)
		}
	})
}
