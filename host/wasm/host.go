package wasm

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// maxOperationName is the most bytes an operation's name may have.
const maxOperationName = 64

// guarded keeps a panic of a host function, which is a fault of the host, apart
// from the guest's traps.
func guarded(name string, function api.GoModuleFunc) api.GoModuleFunc {
	return func(ctx context.Context, module api.Module, stack []uint64) {
		defer func() {
			if fault := recover(); fault != nil {
				panic(hostFault(name, fault))
			}
		}()
		function(ctx, module, stack)
	}
}

// protected runs a function of the host's while no guest runs. A panic becomes a
// *HostError.
func protected(name string, fn func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = hostFault(name, fault).err
		}
	}()
	return fn()
}

// hostFault is what to end the guest's run with after a panic.
func hostFault(name string, fault any) *stopped {
	if stop, ok := fault.(*stopped); ok {
		return stop
	}
	return &stopped{err: &HostError{
		Operation: clean(name, maxOperationName), Panic: fmt.Sprint(fault), Stack: string(debug.Stack()),
	}}
}

// hostCall is the import that asks for an operation and answers the length of its
// answer, which waits for hostRead. The guest is not entered meanwhile. A guest
// whose call ends during an operation is told so and has a little fuel left.
func hostCall(ctx context.Context, module api.Module, stack []uint64) {
	c := callOf(ctx)
	c.safepoint()
	memory, nameLength, requestLength := module.Memory(), uint32(stack[1]), uint32(stack[3])
	c.pending = c.operate(uint64(nameLength), uint64(requestLength), func() (string, []byte) {
		name := string(c.view(memory, uint32(stack[0]), nameLength, "an operation's name"))
		return name, append([]byte(nil), c.view(memory, uint32(stack[2]), requestLength, "an operation's request")...)
	})
	c.endOperation()
	stack[0] = uint64(uint32(len(c.pending)))
}

// endOperation notices that the call ended during an operation. A call without a
// processor must not enter the guest.
func (c *call) endOperation() {
	ended := c.ended(time.Now())
	if ended != nil {
		c.announce(ended)
	}
	if !c.running {
		c.stop(c.ended(time.Now()))
	}
	if c.observer != nil {
		c.observer.Answered(c.pending, ended)
	}
}

// announce replaces the pending answer by the call's end.
func (c *call) announce(err error) {
	if !c.told {
		c.told, c.toldAt = true, c.fuel
	}
	c.toldAt -= graceOperation
	c.pending = c.module.engine.options.Refuse(err)
}

// operate answers one operation, or words why it is refused. read takes name and
// request out of the guest, once their lengths are known to be within the limits.
func (c *call) operate(nameLength, requestLength uint64, read func() (name string, request []byte)) []byte {
	refuse := c.module.engine.options.Refuse
	limits := &c.module.spec.Limits
	c.asked++
	switch {
	case c.operations == nil:
		return refuse(ErrUnavailable)
	case c.asked > limits.Operations:
		err := &LimitError{What: "operations in one call", Got: int64(c.asked), Limit: int64(limits.Operations), Knob: "Operations"}
		if c.asked == limits.Operations+1 { // a guest that only logs passes over what it is answered
			c.log.message("warn", []byte(err.Error()+"; this one and further ones are refused"))
		}
		return refuse(err)
	case nameLength > maxOperationName:
		return refuse(&LimitError{What: "bytes of an operation's name", Got: int64(nameLength), Limit: maxOperationName})
	case requestLength > uint64(limits.OperationBytes):
		return refuse(&LimitError{What: "bytes of an operation's request", Got: int64(requestLength), Limit: int64(limits.OperationBytes), Knob: "OperationBytes"})
	}
	name, request := read()
	if c.observer != nil {
		c.observer.Asked(name, request)
	}
	if c.told {
		return nil // the answer is the call's end
	}
	var answer []byte
	c.carryOut(name, func(ctx context.Context) { answer = c.operations.Call(ctx, name, request) })
	if len(answer) > limits.OperationBytes {
		return refuse(&LimitError{What: "bytes of an operation's answer", Got: int64(len(answer)), Limit: int64(limits.OperationBytes), Knob: "OperationBytes"})
	}
	return answer
}

// carryOut runs what the host does for the guest, with a context that carries the
// call's end. A panic of it is named.
func (c *call) carryOut(name string, fn func(ctx context.Context)) {
	defer func() {
		if fault := recover(); fault != nil {
			panic(hostFault(name, fault))
		}
	}()
	ctx := c.operation()
	defer ctx.end()
	fn(ctx)
}

// hostRead is the import that copies the pending answer to where the guest wants
// it. It stays pending until the next operation.
func hostRead(ctx context.Context, module api.Module, stack []uint64) {
	c := callOf(ctx)
	c.safepoint()
	if len(c.pending) > 0 && !module.Memory().Write(uint32(stack[0]), c.pending) {
		c.stop(&TrapError{Reason: fmt.Sprintf("an answer of %d bytes does not fit into the memory at %d", len(c.pending), uint32(stack[0]))})
	}
}

// view answers bytes of the guest's memory, which it shares; a guest that points
// outside of its memory is stopped.
func (c *call) view(memory api.Memory, at, length uint32, what string) []byte {
	data, ok := memory.Read(at, length)
	if !ok {
		c.stop(&TrapError{Reason: fmt.Sprintf("%s, %d bytes at %d, lies outside of the memory", what, length, at)})
	}
	return data
}
