package wasm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// program is a compiled module with the runtime that is its own: memory limit and
// interruption are a runtime's, and closing it returns all of the module's code.
type program struct {
	cache    wazero.CompilationCache // nil without a cache folder
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// compile makes the program, a second time without what the cache holds when that
// is damaged.
func (m *Module) compile() (*program, error) {
	folder := m.engine.cacheFolder(m.info)
	p, err := m.build(folder)
	if err == nil || folder == "" {
		return p, err
	}
	if removed := os.RemoveAll(folder); removed != nil {
		return nil, errors.Join(err, fmt.Errorf("drop the cached code: %w", removed))
	}
	p, again := m.build(folder)
	if again != nil {
		return nil, again
	}
	m.logger.Warn("the cached code was damaged, the module was compiled anew", "folder", folder, "error", err)
	return p, nil
}

// build compiles through the cache folder, if there is one. A panic of the
// compiler is the module's fault.
func (m *Module) build(folder string) (p *program, err error) {
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
	config := wazero.NewRuntimeConfigCompiler().
		WithCoreFeatures(features()).
		WithMemoryLimitPages(m.spec.Limits.pages()).
		WithCloseOnContextDone(!m.spec.Trusted).
		WithDebugInfoEnabled(false)
	if folder != "" {
		if p.cache, err = wazero.NewCompilationCacheWithDir(folder); err != nil {
			return p, fmt.Errorf("open the compilation cache: %w", err)
		}
		config = config.WithCompilationCache(p.cache)
	}
	ctx := context.Background()
	p.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := m.offer(ctx, p.runtime); err != nil {
		return p, err
	}
	p.compiled, err = p.runtime.CompileModule(ctx, m.spec.Wasm)
	return p, err
}

// features are WebAssembly 2.0 without reference types, whose table.grow is
// bounded by nothing but the table's own declaration.
func features() api.CoreFeatures {
	return api.CoreFeaturesV2.SetEnabled(api.CoreFeatureReferenceTypes, false)
}

// offer instantiates, in the runtime, the host functions the module imports.
func (m *Module) offer(ctx context.Context, runtime wazero.Runtime) error {
	builders := make(map[string]wazero.HostModuleBuilder)
	served := make(map[[2]string]bool)
	for _, entry := range m.info.Imports {
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
