package wasm

import (
	"encoding/binary"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// maxVectors is the most pieces one write may have.
const maxVectors = 1024

// fdWrite takes what is written to the two output streams into the call's log.
// Everything counts as written, also what the log drops.
func fdWrite(c *call, memory api.Memory, stack []uint64) errno {
	descriptor, vectors, count, written := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if descriptor != 1 && descriptor != 2 {
		return errnoBadf
	}
	if count > maxVectors {
		return errnoInval
	}
	table, ok := memory.Read(vectors, 8*count)
	if !ok {
		return errnoFault
	}
	total := uint32(0)
	for ; len(table) > 0; table = table[8:] {
		at, length := binary.LittleEndian.Uint32(table), binary.LittleEndian.Uint32(table[4:])
		data, ok := memory.Read(at, length)
		if !ok {
			return errnoFault
		}
		c.log.write(int(descriptor-1), data)
		total += length
	}
	if !memory.WriteUint32Le(written, total) {
		return errnoFault
	}
	return errnoSuccess
}

// randomPiece is how much randomness is made between two looks at the call.
const randomPiece = 64 << 10

func randomGet(c *call, memory api.Memory, stack []uint64) errno {
	buffer, ok := memory.Read(uint32(stack[0]), uint32(stack[1]))
	if !ok {
		return errnoFault
	}
	for len(buffer) > 0 {
		c.pause()
		n := min(len(buffer), randomPiece)
		c.ambient.Random(buffer[:n])
		buffer = buffer[n:]
	}
	return errnoSuccess
}

// procExit ends the call: a guest that exits, even with 0, gives no answer. One of
// Extism's ends its entry so, and its output counts.
func procExit(c *call, _ api.Memory, stack []uint64) errno {
	if c.handles != nil {
		c.stop(&ExitError{Code: uint32(stack[0])})
	}
	c.stop(&TrapError{Reason: fmt.Sprintf("exit with status %d", uint32(stack[0]))})
	return errnoSuccess
}
