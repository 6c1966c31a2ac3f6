package main

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/plinthhost/plinth/host/wasm/meter"
)

// What the engine hands out and does, see host/wasm/yield.go and processor.go.
const (
	quantum    = 20_000
	breath     = time.Millisecond
	slice      = 3 * time.Millisecond
	stackLimit = 1 << 20
)

// metering is the state of one metered guest on bare wazero. Its yield does what
// the engine's does, so that what it costs is counted.
type metering struct {
	context.Context
	counter        api.MutableGlobal
	stack          reflect.Value // of the function that runs
	fuel, left     int64
	deadline       time.Time
	turn, breathed time.Time
	waiting        atomic.Int32 // others that wait for the processor: none
}

type meteringKey struct{}

func (m *metering) Value(key any) any {
	if _, ok := key.(meteringKey); ok {
		return m
	}
	return nil
}

func offerYield(ctx context.Context, runtime wazero.Runtime) error {
	_, err := runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(yield), nil, nil).Export(meter.Yield).Instantiate(ctx)
	return err
}

func yield(ctx context.Context, _ []uint64) {
	m := ctx.Value(meteringKey{}).(*metering)
	m.fuel += m.left - int64(m.counter.Get())
	now := time.Now()
	if m.stack.Len() > stackLimit || m.Err() != nil || now.After(m.deadline) {
		panic("the guest has to end")
	}
	if now.Sub(m.breathed) >= breath {
		runtime.Gosched()
		now = time.Now()
		m.breathed = now
	}
	if now.Sub(m.turn) >= slice {
		if m.waiting.Load() > 0 {
			panic("nobody can wait")
		}
		m.turn = now
	}
	m.refill()
}

func (m *metering) refill() {
	m.left = quantum
	m.counter.Set(quantum)
}

// meter makes every call of a bare guest a metered one.
func (g *bare) meter() error {
	counter, ok := g.module.ExportedGlobal(meter.Counter).(api.MutableGlobal)
	if !ok {
		return errors.New("the metered module has no counter")
	}
	stack := reflect.ValueOf(g.alloc).Elem().FieldByName("stack")
	if !stack.IsValid() {
		return errors.New("wazero's functions have no stack by that name")
	}
	m := &metering{Context: g.ctx, counter: counter, stack: stack, waiting: atomic.Int32{}}
	g.ctx = m
	g.before = func() {
		now := time.Now()
		m.deadline, m.turn, m.breathed = now.Add(time.Minute), now, now
		m.refill()
	}
	return nil
}
