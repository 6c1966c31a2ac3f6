package extism

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	sdk "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"

	"github.com/plinthhost/plinth/host/wasm"
)

// call is what the operation knows of the call it serves.
type call struct {
	module     *Module
	operations wasm.Operations
	asked      int
	log        *log
	stopped    error // why the host ended the guest
}

type callKey struct{}

func (m *Module) newCall(request wasm.Request) *call {
	return &call{module: m, operations: request.Operations, log: newLog(m.spec.Limits.LogBytes, request, m.options.Logger)}
}

// on starts an instance for the call and closes it afterwards.
func (c *call) on(ctx context.Context, fn func(plugin *sdk.Plugin) error) (err error) {
	config := wazero.NewModuleConfig().WithSysWalltime().WithSysNanotime().WithSysNanosleep().
		WithRandSource(rand.Reader).WithStdout(c.log).WithStderr(c.log)
	background := context.WithoutCancel(ctx)
	plugin, err := c.module.compiled.Instance(background, sdk.PluginInstanceConfig{ModuleConfig: config})
	if err != nil {
		return fmt.Errorf("start an instance: %w", err)
	}
	defer func() {
		c.log.flush()
		if closing := plugin.Close(background); err == nil && closing != nil {
			err = fmt.Errorf("close an instance: %w", closing)
		}
	}()
	plugin.SetLogger(c.log.message)
	spec := &c.module.spec
	if _, ok := c.module.info.Export(c.module.options.Contract.Init); ok && spec.Init != nil {
		offered := c.operations
		c.operations = nil
		answer, err := c.enter(ctx, plugin, c.module.options.Contract.Init, spec.Init, spec.Limits.Start)
		if err == nil && spec.CheckInit != nil {
			err = spec.CheckInit(answer)
		}
		if err != nil {
			return c.module.refuse(wasm.StageStart, "an instance does not start", err)
		}
		c.operations = offered
	}
	return fn(plugin)
}

func (c *call) run(ctx context.Context, plugin *sdk.Plugin, request wasm.Request) ([]byte, error) {
	deadline := request.Deadline
	if deadline <= 0 {
		deadline = c.module.spec.Limits.Deadline
	}
	return c.enter(ctx, plugin, request.Entry, request.Input, deadline)
}

// enter calls an entry and sorts what it ends with.
func (c *call) enter(ctx context.Context, plugin *sdk.Plugin, entry string, input []byte, deadline time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(context.WithValue(ctx, callKey{}, c), deadline, wasm.ErrDeadline)
	defer cancel()
	code, output, err := plugin.CallWithContext(ctx, entry, input)
	if c.stopped != nil {
		return nil, c.stopped
	}
	if err != nil && ctx.Err() != nil {
		return nil, endOf(ctx)
	}
	if exit, ok := errors.AsType[*sys.ExitError](err); ok {
		return nil, &wasm.ExitError{Code: exit.ExitCode()}
	}
	message := ""
	if err != nil {
		if message = plugin.GetError(); message == "" || err.Error() != message {
			reason, _, _ := strings.Cut(err.Error(), "\nwasm stack trace:")
			return nil, &wasm.TrapError{Reason: strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "\uFFFD")}
		}
	}
	if limit := c.module.spec.Limits.OutputBytes; len(output) > limit {
		return nil, &wasm.AnswerError{Reason: fmt.Sprintf("it has %d bytes, the limit is %d (OutputBytes)", len(output), limit)}
	}
	if code != 0 || message != "" {
		return nil, &wasm.ExitError{Code: code, Message: strings.ToValidUTF8(message[:min(len(message), maxMessage)], "\uFFFD"), Output: output}
	}
	return output, nil
}

const (
	maxReason  = 256
	maxMessage = 16 << 10
)

// operate is the user function: handles of an operation's name and request in, the
// handle of its answer out.
func operate(ctx context.Context, plugin *sdk.CurrentPlugin, stack []uint64) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		panic(errors.New("an operation outside of a call"))
	}
	answer, err := c.operate(ctx, plugin, stack[0], stack[1])
	if err == nil && ctx.Err() != nil {
		err = endOf(ctx)
	}
	if err == nil && len(answer) > 0 {
		stack[0], err = plugin.WriteBytes(answer)
	} else {
		stack[0] = 0
	}
	if err != nil {
		c.stopped = err
		panic(err)
	}
}

func (c *call) operate(ctx context.Context, plugin *sdk.CurrentPlugin, name, request uint64) (answer []byte, err error) {
	operation, err := plugin.ReadString(name)
	if err != nil {
		return nil, &wasm.TrapError{Reason: "an operation's name cannot be read"}
	}
	body, err := plugin.ReadBytes(request)
	if err != nil {
		return nil, &wasm.TrapError{Reason: "an operation's request cannot be read"}
	}
	c.asked++
	refuse, limits := c.module.options.Refuse, &c.module.spec.Limits
	switch {
	case c.operations == nil:
		return refuse(wasm.ErrUnavailable), nil
	case c.asked > limits.Operations:
		return refuse(&wasm.LimitError{What: "operations in one call", Got: int64(c.asked), Limit: int64(limits.Operations), Knob: "Operations"}), nil
	case len(body) > limits.OperationBytes:
		return refuse(&wasm.LimitError{What: "bytes of an operation's request", Got: int64(len(body)), Limit: int64(limits.OperationBytes), Knob: "OperationBytes"}), nil
	}
	if answer, err = c.perform(ctx, operation, body); err != nil {
		return nil, err
	}
	if len(answer) > limits.OperationBytes {
		return refuse(&wasm.LimitError{What: "bytes of an operation's answer", Got: int64(len(answer)), Limit: int64(limits.OperationBytes), Knob: "OperationBytes"}), nil
	}
	return answer, nil
}

// perform makes a panic of the operation, a fault of the host, a *wasm.HostError.
func (c *call) perform(ctx context.Context, operation string, body []byte) (answer []byte, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = &wasm.HostError{Operation: clean(operation[:min(len(operation), maxReason)]), Panic: fmt.Sprint(fault), Stack: string(debug.Stack())}
		}
	}()
	return c.operations.Call(ctx, operation, body), nil
}

// endOf is how a context ended, in the engine's errors.
func endOf(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, wasm.ErrDeadline) || errors.Is(cause, context.DeadlineExceeded) {
		return wasm.ErrDeadline
	}
	return fmt.Errorf("%w: %w", wasm.ErrCancelled, cause)
}
