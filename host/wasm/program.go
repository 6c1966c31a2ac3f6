package wasm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/plinthhost/plinth/host/wasm/meter"
)

// program is a compiled module with the runtime that is its own: memory limit and
// interruption are a runtime's, and closing it returns all of the module's code.
type program struct {
	cache    wazero.CompilationCache // nil without a cache folder
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// compile makes the program of the prepared module, a second time without what the
// cache holds when that is damaged.
func (m *Module) compile(ctx context.Context) (*program, error) {
	began := time.Now()
	if m.outside() {
		if err := m.compileOutside(ctx); err != nil {
			return nil, err
		}
	}
	p, err := m.build()
	if err != nil && m.folder != "" {
		p, err = m.compileAnew(ctx, err)
	}
	m.note(func(r *Report) { r.Compile = time.Since(began) })
	return p, err
}

// compileAnew drops the cached machine code, which cause says is of no use.
func (m *Module) compileAnew(ctx context.Context, cause error) (*program, error) {
	if err := dropCode(m.folder); err != nil {
		return nil, errors.Join(cause, err)
	}
	if m.outside() {
		if err := m.compileOutside(ctx); err != nil {
			return nil, err
		}
	}
	p, err := m.build()
	if err == nil {
		m.logger.Warn("the cached code was damaged, the module was compiled anew", "folder", m.folder, "error", cause)
	}
	return p, err
}

// build compiles, or takes the machine code from the cache folder. A panic of the
// compiler is the module's fault.
func (m *Module) build() (p *program, err error) {
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
	if m.folder != "" {
		if p.cache, err = wazero.NewCompilationCacheWithDir(m.folder); err != nil {
			return p, fmt.Errorf("open the compilation cache: %w", err)
		}
		config = config.WithCompilationCache(p.cache)
	}
	ctx := context.Background()
	p.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := m.offer(ctx, p.runtime); err != nil {
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
