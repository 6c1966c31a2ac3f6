// Package wasm runs plugin modules: it reads a module before anything of it runs,
// compiles it, keeps a bounded pool of its instances and calls their entries with
// bytes in and bytes out.
//
// The package knows the shape of the ABI, a marker, an allocator, entries of
// (i32,i32)->i64 and two imports, and is told the names (Contract). It knows the
// functions of Extism as well, so that what an Extism PDK builds runs like the rest. What the bytes
// mean, which operations exist and who may use them is the caller's business. It
// is the only package that imports wazero. DESIGN.md says why it is as it is.
package wasm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/wasm/memory"
)

// Contract names what the engine looks for in a module. All fields are required.
type Contract struct {
	Marker string // exported function of any type that says which ABI; never called
	Alloc  string // exported (i32)->(i32): room for that many bytes, or 0; not by Extism modules
	Free   string // exported (i32,i32)->(), optional in the module: gives an answer's room back
	Init   string // exported entry, optional in the module: called once, before the snapshot
	Reseed string // exported ()->(), optional in the module: called once in an instance that is as the snapshot, before the call
	Module string // import module of the two below
	Call   string // (i32,i32,i32,i32)->(i32): asks for an operation; of extism:host/user (i64,i64)->(i64)
	Read   string // (i32)->(): copies its answer
}

func (c Contract) missing() bool {
	return slices.Contains([]string{c.Marker, c.Alloc, c.Free, c.Init, c.Reseed, c.Module, c.Call, c.Read}, "")
}

// Options configure an Engine.
type Options struct {
	Contract Contract
	// CacheDir is a folder for compiled code, made with mode 0700 when missing and
	// refused when others may enter it: what lies in it is run. Empty keeps
	// nothing on disk.
	CacheDir string
	// Logger gets what instances print while they start, and warnings. Nil discards.
	Logger hclog.Logger
	// Refuse words an error the engine itself answers to a guest's operation: a
	// *LimitError, ErrUnavailable, ErrDeadline or ErrCancelled. Required.
	Refuse func(err error) []byte
	// Compiler makes the child process that compiles a module which is not built in:
	// a command of this program that calls Compile with its standard input and output.
	// It needs CacheDir. Nil compiles everything in this process.
	Compiler func(ctx context.Context) *exec.Cmd
	// CompileLimits bound each such child.
	CompileLimits CompileLimits
	// MemoryMiB bounds the memory of all guests together; 1024 by default.
	MemoryMiB int
	// Tools and Quick are how many guests may run at a time in each lane. By default
	// a processor less than Go has, and half of them; at least one.
	Tools, Quick int
}

// Engine holds modules. It is safe for concurrent use.
type Engine struct {
	options    Options
	system     Ambient // of calls that bring none of their own
	processors *processors
	budget     *memory.Budget // of all guests
	memories   *memory.Pool
	compilers  chan struct{} // one token per child that compiles

	mu      sync.Mutex
	closed  bool
	modules map[*Module]struct{}
	loading sync.WaitGroup
}

// New makes an engine and, with a CacheDir, its folder.
func New(options Options) (*Engine, error) {
	if options.Contract.missing() {
		return nil, errors.New("wasm engine: every name of the contract is required")
	}
	if options.Refuse == nil {
		return nil, errors.New("wasm engine: Refuse is required")
	}
	if options.Logger == nil {
		options.Logger = hclog.NewNullLogger()
	}
	if options.CacheDir != "" {
		if err := privateFolder(options.CacheDir); err != nil {
			return nil, fmt.Errorf("wasm engine: %w", err)
		}
		if err := prune(options.CacheDir, time.Now().Add(-cacheAge), cacheBytes); err != nil {
			options.Logger.Warn("the compilation cache grows", "error", err)
		}
	}
	if options.Compiler != nil && options.CacheDir == "" {
		return nil, errors.New("wasm engine: a Compiler needs a CacheDir to hand over what it made")
	}
	options.CompileLimits = options.CompileLimits.withDefaults()
	set(&options.MemoryMiB, 1024)
	budget := memory.NewBudget(int64(options.MemoryMiB) << 20)
	return &Engine{
		options: options, system: system{started: time.Now()}, modules: make(map[*Module]struct{}),
		processors: newProcessors(options.Tools, options.Quick),
		budget:     budget,
		memories:   memory.NewPool(budget),
		compilers:  make(chan struct{}, 1),
	}, nil
}

// Load admits a module: parses and meters it, checks its exports and imports and,
// unless Spec.Lazy says otherwise, compiles it and starts one instance. It fails with an
// *AdmissionError, ErrClosed, when ctx ends during the start ErrCancelled or
// ErrDeadline, a *LimitError when the memory of all guests is used up, or ErrBusy when
// no processor is free to start it.
func (e *Engine) Load(ctx context.Context, spec Spec) (*Module, error) {
	spec = spec.withDefaults()
	p, folder, fresh, err := e.prepare(spec.Wasm)
	if err == nil {
		err = admit(p.Info, e.options.Contract, spec)
	}
	if err == nil && fresh {
		err = p.keep(folder)
	}
	if err != nil {
		return nil, named(err, spec.Name)
	}
	m := newModule(e, spec, p, folder)
	m.report.Prepared = fresh
	if err := e.register(m); err != nil {
		return nil, named(err, spec.Name)
	}
	defer e.loading.Done()
	switch {
	case spec.Lazy && (folder == "" || coded(folder)):
		return m, nil
	case spec.Lazy:
		err = m.warm(ctx)
	default:
		err = m.prove(ctx)
	}
	if err != nil {
		return nil, errors.Join(named(err, spec.Name), m.Close())
	}
	return m, nil
}

// named puts the module's name into an error of its load.
func named(err error, name string) error {
	if refusal, ok := errors.AsType[*AdmissionError](err); ok {
		refusal.Module = name
		return err
	}
	return fmt.Errorf("load module %s: %w", name, err)
}

func (e *Engine) register(m *Module) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	e.loading.Add(1)
	e.modules[m] = struct{}{}
	return nil
}

func (e *Engine) forget(m *Module) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.modules, m)
}

// Close refuses new calls, waits for those that run and for loads under way, and
// releases everything. It may be called more than once.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	modules := slices.Collect(maps.Keys(e.modules))
	e.mu.Unlock()
	var err error
	for _, m := range modules {
		err = errors.Join(err, m.Close())
	}
	e.loading.Wait()
	return errors.Join(err, e.memories.Close())
}
