package wasm

import "fmt"

// bytesPerFuel is how many bytes the host copies or clears for one unit of fuel.
const bytesPerFuel = 16

// allocate makes a block of zeros, or stops the guest.
func (c *call) allocate(length uint64) uint64 {
	c.charge(int64(min(length, 1<<40) / bytesPerFuel))
	at, err := c.handles.alloc(length)
	if err != nil {
		c.stop(err)
	}
	return at
}

// hand makes a block of a copy of data, or stops the guest.
func (c *call) hand(data []byte) uint64 {
	c.charge(int64(len(data) / bytesPerFuel))
	at, err := c.handles.put(data)
	if err != nil {
		c.stop(err)
	}
	return at
}

// argument answers the bytes of a handle that a function of the host takes, none
// when it is no handle. One beyond the memory traps.
func (c *call) argument(at uint64) []byte {
	if size := c.handles.size(); at > size {
		c.stop(&TrapError{Reason: fmt.Sprintf("a handle of %d, beyond the Extism memory of %d", at, size)})
	}
	return c.handles.view(at)
}

// consume takes a copy of the bytes of an argument and gives its block back, as
// most functions of the host do.
func (c *call) consume(at uint64) []byte {
	data := append([]byte(nil), c.argument(at)...)
	c.charge(int64(len(data) / bytesPerFuel))
	c.handles.free(at)
	return data
}

func extismAlloc(c *call, stack []uint64) { stack[0] = c.allocate(stack[0]) }

func extismFree(c *call, stack []uint64) { c.handles.free(stack[0]) }

func extismLength(c *call, stack []uint64) { stack[0] = uint64(len(c.handles.view(stack[0]))) }

func extismBytes(c *call, stack []uint64) { stack[0] = c.handles.size() }

func extismReset(c *call, _ []uint64) { c.handles.reset() }

// The functions on 8 bytes trap beyond the memory, those on one byte answer 0 and
// write nothing, as in the kernel.

func extismLoad8(c *call, stack []uint64) {
	if bytes := c.handles.at(stack[0]); bytes != nil {
		stack[0] = uint64(bytes[0])
		return
	}
	stack[0] = 0
}

func extismStore8(c *call, stack []uint64) {
	if bytes := c.handles.at(stack[0]); bytes != nil {
		bytes[0] = byte(stack[1])
	}
}

func extismLoad64(c *call, stack []uint64) {
	c.mustReach(stack[0], "load_u64")
	stack[0] = c.handles.load64(stack[0])
}

func extismStore64(c *call, stack []uint64) {
	c.mustReach(stack[0], "store_u64")
	c.handles.store64(stack[0], stack[1])
}

// mustReach stops a guest that takes 8 bytes from beyond the memory.
func (c *call) mustReach(address uint64, function string) {
	if address > c.handles.size()-8 {
		c.stop(&TrapError{Reason: fmt.Sprintf("%s of 8 bytes at %d, beyond the Extism memory of %d", function, address, c.handles.size())})
	}
}

func extismInputLength(c *call, stack []uint64) { stack[0] = uint64(len(c.handles.input.bytes)) }

func extismInputOffset(c *call, stack []uint64) { stack[0] = c.handles.input.at }

func extismInputLoad8(c *call, stack []uint64) {
	input := c.handles.input.bytes
	if stack[0] >= uint64(len(input)) {
		stack[0] = 0
		return
	}
	stack[0] = uint64(input[stack[0]])
}

func extismInputLoad64(c *call, stack []uint64) {
	input := &c.handles.input
	c.mustReach(input.at+min(stack[0], 1<<40), "input_load_u64")
	stack[0] = word(input.bytes, stack[0])
}

func extismInputSet(c *call, stack []uint64) {
	if input, ok := c.handles.span(stack[0], stack[1]); ok {
		c.handles.input = input
	}
}

func extismOutputSet(c *call, stack []uint64) {
	if output, ok := c.handles.span(stack[0], stack[1]); ok {
		c.handles.output = output
	}
}

func extismOutputLength(c *call, stack []uint64) { stack[0] = uint64(len(c.handles.output.bytes)) }

func extismOutputOffset(c *call, stack []uint64) { stack[0] = c.handles.output.at }

func extismErrorSet(c *call, stack []uint64) {
	if stack[0] == 0 || c.handles.at(stack[0]) != nil {
		c.handles.failure = stack[0]
	}
}

func extismErrorGet(c *call, stack []uint64) { stack[0] = c.handles.failure }
