package extism

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/extism/go-sdk"
	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/plinthhost/plinth/host/wasm"
)

// Options are those of the engine that matter here. Contract and Refuse are
// required.
type Options struct {
	// Contract names the init entry and the operation; the rest is not looked at.
	Contract wasm.Contract
	// Logger gets what instances log when a call takes no log. Nil discards.
	Logger hclog.Logger
	// Refuse words an error that is answered to a guest's operation.
	Refuse func(err error) []byte
}

// Module is a compiled module. It is safe for concurrent use.
type Module struct {
	options  Options
	spec     wasm.Spec
	info     wasm.Info
	compiled *sdk.CompiledPlugin
	places   chan struct{} // one token per running call

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	ending sync.Once
	failed error // of closing
}

const (
	imports  = "extism:host/" // begins the import modules of Extism
	userCall = "extism:host/user"
	pages    = 16 // of memory per MiB
)

// Load compiles a module and starts one instance to prove it. Of the spec it obeys
// Name, Wasm, Entries, Config, Init, CheckInit and, of the limits, sizes, counts and
// times. It fails with a *wasm.AdmissionError.
func Load(ctx context.Context, options Options, spec wasm.Spec) (*Module, error) {
	if options.Contract.Call == "" || options.Contract.Init == "" || options.Refuse == nil {
		return nil, errors.New("extism: the contract's Call and Init, and Refuse, are required")
	}
	if options.Logger == nil {
		options.Logger = hclog.NewNullLogger()
	}
	spec.Limits = spec.Limits.WithDefaults()
	m := &Module{options: options, spec: spec, places: make(chan struct{}, spec.Limits.Instances)}
	if err := m.admit(); err != nil {
		return nil, err
	}
	// Info is the level of the whole process: below it the SDK writes messages of its
	// own to the standard logger.
	sdk.SetLogLevel(sdk.LogLevelInfo)
	if err := m.compile(ctx); err != nil {
		return nil, err
	}
	if err := m.prove(ctx); err != nil {
		return nil, errors.Join(m.refuse(wasm.StageStart, "an instance does not start", err), m.Close())
	}
	return m, nil
}

func (m *Module) admit() (err error) {
	if m.info, err = wasm.Inspect(m.spec.Wasm); err != nil {
		if refusal, ok := errors.AsType[*wasm.AdmissionError](err); ok {
			refusal.Module = m.spec.Name
		}
		return err
	}
	if !slices.ContainsFunc(m.info.Imports, func(i wasm.Import) bool { return strings.HasPrefix(i.Module, imports) }) {
		return m.refuse(wasm.StageImports, "it imports nothing of Extism: take the engine that is built in", nil)
	}
	for _, entry := range m.spec.Entries {
		if export, ok := m.info.Export(entry); !ok || export.Type != "()->(i32)" {
			return m.refuse(wasm.StageExports, "it must export "+entry+", a function of type ()->(i32)", nil)
		}
	}
	return nil
}

func (m *Module) refuse(stage, reason string, cause error) error {
	return &wasm.AdmissionError{Module: m.spec.Name, Stage: stage, Offset: -1, Reason: reason, Err: cause}
}

func (m *Module) compile(ctx context.Context) error {
	limits := &m.spec.Limits
	manifest := sdk.Manifest{
		Wasm:   []sdk.Wasm{sdk.WasmData{Data: m.spec.Wasm}},
		Config: m.spec.Config,
		Memory: &sdk.ManifestMemory{MaxPages: uint32(limits.MemoryMiB) * pages, MaxHttpResponseBytes: 0, MaxVarBytes: int64(limits.VariableBytes)},
	}
	config := sdk.PluginConfig{
		EnableWasi: true, EnableHttpResponseHeaders: true,
		RuntimeConfig: wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2).
			WithCloseOnContextDone(true).WithDebugInfoEnabled(false),
	}
	operation := sdk.NewHostFunctionWithStack(m.options.Contract.Call, operate,
		[]sdk.ValueType{sdk.ValueTypePTR, sdk.ValueTypePTR}, []sdk.ValueType{sdk.ValueTypePTR})
	operation.SetNamespace(userCall)
	var err error
	m.compiled, err = sdk.NewCompiledPlugin(ctx, manifest, config, []sdk.HostFunction{operation})
	if err != nil {
		return m.refuse(wasm.StageCompile, "the compiler refused it", err)
	}
	return nil
}

// prove starts an instance and throws it away.
func (m *Module) prove(ctx context.Context) error {
	c := m.newCall(wasm.Request{})
	return c.on(ctx, func(*sdk.Plugin) error { return nil })
}

// Call runs an entry on a new instance. Errors are those of wasm.Module.Call.
func (m *Module) Call(ctx context.Context, request wasm.Request) (wasm.Result, error) {
	result, err := m.call(ctx, request)
	if err != nil {
		return wasm.Result{}, fmt.Errorf("call %s of module %s: %w", request.Entry, m.spec.Name, err)
	}
	return result, nil
}

func (m *Module) call(ctx context.Context, request wasm.Request) (result wasm.Result, err error) {
	if !slices.Contains(m.spec.Entries, request.Entry) {
		return result, wasm.ErrEntry
	}
	if limit := m.spec.Limits.InputBytes; len(request.Input) > limit {
		return result, &wasm.LimitError{What: "bytes of input", Got: int64(len(request.Input)), Limit: int64(limit), Knob: "InputBytes"}
	}
	if err := m.enter(); err != nil {
		return result, err
	}
	defer m.calls.Done()
	asked := time.Now()
	if err := m.take(ctx); err != nil {
		return result, err
	}
	defer func() { <-m.places }()
	c := m.newCall(request)
	err = c.on(ctx, func(plugin *sdk.Plugin) error {
		began := time.Now()
		result.Waited = began.Sub(asked)
		result.Output, err = c.run(ctx, plugin, request)
		result.Duration = time.Since(began)
		return err
	})
	return result, err
}

// take waits for a place.
func (m *Module) take(ctx context.Context) error {
	timer := time.NewTimer(m.spec.Limits.Wait)
	defer timer.Stop()
	select {
	case m.places <- struct{}{}:
		return nil
	case <-timer.C:
		return wasm.ErrBusy
	case <-ctx.Done():
		return endOf(ctx)
	}
}

func (m *Module) enter() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return wasm.ErrClosed
	}
	m.calls.Add(1)
	return nil
}

// Close refuses new calls, waits for those that run and releases the code. It may
// be called more than once.
func (m *Module) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.ending.Do(func() {
		m.calls.Wait()
		m.failed = m.compiled.Close(context.Background())
	})
	return m.failed
}
