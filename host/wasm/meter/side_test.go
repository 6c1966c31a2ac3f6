package meter_test

import (
	"context"
	"fmt"
	"hash/maphash"
	"reflect"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/plinthhost/plinth/host/wasm/binary"
	"github.com/plinthhost/plinth/host/wasm/meter"
)

// looseLimits admit what the specification's tests do.
func looseLimits() binary.Limits {
	limits := binary.DefaultLimits()
	limits.MemoryPages, limits.TableEntries, limits.UnboundedTables = 65_536, 1<<32-1, true
	limits.Locals = 2_000
	return limits
}

// form is a way to treat a module before it is compiled.
type form func(wasm []byte) (treated []byte, start bool, err error)

func asWritten(wasm []byte) ([]byte, bool, error) { return wasm, false, nil }

func reencoded(wasm []byte) ([]byte, bool, error) {
	m, err := binary.Decode(wasm, looseLimits())
	if err != nil {
		return nil, false, err
	}
	return m.Encode(), false, nil
}

func metered(wasm []byte) ([]byte, bool, error) {
	m, err := binary.Decode(wasm, looseLimits())
	if err != nil {
		return nil, false, err
	}
	out, report, err := meter.Rewrite(m, meter.Options{})
	return out, report.Start, err
}

// side is one engine that runs modules in one form. The same things are done to
// several sides and what they answer is compared.
type side struct {
	name     string
	form     form
	quantum  int64 // of metered sides
	runtime  wazero.Runtime
	accounts map[api.Module]*account
	modules  []api.Module // in order of instantiation
}

// account is what a module has used.
type account struct {
	counter api.MutableGlobal
	granted int64 // by the last refill
	used    int64 // before it
	yields  int
}

type sideOptions struct {
	name        string
	interpreter bool
	form        form
	quantum     int64
	cache       wazero.CompilationCache
}

func newSide(t testing.TB, o sideOptions) *side {
	t.Helper()
	ctx := context.Background()
	config := wazero.NewRuntimeConfigCompiler()
	if o.interpreter {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	config = config.WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false)
	if o.cache != nil {
		config = config.WithCompilationCache(o.cache)
	}
	s := &side{
		name: o.name, form: o.form, quantum: o.quantum,
		runtime: wazero.NewRuntimeWithConfig(ctx, config), accounts: make(map[api.Module]*account),
	}
	if o.quantum == 0 {
		return s
	}
	_, err := s.runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(s.yield), nil, nil).Export(meter.Yield).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *side) close(t testing.TB) {
	t.Helper()
	if err := s.runtime.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// account finds or opens the account of a metered module.
func (s *side) account(m api.Module) *account {
	a, ok := s.accounts[m]
	if !ok {
		a = &account{counter: m.ExportedGlobal(meter.Counter).(api.MutableGlobal)}
		s.accounts[m] = a
	}
	return a
}

func (s *side) yield(_ context.Context, m api.Module, _ []uint64) {
	a := s.account(m)
	left := int64(a.counter.Get())
	a.used += a.granted - left
	a.granted = s.quantum
	a.yields++
	a.counter.Set(uint64(s.quantum))
}

// fuel is what all modules have used.
func (s *side) fuel() int64 {
	total := int64(0)
	for _, a := range s.accounts {
		total += a.used + a.granted - int64(a.counter.Get())
	}
	return total
}

// instantiate treats, compiles and instantiates a module and runs its start
// function.
func (s *side) instantiate(name string, wasm []byte) (api.Module, error) {
	treated, start, err := s.form(wasm)
	if err != nil {
		return nil, err
	}
	return s.instantiateTreated(name, treated, start)
}

func (s *side) instantiateTreated(name string, treated []byte, start bool) (api.Module, error) {
	ctx := context.Background()
	m, err := s.runtime.InstantiateWithConfig(ctx, treated, wazero.NewModuleConfig().WithName(name).WithStartFunctions())
	if err != nil {
		return nil, err
	}
	if s.quantum != 0 {
		s.account(m)
	}
	if start {
		if _, err := m.ExportedFunction(meter.Start).Call(ctx); err != nil {
			return nil, err
		}
	}
	s.modules = append(s.modules, m)
	return m, nil
}

// outcome is what became of a command, in a form that can be compared.
type outcome struct {
	results string
	failure string // the kind of trap
	fuel    int64
}

func (s *side) call(m api.Module, function string, args []uint64) (results []uint64, o outcome) {
	before := s.fuel()
	results, err := m.ExportedFunction(function).Call(context.Background(), args...)
	o.fuel, o.failure = s.fuel()-before, failureKind(err)
	comparably(results, m.ExportedFunction(function).Definition().ResultTypes())
	o.results = fmt.Sprintf("%x", results)
	return results, o
}

// comparably makes results comparable, in place: of a reference to a function
// remains whether it is null, of 32-bit values their 32 bits. The compiler leaves
// something in the others.
func comparably(words []uint64, types []api.ValueType) {
	at := 0
	for _, t := range types {
		if at >= len(words) {
			return
		}
		switch binary.ValueType(t) {
		case binary.Funcref:
			words[at] = min(words[at], 1)
		case binary.I32, binary.F32:
			words[at] = uint64(uint32(words[at]))
		case binary.V128:
			at++
		}
		at++
	}
}

// failureKind is the sort of an error from a call or an instantiation.
func failureKind(err error) string {
	if err == nil {
		return ""
	}
	for _, kind := range []string{
		"stack overflow", "invalid conversion to integer", "integer overflow", "integer divide by zero",
		"unreachable", "out of bounds memory access", "invalid table access", "indirect call type mismatch",
	} {
		if strings.Contains(err.Error(), kind) {
			return kind
		}
	}
	return "other"
}

// memories is a digest of what the memories of all modules hold.
func (s *side) memories(seed maphash.Seed) string {
	var text strings.Builder
	for _, m := range s.modules {
		memory := m.Memory()
		if reflect.ValueOf(memory).IsNil() { // a nil pointer in an interface
			continue
		}
		content, ok := memory.Read(0, memory.Size())
		fmt.Fprintf(&text, "%d %t %x\n", memory.Size(), ok, maphash.Bytes(seed, content))
	}
	return text.String()
}

// moduleConfig is of an instance without a name, whose start the caller runs.
func moduleConfig() wazero.ModuleConfig {
	return wazero.NewModuleConfig().WithName("").WithStartFunctions()
}
