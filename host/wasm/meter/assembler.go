package meter

import "github.com/plinthhost/plinth/host/wasm/binary"

// assembler writes instructions.
type assembler struct {
	code []byte
}

// ops writes instructions without operands.
func (a *assembler) ops(ops ...binary.Op) {
	for _, op := range ops {
		a.code = binary.AppendOp(a.code, op)
	}
}

// on writes an instruction with an index, label or local.
func (a *assembler) on(op binary.Op, index uint32) {
	a.code = binary.AppendIndexed(a.code, op, index)
}

func (a *assembler) block(op binary.Op, kind binary.BlockType) {
	a.code = binary.AppendBlock(a.code, op, kind)
}

func (a *assembler) i32(n int32) { a.code = binary.AppendI32(a.code, n) }
func (a *assembler) i64(n int64) { a.code = binary.AppendI64(a.code, n) }

// get puts locals onto the stack, the first one deepest.
func (a *assembler) get(locals ...uint32) {
	for _, local := range locals {
		a.on(binary.OpLocalGet, local)
	}
}

func (a *assembler) set(local uint32) { a.on(binary.OpLocalSet, local) }

// memorySize puts the pages of the memory onto the stack.
func (a *assembler) memorySize() { a.on(binary.OpMemorySize, 0) }
