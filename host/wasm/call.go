package wasm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Request is one call of an entry.
type Request struct {
	Entry string // one of Spec.Entries
	Input []byte // at most Limits.InputBytes
	// Deadline bounds the run, anew for every call. In LaneTool it counts the time
	// since the guest began, without what it spent in Wait; in LaneQuick the time on
	// a processor. Zero takes Limits.Deadline. What comes before, waiting for an
	// instance and a processor, has Limits.Wait.
	Deadline time.Duration
	// Fuel bounds the run, in units of meter.Version. Zero takes Limits.Fuel.
	Fuel int64
	Lane Lane
	// Session is who the call is for: waiting calls of different sessions take
	// turns, and a sticky instance serves one session.
	Session string
	// Operations answers what the guest asks of the host; nil offers nothing.
	Operations Operations
	// Log gets what the guest prints, line by line and cleaned, on the call's
	// goroutine. Nil writes to the engine's logger at debug level.
	Log func(line string)
	// LogAt gets what the guest logs at a level by Extism's functions: trace, debug,
	// info, warn or error. Nil hands it to Log.
	LogAt func(level, line string)
	// World is what the guest may reach by Extism's functions.
	World World
	// Ambient is the guest's clock and randomness. Nil takes the system's, or for a
	// pure module what is fixed by its input.
	Ambient Ambient
	// Observer sees the call as the guest does; nil for none.
	Observer Observer
}

// Operations carries out what a guest asks for during one call.
type Operations interface {
	// Call answers the operation. It runs on the call's goroutine and must return
	// soon after ctx, which carries the call's deadline, ends; what waits for the
	// world outside goes through Wait. Call keeps neither request nor answer.
	Call(ctx context.Context, operation string, request []byte) (answer []byte)
}

// Result is a call that was answered, or what one used that was not: then it has no
// output, and nothing else either where no instance was found.
type Result struct {
	Output   []byte
	Fuel     int64         // used by the guest, in units of meter.Version
	Duration time.Duration // that counted towards the deadline
	Waited   time.Duration // for an instance, its start where it was new, and a processor
	Memory   uint32        // the instance's, in bytes, after the call
	Start    Ambient       // what Spec.Start answered for the start of the instance, or of what it is a copy of
	Served   int           // calls that a sticky instance answered before
}

// Call runs an entry. It fails with a *TrapError, *AnswerError, *ExitError, *LimitError,
// *HostError, *AdmissionError (of an instance that cannot be started, or of a
// lazily compiled module), ErrDeadline, ErrCancelled, ErrBusy, ErrClosed or
// ErrEntry, wrapped with module and entry. An answer counts even when the
// deadline passed while it was given.
func (m *Module) Call(ctx context.Context, request Request) (Result, error) {
	result, err := m.call(ctx, request)
	if err != nil {
		return result, fmt.Errorf("call %s of module %s: %w", request.Entry, m.spec.Name, err)
	}
	return result, nil
}

func (m *Module) call(ctx context.Context, request Request) (Result, error) {
	if !slices.Contains(m.spec.Entries, request.Entry) {
		return Result{}, ErrEntry
	}
	if limit := m.spec.Limits.InputBytes; len(request.Input) > limit {
		return Result{}, &LimitError{What: "bytes of input", Got: int64(len(request.Input)), Limit: int64(limit), Knob: "InputBytes"}
	}
	if err := m.enter(); err != nil {
		return Result{}, err
	}
	defer m.work.Done()
	asked := time.Now()
	leased, err := m.lease(ctx, request.Session, request.Lane)
	if err != nil {
		return Result{}, err
	}
	defer m.release(leased, request.Session)
	c := m.newCall(ctx, request)
	result, err := c.run(leased, request)
	if !c.began.IsZero() {
		result.Waited = c.began.Sub(asked)
	}
	return result, err
}

// run calls the entry on a leased instance.
func (c *call) run(leased *instance, request Request) (result Result, err error) {
	err = c.on(leased, func() error {
		if err := leased.reseed(c); err != nil {
			return err
		}
		result.Output, err = leased.exchange(c, leased.entries[request.Entry], request.Input)
		return err
	})
	if err != nil {
		result.Output = nil
		c.hint(leased, err)
	}
	result.Start = leased.start
	if c.module.isolation == Sticky {
		result.Served = leased.calls
	}
	leased.calls++
	result.Fuel, result.Duration, result.Memory = c.fuel, c.watch.spent, leased.memory.Size()
	return result, err
}

// hint says of a trap that the memory may have been used up: the guest alone knows. Its
// allocator asks for a part of what it has, or for as much again.
func (c *call) hint(i *instance, err error) {
	trap, ok := errors.AsType[*TrapError](err)
	held, most := int64(i.memory.Size())>>20, int64(c.module.spec.Limits.MemoryMiB)
	if ok && 2*held >= most {
		trap.Hint = fmt.Sprintf("its memory has %d MiB, the limit is %d: if it ran out, use less, or %s", held, most, raise("MemoryMiB"))
	}
}

// call is what the host functions know of the call they serve. It belongs to the
// call's goroutine.
type call struct {
	module   *Module
	parent   context.Context // of who called
	guest    guestContext    // the same as wazero gets it
	session  string
	instance *instance
	ambient  Ambient
	log      lineLog
	observer Observer // nil for none
	handles  *handles // nil unless the module is Extism's
	world    World
	response HTTPResponse // the last one, without its body

	processor *processor
	lane      Lane
	running   bool      // it has a place on the processor
	began     time.Time // its run
	turn      time.Time // since when it runs in one go
	breathed  time.Time // when it last handed its thread to Go
	watch     stopwatch
	operating *operationContext // nil outside of an operation

	fuel    int64 // used until the last refill
	most    int64 // fuel it may use; 0 for no bound
	quantum int64 // of the last refill
	told    bool  // an operation answered that the call has ended
	toldAt  int64 // the fuel at that time

	operations Operations
	asked      int    // operations so far
	pending    []byte // the last operation's answer
}

func (m *Module) newCall(parent context.Context, request Request) *call {
	emit := request.Log
	if emit == nil {
		emit = m.debug
	}
	if request.Ambient == nil {
		request.Ambient = m.ambient(request.Entry, request.Input)
	}
	if observer := request.Observer; observer != nil {
		request.Ambient = observer.World(request.Ambient)
		log := emit
		emit = func(line string) { observer.Logged(line); log(line) }
	}
	if request.Deadline <= 0 {
		request.Deadline = m.spec.Limits.Deadline
	}
	if request.Fuel <= 0 {
		request.Fuel = m.spec.Limits.Fuel
	}
	c := &call{
		most:   request.Fuel,
		module: m, parent: parent, session: request.Session, ambient: request.Ambient, log: newLineLog(m.spec.Limits.LogBytes, emit, request.LogAt),
		processor: &m.engine.processors[request.Lane], lane: request.Lane,
		watch: stopwatch{limit: request.Deadline}, operations: request.Operations, observer: request.Observer, world: request.World,
	}
	if m.extism {
		c.handles = newHandles(&m.spec.Limits, m.engine.reserve)
	}
	c.guest = guestContext{Context: parent, call: c}
	return c
}

// on runs the guest of an instance with all that must surround it: a place on the
// processor, a filled counter, a running watch.
func (c *call) on(i *instance, fn func() error) (err error) {
	if err := c.processor.acquire(c.parent, c.session, c.module.spec.Limits.Wait); err != nil {
		return err
	}
	c.instance, c.running = i, true
	now := time.Now()
	c.began, c.turn, c.breathed = now, now, now
	c.watch.start(now)
	c.refill()
	defer func() {
		c.watch.stop(time.Now())
		if c.running {
			c.processor.release()
		}
		if c.handles != nil {
			c.module.engine.budget.Release(c.handles.held)
			c.handles = nil
		}
	}()
	err = fn()
	c.account()
	fault := protected("Log", func() error { c.log.flush(); return nil })
	if err == nil {
		err = fault
	}
	return err
}

// guestContext carries a call to the host functions. It answers nothing else:
// wazero asks it for keys of its own on every call, which a long chain of values
// makes slow and must not be able to answer.
type guestContext struct {
	context.Context
	call *call
}

type callKey struct{}

func (g *guestContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return g.call
	}
	return nil
}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// stopped is what a host function panics with to end the guest's run.
type stopped struct{ err error }

func (s *stopped) Error() string { return s.err.Error() }

func (c *call) stop(err error) { panic(&stopped{err: err}) }

// failure is what a guest function's error means.
func (c *call) failure(err error) error {
	if stop, ok := errors.AsType[*stopped](err); ok {
		if trap, ok := errors.AsType[*TrapError](stop.err); ok {
			trap.Function, trap.Stack = frames(err)
			trap.Panic = clean(c.log.panic, maxPanic)
		}
		return stop.err
	}
	trap := trapOf(err)
	trap.Panic = clean(c.log.panic, maxPanic)
	return trap
}

// endOf answers how a context ended: ErrDeadline, ErrCancelled with the cause, or
// nil while it lasts.
func endOf(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrDeadline) || errors.Is(cause, context.DeadlineExceeded) {
		return ErrDeadline
	}
	return fmt.Errorf("%w: %w", ErrCancelled, cause)
}
