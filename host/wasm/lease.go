package wasm

import (
	"context"
	"errors"
	"time"
)

// maxGrowth is by how much a sticky instance's memory may grow past its size at the
// start before it is not used again.
const maxGrowth = 8 << 20

// lease answers an instance for one call of a session, started when none is idle.
func (m *Module) lease(ctx context.Context, session string, lane Lane) (*instance, error) {
	if err := endOf(ctx); err != nil {
		return nil, err
	}
	if err := m.ready(ctx); err != nil {
		return nil, err
	}
	if err := m.pool.enter(ctx, session, m.spec.Limits.Wait); err != nil {
		return nil, err
	}
	leased, evicted := m.pool.take(session)
	m.discard(evicted...)
	if leased != nil && m.worn(leased) {
		m.pool.replace(leased)
		m.discard(leased)
		leased = nil
	}
	if leased == nil {
		var err error
		if leased, err = m.start(ctx, session, lane); err != nil {
			m.discard(m.pool.leave(session, nil, false)...)
			return nil, err
		}
		m.pool.started(leased)
	}
	leased.session = session
	return leased, nil
}

// worn says whether a sticky instance has served long enough.
func (m *Module) worn(i *instance) bool {
	return m.isolation == Sticky && (i.calls >= m.spec.Limits.StickyCalls || time.Since(i.born) >= m.spec.Limits.StickyAge)
}

// release gives a leased instance back, ready for the next call, or discards it.
func (m *Module) release(leased *instance, session string) {
	keep := !leased.broken && m.reusable(leased)
	if !keep {
		m.discard(leased)
	}
	m.discard(m.pool.leave(session, leased, keep)...)
}

// reusable makes an instance fit for another call, or says that it cannot be.
func (m *Module) reusable(i *instance) bool {
	switch m.isolation {
	case Sticky:
		return int64(i.memory.Size()) <= m.snapshot.bytes+maxGrowth
	case Restore:
		err := m.restore(i)
		if err != nil {
			m.logger.Debug("an instance is not reused", "error", err)
		}
		return err == nil
	}
	return false
}

func (m *Module) discard(instances ...*instance) {
	for _, i := range instances {
		if err := i.close(); err != nil {
			m.logger.Warn("closing an instance failed", "error", err)
		}
	}
}

// start makes an instance: from the snapshot where there is one, else from the
// beginning.
func (m *Module) start(ctx context.Context, session string, lane Lane) (*instance, error) {
	select {
	case m.founding <- struct{}{}: // others wait for the first
	case <-ctx.Done():
		return nil, endOf(ctx)
	}
	if m.snapshot != nil {
		<-m.founding
		if m.snapshot.image != nil {
			return m.again(ctx)
		}
		return m.begin(ctx, session, lane)
	}
	defer func() { <-m.founding }()
	began := time.Now()
	i, err := m.begin(ctx, session, lane)
	if err != nil {
		return nil, err
	}
	if m.snapshot, err = m.take(i); err != nil {
		return nil, errors.Join(err, i.close())
	}
	m.note(func(r *Report) { r.Start, r.ImageBytes = time.Since(began), m.snapshot.bytes })
	m.pool.settle(m.snapshot.bytes)
	i.bytes = m.snapshot.bytes
	i.copied = m.snapshot.image != nil // it is as one from the snapshot would be
	return i, nil
}

// begin makes an instance from nothing: its start function, _initialize and the
// init entry run under Limits.Start.
func (m *Module) begin(ctx context.Context, session string, lane Lane) (*instance, error) {
	i, err := m.instantiate(ctx)
	if _, full := errors.AsType[*LimitError](err); full {
		return nil, err
	}
	if err != nil {
		return nil, m.noStart(err)
	}
	contract := &m.engine.options.Contract
	if m.spec.Start != nil {
		i.start = m.spec.Start(m.ambient(contract.Init, m.spec.Init))
	}
	c := m.newCall(ctx, Request{Entry: contract.Init, Input: m.spec.Init, Deadline: m.spec.Limits.Start, Session: session, Lane: lane, Ambient: i.start})
	err = m.prepared.fill(i)
	if err == nil {
		err = c.on(i, func() error { return i.initialize(c) })
	}
	if err == nil {
		i.bytes = int64(i.memory.Size())
		return i, nil
	}
	err = errors.Join(err, i.close())
	if errors.Is(err, ErrCancelled) || errors.Is(err, ErrBusy) {
		return nil, err
	}
	return nil, m.noStart(err)
}

func (m *Module) noStart(cause error) error {
	refusal := &AdmissionError{Module: m.spec.Name, Stage: StageStart, Offset: -1, Reason: "an instance does not start", Err: cause}
	if errors.Is(cause, ErrDeadline) {
		refusal.Reason = "an instance does not start within " + m.spec.Limits.Start.String()
		refusal.Fix = "let it do less before its first call, or " + raise("Start")
	}
	return refusal
}
