package wasm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tetratelabs/wazero/sys"
)

// Request is one call of an entry.
type Request struct {
	Entry string // one of Spec.Entries
	Input []byte // at most Limits.InputBytes
	// Deadline bounds the wait for an instance and then, counted anew, the run.
	// Zero takes Limits.Deadline. Compiling and starting an instance count to
	// neither.
	Deadline time.Duration
	// Session keeps instances apart: one that served a session serves no other,
	// unless the module is trusted.
	Session string
	// Operations answers what the guest asks of the host; nil offers nothing.
	Operations Operations
	// Log gets what the guest prints, line by line and cleaned, on the call's
	// goroutine. Nil writes to the engine's logger at debug level.
	Log func(line string)
}

// Operations carries out what a guest asks for during one call.
type Operations interface {
	// Call answers the operation. It runs on the call's goroutine and must return
	// soon after ctx, which carries the call's deadline, ends; the guest is then
	// stopped and the answer dropped. Call keeps neither request nor answer.
	Call(ctx context.Context, operation string, request []byte) (answer []byte)
}

// Result is a call that was answered.
type Result struct {
	Output   []byte
	Duration time.Duration // of the guest's run, operations included
	Waited   time.Duration // for an instance, and its start where it was new
	Memory   uint32        // the instance's, in bytes, after the call
}

// Call runs an entry. It fails with a *TrapError, *AnswerError, *LimitError,
// *HostError, *AdmissionError (of an instance that cannot be started, or of a
// lazily compiled module), ErrDeadline, ErrCancelled, ErrBusy, ErrClosed or
// ErrEntry, wrapped with module and entry. An answer counts even when the
// deadline passed while it was given.
func (m *Module) Call(ctx context.Context, request Request) (Result, error) {
	result, err := m.call(ctx, request)
	if err != nil {
		return Result{}, fmt.Errorf("call %s of module %s: %w", request.Entry, m.spec.Name, err)
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
	if request.Deadline <= 0 {
		request.Deadline = m.spec.Limits.Deadline
	}
	if err := m.enter(); err != nil {
		return Result{}, err
	}
	defer m.work.Done()
	asked := time.Now()
	leased, err := m.lease(ctx, request.Session, request.Deadline)
	if err != nil {
		return Result{}, err
	}
	leased.used = true
	defer m.release(leased)
	c, cancel := m.newCall(ctx, request.Deadline, request)
	defer cancel()
	began := time.Now()
	output, err := leased.exchange(c, leased.entries[request.Entry], request.Input)
	c.log.flush()
	if err != nil {
		return Result{}, err
	}
	return Result{
		Output: output, Duration: time.Since(began), Waited: began.Sub(asked), Memory: leased.memory.Size(),
	}, nil
}

// call is what the host functions know of the call they serve. It belongs to the
// call's goroutine.
type call struct {
	module     *Module
	ctx        context.Context // ends at the deadline; handed to operations
	guest      context.Context // the same as wazero gets it
	operations Operations
	asked      int    // operations so far
	pending    []byte // the last operation's answer
	log        *lineLog
}

func (m *Module) newCall(parent context.Context, deadline time.Duration, request Request) (*call, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(parent, deadline, ErrDeadline)
	emit := request.Log
	if emit == nil {
		emit = func(line string) { m.logger.Debug(line) }
	}
	c := &call{module: m, ctx: ctx, operations: request.Operations, log: newLineLog(m.spec.Limits.LogBytes, emit)}
	c.guest = guestContext{Context: ctx, call: c}
	return c, cancel
}

// guestContext carries a call to the host functions. It answers nothing else:
// wazero asks it for keys of its own on every call, which a long chain of values
// makes slow and must not be able to answer.
type guestContext struct {
	context.Context
	call *call
}

type callKey struct{}

func (g guestContext) Value(key any) any {
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

// stopIfEnded ends the guest's run when the deadline passed or the caller left.
func (c *call) stopIfEnded() {
	if err := endOf(c.ctx); err != nil {
		c.stop(err)
	}
}

// failure is what a guest function's error means.
func (c *call) failure(err error) error {
	if stop, ok := errors.AsType[*stopped](err); ok {
		if trap, ok := errors.AsType[*TrapError](stop.err); ok {
			trap.Function, trap.Stack = frames(err)
		}
		return stop.err
	}
	if _, ok := errors.AsType[*sys.ExitError](err); ok {
		if ended := endOf(c.ctx); ended != nil {
			return ended
		}
	}
	return trapOf(err)
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
