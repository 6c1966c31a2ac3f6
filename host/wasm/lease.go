package wasm

import (
	"context"
	"errors"
	"time"
)

// maxGrowth is by how much an instance's memory may grow past its size at the
// start before it is not used again: memory never shrinks.
const maxGrowth = 8 << 20

// lease answers an instance for one call of a session, started when none is idle.
// An untrusted instance serves one session only: until calls are isolated from
// each other, what it remembers stays with that session.
func (m *Module) lease(ctx context.Context, session string, wait time.Duration) (*instance, error) {
	if err := endOf(ctx); err != nil {
		return nil, err
	}
	if err := m.ready(ctx); err != nil {
		return nil, err
	}
	if err := m.pool.enter(ctx, wait); err != nil {
		return nil, err
	}
	if m.spec.Trusted {
		session = ""
	}
	leased, evicted := m.pool.take(session)
	if leased != nil {
		leased.session = session
		return leased, nil
	}
	if evicted != nil {
		m.discard(evicted)
	}
	leased, err := m.start(ctx)
	if err != nil {
		m.pool.leave(nil)
		return nil, err
	}
	leased.session = session
	return leased, nil
}

// release gives a leased instance back, or discards it when its last call failed
// or its memory grew too much.
func (m *Module) release(leased *instance) {
	if leased.broken || leased.memory.Size() > leased.size+maxGrowth {
		m.discard(leased)
		leased = nil
	}
	m.pool.leave(leased)
}

func (m *Module) discard(i *instance) {
	if err := i.close(); err != nil {
		m.logger.Warn("closing an instance failed", "error", err)
	}
}

// start makes an instance: start function, _initialize and the init entry run
// under Limits.Start.
func (m *Module) start(ctx context.Context) (*instance, error) {
	c, cancel := m.newCall(ctx, m.spec.Limits.Start, Request{})
	defer cancel()
	started, err := m.instantiate(c)
	c.log.flush()
	switch {
	case err == nil:
		return started, nil
	case errors.Is(err, ErrCancelled):
		return nil, err
	}
	refusal := &AdmissionError{Module: m.spec.Name, Stage: StageStart, Offset: -1, Reason: "an instance does not start", Err: err}
	if errors.Is(err, ErrDeadline) {
		refusal.Reason = "an instance does not start within " + m.spec.Limits.Start.String()
	}
	return nil, refusal
}
