package meter

import "github.com/plinthhost/plinth/host/wasm/binary"

// Costs are in steps, about what one simple instruction takes. A weight is
// charged for every stepsPerUnit of the dearest way through a region.
const (
	stepsPerUnit = 16

	costCall       = 3 // without what the callee does
	costDivide     = 5
	costMemoryGrow = 64
	costTable      = 20_000 // of a bulk operation on a table of at most 10,000 entries
	costBulk       = 20     // of a bulk operation on memory, without its bytes
	costInPlace    = 64     // of one of at most inPlace bytes that are not known
)

// weight is what is charged for a way of that many steps.
func weight(steps int64) int64 { return 1 + steps/stepsPerUnit }

// cost is what an instruction takes that stands alone.
func cost(op binary.Op) int64 {
	switch op {
	case binary.OpNop, binary.OpBlock, binary.OpLoop, binary.OpElse, binary.OpEnd, binary.OpDrop:
		return 0
	case binary.OpCall, binary.OpCallIndirect:
		return costCall
	case binary.OpMemoryGrow:
		return costMemoryGrow
	case binary.OpTableInit, binary.OpTableCopy, binary.OpTableGrow, binary.OpTableFill:
		return costTable
	case binary.OpF32Sqrt, binary.OpF32Div, binary.OpF64Sqrt, binary.OpF64Div,
		binary.OpF32x4Sqrt, binary.OpF32x4Div, binary.OpF64x2Sqrt, binary.OpF64x2Div:
		return costDivide
	}
	if op >= binary.OpI32DivS && op <= binary.OpI32RemU || op >= binary.OpI64DivS && op <= binary.OpI64RemU {
		return costDivide
	}
	return 1
}

// cost is what instruction i of the list takes, with what its operands say: the
// callee that is not charged itself, the bytes that are known.
func (r *rewriter) cost(list []binary.Instr, i int) int64 {
	instr := list[i]
	switch instr.Op {
	case binary.OpCall:
		if f := int64(instr.X) - int64(r.imported); f >= 0 && r.exempt[f] >= 0 {
			return costCall + r.exempt[f]
		}
	case binary.OpMemoryCopy, binary.OpMemoryFill, binary.OpMemoryInit:
		if size, ok := r.bulkInPlace(list, i); ok {
			return costBulk + size
		}
		return costInPlace
	}
	return cost(instr.Op)
}
