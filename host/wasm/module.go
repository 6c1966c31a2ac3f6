package wasm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// Module is an admitted module with its instances. It is safe for concurrent use.
type Module struct {
	engine *Engine
	spec   Spec
	info   Info
	logger hclog.Logger
	pool   *pool

	compiling sync.Once
	compiled  chan struct{} // closed once program or refusal is set
	program   *program
	refusal   error

	mu      sync.Mutex
	closed  bool
	work    sync.WaitGroup // calls and the compilation
	closing sync.Once
	failed  error // of closing
}

func newModule(e *Engine, spec Spec, info Info) *Module {
	return &Module{
		engine: e, spec: spec, info: info,
		logger:   e.options.Logger.Named(spec.Name),
		pool:     newPool(spec.Limits.Instances),
		compiled: make(chan struct{}),
	}
}

// Name is Spec.Name.
func (m *Module) Name() string { return m.spec.Name }

// Info is what Inspect found in the module.
func (m *Module) Info() Info { return m.info }

// Stats counts a module's instances.
type Stats struct {
	Started   int // since Load
	Discarded int // after a fault, for their size, or to make room for another session
	Idle      int
	Leased    int
}

// Stats answers the counts at this moment.
func (m *Module) Stats() Stats { return m.pool.snapshot() }

// enter counts a user in, so that Close waits for it. It must be followed by
// work.Done.
func (m *Module) enter() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.work.Add(1)
	return nil
}

// prove compiles the module and starts one instance, which stays in the pool.
func (m *Module) prove(ctx context.Context) error {
	if err := m.enter(); err != nil {
		return fmt.Errorf("load module %s: %w", m.spec.Name, err)
	}
	defer m.work.Done()
	leased, err := m.lease(ctx, "", m.spec.Limits.Deadline)
	if err != nil {
		return err
	}
	m.release(leased)
	return nil
}

// ready waits until the module is compiled; the first to wait starts it. The
// compiler cannot be interrupted, so it runs on, for others, when ctx ends.
func (m *Module) ready(ctx context.Context) error {
	m.compiling.Do(func() {
		m.work.Go(func() {
			defer close(m.compiled)
			program, err := m.compile()
			if err != nil {
				m.refusal = &AdmissionError{
					Module: m.spec.Name, Stage: StageCompile, Offset: -1, Reason: "the compiler refused it", Err: err,
				}
			}
			m.program = program
		})
	})
	select {
	case <-m.compiled:
		return m.refusal
	case <-ctx.Done():
		return endOf(ctx)
	}
}

// Close refuses new calls, waits for those that run and releases everything. It
// may be called more than once.
func (m *Module) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.closing.Do(func() {
		m.work.Wait()
		m.failed = m.pool.close()
		if m.program != nil {
			m.failed = errors.Join(m.failed, m.program.close())
		}
		m.engine.forget(m)
	})
	if m.failed != nil {
		return fmt.Errorf("close module %s: %w", m.spec.Name, m.failed)
	}
	return nil
}
