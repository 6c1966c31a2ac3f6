package wasm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/plinthhost/plinth/host/wasm/meter"
)

// program is a compiled module with the runtime that is its own: memory limit and
// interruption are a runtime's, and closing it returns all of the module's code.
type program struct {
	cache    wazero.CompilationCache // nil without a cache folder
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// compile makes the program of the prepared module, from the cache where it can.
func (m *Module) compile(ctx context.Context) (*program, error) {
	began := time.Now()
	p, err := m.compileOrFetch(ctx)
	m.note(func(r *Report) { r.Compile = time.Since(began) })
	return p, err
}

func (m *Module) compileOrFetch(ctx context.Context) (*program, error) {
	if m.folder == "" {
		return m.build(ctx, "")
	}
	code := filepath.Join(m.folder, codeFolder)
	cause := checkSeal(code)
	if cause == nil {
		p, err := m.build(keptOnly(), code)
		if err == nil {
			return p, nil
		}
		cause = err
	}
	p, err := m.compileAnew(ctx, code)
	if err == nil && !errors.Is(cause, fs.ErrNotExist) && !errors.Is(cause, errNotKept) {
		m.logger.Warn("the cached code was damaged, the module was compiled anew", "folder", code, "error", cause)
	}
	return p, err
}

// compileAnew compiles into a folder apart, so that the cache always holds whole
// code and another process at the same work is not disturbed.
func (m *Module) compileAnew(ctx context.Context, code string) (*program, error) {
	made, err := os.MkdirTemp(m.engine.options.CacheDir, compilingPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a folder for the machine code: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(made); err != nil {
			m.logger.Warn("a folder of the compilation cache cannot be removed", "folder", made, "error", err)
		}
	}()
	if m.outside() {
		if err := m.compileOutside(ctx, made); err != nil {
			return nil, err
		}
		ctx = keptOnly()
	}
	p, err := m.build(ctx, made)
	if err != nil {
		return nil, err
	}
	if err := publish(made, code); err != nil {
		m.logger.Warn("the machine code is not kept", "folder", code, "error", err)
	}
	return p, nil
}

// errNotKept is machine code that a folder does not hold for this program on this
// machine: none, or of another version of the compiler.
var errNotKept = errors.New("there is no machine code for this version of the compiler and this processor")

// keptOnly makes a context with which the compiler takes what its cache holds and
// compiles nothing: it looks at the context before each function, as it has workers.
func keptOnly() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errNotKept)
	return experimental.WithCompilationWorkers(ctx, 2)
}

// build compiles, or takes the machine code from the folder of a cache, "" for none.
// A panic of the compiler is the module's fault.
func (m *Module) build(ctx context.Context, folder string) (p *program, err error) {
	p = new(program)
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the compiler failed: %v", fault)
		}
		if err != nil {
			err = errors.Join(err, p.close())
			p = nil
		}
	}()
	config := runtimeConfig(m.spec.Limits.pages())
	if folder != "" {
		if p.cache, err = wazero.NewCompilationCacheWithDir(folder); err != nil {
			return p, fmt.Errorf("open the compilation cache: %w", err)
		}
		config = config.WithCompilationCache(p.cache)
	}
	background := context.Background()
	p.runtime = wazero.NewRuntimeWithConfig(background, config)
	if err := m.offer(background, p.runtime); err != nil {
		return p, err
	}
	p.compiled, err = p.runtime.CompileModule(ctx, m.prepared.Wasm)
	return p, err
}

// offer instantiates, in the runtime, the host functions the module imports.
func (m *Module) offer(ctx context.Context, runtime wazero.Runtime) error {
	builders := make(map[string]wazero.HostModuleBuilder)
	served := make(map[[2]string]bool)
	for _, entry := range m.prepared.Info.Imports {
		key := [2]string{entry.Module, entry.Name}
		if served[key] {
			continue // Go imports fd_write twice
		}
		served[key] = true
		if builders[entry.Module] == nil {
			builders[entry.Module] = runtime.NewHostModuleBuilder(entry.Module)
		}
		params, results := valueTypes(entry.Type)
		builders[entry.Module].NewFunctionBuilder().
			WithGoModuleFunction(guarded(entry.Name, m.serve(entry)), params, results).Export(entry.Name)
	}
	builders[meter.Module] = runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(yield), nil, nil).Export(meter.Yield)
	for name, builder := range builders {
		if _, err := builder.Instantiate(ctx); err != nil {
			return fmt.Errorf("offer %s: %w", name, err)
		}
	}
	return nil
}

// serve is the host function behind an admitted import.
func (m *Module) serve(entry Import) api.GoModuleFunc {
	switch {
	case entry.Module == wasiModule:
		function, _ := wasiFunctionNamed(entry.Name)
		return function.host()
	case entry.Module == extismEnv:
		function, _ := extismFunctionNamed(entry.Name)
		return function.host()
	case entry.Module == extismUser:
		return extismFunction{serve: extismCall}.host()
	case entry.Name == m.engine.options.Contract.Call:
		return hostCall
	default:
		return hostRead
	}
}

// close releases the program; its instances must be out of use.
func (p *program) close() error {
	ctx := context.Background()
	var err error
	if p.runtime != nil {
		err = p.runtime.Close(ctx)
	}
	if p.cache != nil {
		err = errors.Join(err, p.cache.Close(ctx))
	}
	return err
}

// valueTypes takes apart a type like "(i32,i64)->(i32)".
func valueTypes(kind string) (params, results []api.ValueType) {
	left, right, _ := strings.Cut(kind, "->")
	return valueList(left), valueList(right)
}

func valueList(list string) []api.ValueType {
	var types []api.ValueType
	for name := range strings.SplitSeq(strings.Trim(list, "()"), ",") {
		switch name {
		case "i32":
			types = append(types, api.ValueTypeI32)
		case "i64":
			types = append(types, api.ValueTypeI64)
		}
	}
	return types
}
