package wasm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// faultyAmbient panics when it is asked.
type faultyAmbient struct{}

func (faultyAmbient) Realtime() time.Time      { panic("no time") }
func (faultyAmbient) Monotonic() time.Duration { panic("no time") }
func (faultyAmbient) Sleep(time.Duration) bool { panic("no time") }
func (faultyAmbient) Random([]byte)            { panic("no time") }

// A fault of ours ends one call, as a *HostError, and leaves the only processor and
// the only place to the next.
func TestHostFaultsEndOneCall(t *testing.T) {
	faulty := one()
	faulty.Refuse = func(error) []byte { panic("no words") }
	guest := new(Module)
	write := guest.Import(wasi, "fd_write", Types(I32, I32, I32, I32), Types(I32))
	clock := guest.Import(wasi, "clock_time_get", Types(I32, I64, I32), Types(I32))
	host, _ := guest.Operations()
	guest.Core().Data(2000, vectors(2100, 4))
	guest.Data(2100, "line")
	guest.Entry("print", Const(1), Const(2000), Const(1), Const(1004), Call(write), Drop, Const64(0))
	guest.Entry("clock", Const(0), Const64(0), Const(1004), Call(clock), Drop, Const64(0))
	guest.Entry("ask", Const(0), Const(0), Const(0), Const(0), Call(host), Drop, Const64(0))
	guest.Entry("run", Const64(0))
	engine := newEngine(t, faulty)
	spec := wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"print", "clock", "ask", "run"}, Limits: wasm.Limits{Instances: 1, Wait: time.Second}}
	module := loadIn(t, engine, spec)
	for want, request := range map[string]wasm.Request{
		"Log: no paper":           {Entry: "print", Log: func(string) { panic("no paper") }}, // when the call has ended
		"clock_time_get: no time": {Entry: "clock", Ambient: faultyAmbient{}},
		"host_call: no words":     {Entry: "ask"},
	} {
		_, err := call(t, module, request)
		fault, ok := errors.AsType[*wasm.HostError](err)
		if !ok || fault.Operation+": "+fault.Panic != want || fault.Stack == "" {
			t.Errorf("%s: got %#v", want, err)
		}
		mustCall(t, module, wasm.Request{Entry: "run"})
	}
}

func TestPanicOfCheckInit(t *testing.T) {
	engine := newEngine(t, one())
	guest := new(Module).Core()
	guest.Entry(Init, Const64(0))
	spec := wasm.Spec{
		Name: "guest", Wasm: guest.Bytes(), Init: []byte("x"), Limits: wasm.Limits{Wait: time.Second},
		CheckInit: func([]byte) error { panic("a bug") },
	}
	for range 2 { // the second waits for nothing the first kept
		_, err := engine.Load(context.Background(), spec)
		fault, ok := errors.AsType[*wasm.HostError](err)
		if !ok || fault.Operation != "CheckInit" || wasm.Kind(err) != wasm.KindAdmission {
			t.Errorf("got %v", err)
		}
	}
	spec.CheckInit = nil
	loadIn(t, engine, spec)
}
