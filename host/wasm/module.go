package wasm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Module is an admitted module with its instances. It is safe for concurrent use.
type Module struct {
	engine    *Engine
	spec      Spec
	prepared  *prepared
	folder    string // of the cache, "" without one
	isolation Isolation
	extism    bool // built with an Extism PDK
	logger    hclog.Logger
	debug     func(line string) // logs what a guest prints
	pool      *pool

	compiling sync.Once
	compiled  chan struct{} // closed once program or refusal is set
	program   *program
	refusal   error
	compiler  sync.WaitGroup
	life      context.Context // the compilation's; ends when nobody can be waiting for it
	end       context.CancelCauseFunc

	founding chan struct{} // has a token while the first instance starts
	snapshot *snapshot     // nil until then

	mu      sync.Mutex
	report  Report
	closed  bool
	work    sync.WaitGroup // calls
	closing sync.Once
	failed  error // of closing
}

func newModule(e *Engine, spec Spec, p *prepared, folder string) *Module {
	m := &Module{
		engine: e, spec: spec, prepared: p, folder: folder,
		extism: isExtism(p.Info), logger: e.options.Logger.Named(spec.Name),
		compiled: make(chan struct{}), founding: make(chan struct{}, 1),
	}
	m.life, m.end = context.WithCancelCause(context.Background())
	m.debug = func(line string) { m.logger.Debug(line) }
	m.isolation = spec.Isolation
	m.report = Report{Info: p.Info, Asked: spec.Isolation, Limits: spec.Limits, Parse: p.Parse, Meter: p.Meter, MeteredBytes: len(p.Wasm)}
	if p.Fixed != "" && m.isolation == Restore {
		m.isolation, m.report.Why = Fresh, p.Fixed
	}
	m.report.Isolation = m.isolation
	m.pool = newPool(spec.Limits, m.isolation == Sticky)
	return m
}

// Report says how a module was admitted, for people and tools.
type Report struct {
	Info      Info
	Limits    Limits    // with the defaults filled in
	Asked     Isolation // in Spec
	Isolation Isolation // in force
	Why       string    // it is not what was asked for

	MeteredBytes int           // of the module that runs
	Prepared     bool          // parsed and metered by this load, not by an earlier one
	Parse        time.Duration // of whoever did it
	Meter        time.Duration
	Compile      time.Duration // of this load: next to nothing from the cache
	Start        time.Duration // of the first instance
	ImageBytes   int64         // of its memory after initialisation
}

// Report answers what is known by now: compiling and starting come with Load, or
// with the first call of a lazy module.
func (m *Module) Report() Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.report
}

func (m *Module) note(note func(r *Report)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	note(&m.report)
}

// Name is Spec.Name.
func (m *Module) Name() string { return m.spec.Name }

// Init is Spec.Init; it must not be changed.
func (m *Module) Init() []byte { return m.spec.Init }

// Info is what Inspect found in the module.
func (m *Module) Info() Info { return m.prepared.Info }

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
		return err
	}
	defer m.work.Done()
	leased, err := m.lease(ctx, "", LaneTool)
	if err != nil {
		return err
	}
	m.release(leased, "")
	return nil
}

// warm compiles the module.
func (m *Module) warm(ctx context.Context) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.work.Done()
	return m.ready(ctx)
}

// ready waits until the module is compiled; the first to wait starts it. It runs on,
// for others, when ctx ends.
func (m *Module) ready(ctx context.Context) error {
	select {
	case <-m.compiled: // as for all calls but the first ones
		return m.refusal
	default:
	}
	m.compiling.Do(func() {
		m.compiler.Go(func() {
			defer close(m.compiled)
			program, err := m.compile(m.life)
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

// Close refuses new calls, waits for those that run and releases everything. A
// compilation that no call waits for ends. It may be called more than once.
func (m *Module) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.closing.Do(func() {
		m.work.Wait()
		m.end(ErrClosed)
		m.compiler.Wait()
		m.failed = m.pool.close()
		if m.snapshot != nil {
			m.failed = errors.Join(m.failed, m.snapshot.close())
		}
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
