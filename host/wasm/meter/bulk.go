package meter

import (
	"slices"
	"strconv"

	"github.com/plinthhost/plinth/host/wasm/binary"
)

// A copy or fill of memory whose size is not known small is done in place when
// it has at most inPlace bytes, else by a helper in pieces of chunk bytes that
// are charged one by one.
const (
	knownSmall = 4096 // bytes
	inPlace    = 1024
	chunk      = 64 << 10
	bytesShift = 4 // 16 bytes cost a unit
	pageShift  = 16
)

// helpers are the functions behind those of the original. Each takes the three
// operands of the instruction it stands for.
type helpers struct {
	copy, fill uint32 // their numbers, 0 for none
	segments   map[uint32]uint32
	bodies     []binary.Body
	names      []string
}

// bulkInPlace says whether the bulk operation on memory stays as it is, and the
// steps its bytes take at most.
func (r *rewriter) bulkInPlace(list []binary.Instr, i int) (steps int64, ok bool) {
	size := int64(-1)
	if i > 0 && list[i-1].Op == binary.OpI32Const {
		size = int64(list[i-1].X)
	}
	if list[i].Op == binary.OpMemoryInit {
		if segment := r.segmentSize(list[i].X); size < 0 || size > segment {
			size = segment // more traps
		}
	}
	return size, size >= 0 && size <= knownSmall
}

// segmentSize is how much memory.init can take from a segment. Active ones are
// empty when code runs.
func (r *rewriter) segmentSize(segment uint32) int64 {
	if s := r.in.Data[segment]; s.Mode == binary.Passive {
		return int64(len(s.Bytes))
	}
	return 0
}

// bulk writes, for the instruction op with destination, source (or value) and
// size on the stack:
//
//	local.set n, local.set s, local.set d
//	n <= inPlace
//	if d s n op else d s n call helper end
func (w *bodyWriter) bulk(instr binary.Instr) {
	w.usesBulk = true
	w.report.Bulk++
	d, s, n := w.scratch, w.scratch+1, w.scratch+2
	w.set(n)
	w.set(s)
	w.set(d)
	w.get(n)
	w.i32(inPlace)
	w.ops(binary.OpI32LeU)
	w.block(binary.OpIf, binary.Empty)
	w.get(d, s, n)
	w.memoryOp(instr)
	w.ops(binary.OpElse)
	w.get(d, s, n)
	w.on(binary.OpCall, w.helper(instr))
	w.ops(binary.OpEnd)
}

// memoryOp writes a memory.copy, memory.fill or memory.init.
func (a *assembler) memoryOp(instr binary.Instr) {
	a.ops(instr.Op)
	switch instr.Op {
	case binary.OpMemoryCopy:
		a.code = append(a.code, 0, 0)
	case binary.OpMemoryFill:
		a.code = append(a.code, 0)
	case binary.OpMemoryInit:
		a.code = append(binary.AppendUnsigned(a.code, instr.X), 0)
	}
}

// withScratch adds three locals of type i32.
func withScratch(locals []binary.Locals) []binary.Locals {
	locals = slices.Clone(locals)
	if last := len(locals) - 1; last >= 0 && locals[last].Type == binary.I32 {
		locals[last].Count += 3
		return locals
	}
	return append(locals, binary.Locals{Count: 3, Type: binary.I32})
}

func (r *rewriter) helperIndex(n int) uint32 {
	return uint32(r.in.FunctionCount()) + 1 + uint32(n)
}

// helper is the number of the function for the instruction, written when it is
// asked for the first time.
func (r *rewriter) helper(instr binary.Instr) uint32 {
	h := &r.helpers
	index := r.helperIndex(len(h.bodies))
	switch instr.Op {
	case binary.OpMemoryCopy:
		if h.copy == 0 {
			h.copy = index
			r.addHelper("copy", r.copyHelper(instr))
		}
		return h.copy
	case binary.OpMemoryFill:
		if h.fill == 0 {
			h.fill = index
			r.addHelper("fill", r.forwardHelper(instr))
		}
		return h.fill
	}
	if known, ok := h.segments[instr.X]; ok {
		return known
	}
	if h.segments == nil {
		h.segments = make(map[uint32]uint32)
	}
	h.segments[instr.X] = index
	r.addHelper("init/"+strconv.Itoa(int(instr.X)), r.forwardHelper(instr))
	return index
}

func (r *rewriter) addHelper(name string, code []byte) {
	r.helpers.names = append(r.helpers.names, name)
	r.helpers.bodies = append(r.helpers.bodies, binary.Body{
		Locals: []binary.Locals{{Count: 1, Type: binary.I32}}, Code: code,
	})
}

// addHelpers puts the helpers behind the functions of the module.
func (r *rewriter) addHelpers() {
	if len(r.helpers.bodies) == 0 {
		return
	}
	kind := r.functionType(3)
	r.out.Functions = slices.Clip(r.in.Functions)
	for range r.helpers.bodies {
		r.out.Functions = append(r.out.Functions, kind)
	}
	r.out.Bodies = append(r.out.Bodies, r.helpers.bodies...)
}

// Locals of a helper: its operands and the size of a piece.
const (
	to = iota
	from
	left
	piece
)

// forwardHelper is the body of the helper for memory.fill and memory.init.
func (r *rewriter) forwardHelper(instr binary.Instr) []byte {
	var a assembler
	r.trapFirst(&a, instr)
	r.forward(&a, instr)
	a.ops(binary.OpEnd)
	return a.code
}

// copyHelper is that for memory.copy: backwards when the destination lies
// behind the source, which it may overlap.
func (r *rewriter) copyHelper(instr binary.Instr) []byte {
	var a assembler
	r.trapFirst(&a, instr)
	a.get(to, from)
	a.ops(binary.OpI32GtU)
	a.block(binary.OpIf, binary.Empty)
	a.block(binary.OpLoop, binary.Empty)
	r.takePiece(&a)
	a.get(left, piece)
	a.ops(binary.OpI32Sub)
	a.set(left)
	a.get(to, left)
	a.ops(binary.OpI32Add)
	a.get(from, left)
	a.ops(binary.OpI32Add)
	a.get(piece)
	a.memoryOp(instr)
	a.get(left)
	a.on(binary.OpBrIf, 0)
	a.ops(binary.OpEnd, binary.OpElse)
	r.forward(&a, instr)
	a.ops(binary.OpEnd, binary.OpEnd)
	return a.code
}

// trapFirst runs the whole instruction when it is out of bounds: it traps and
// has written nothing then.
func (r *rewriter) trapFirst(a *assembler, instr binary.Instr) {
	a.memorySize()
	a.ops(binary.OpI64ExtendU)
	a.i64(pageShift)
	a.ops(binary.OpI64Shl)
	a.endOf(to)
	a.ops(binary.OpI64LtU)
	switch instr.Op {
	case binary.OpMemoryCopy:
		a.memorySize()
		a.ops(binary.OpI64ExtendU)
		a.i64(pageShift)
		a.ops(binary.OpI64Shl)
		a.endOf(from)
		a.ops(binary.OpI64LtU, binary.OpI32Or)
	case binary.OpMemoryInit:
		a.i64(r.segmentSize(instr.X))
		a.endOf(from)
		a.ops(binary.OpI64LtU, binary.OpI32Or)
	}
	a.block(binary.OpIf, binary.Empty)
	a.get(to, from, left)
	a.memoryOp(instr)
	a.ops(binary.OpUnreachable, binary.OpEnd)
}

// endOf puts the end of what begins at the local onto the stack, as an i64.
func (a *assembler) endOf(local uint32) {
	a.get(local)
	a.ops(binary.OpI64ExtendU)
	a.get(left)
	a.ops(binary.OpI64ExtendU, binary.OpI64Add)
}

// takePiece sets piece to the lesser of left and chunk, and charges it.
func (r *rewriter) takePiece(a *assembler) {
	a.get(left)
	a.i32(chunk)
	a.get(left)
	a.i32(chunk)
	a.ops(binary.OpI32LtU, binary.OpSelect)
	a.set(piece)
	a.on(binary.OpGlobalGet, r.counter)
	a.get(piece)
	a.ops(binary.OpI64ExtendU)
	a.i64(bytesShift)
	a.ops(binary.OpI64ShrU, binary.OpI64Sub)
	a.on(binary.OpGlobalSet, r.counter)
	r.yieldBelowZero(a)
}

// forward writes the loop that goes through the bytes upwards. The second
// operand of memory.fill is the value and stays.
func (r *rewriter) forward(a *assembler, instr binary.Instr) {
	a.block(binary.OpLoop, binary.Empty)
	r.takePiece(a)
	a.get(to, from, piece)
	a.memoryOp(instr)
	a.advance(to)
	if instr.Op != binary.OpMemoryFill {
		a.advance(from)
	}
	a.get(left, piece)
	a.ops(binary.OpI32Sub)
	a.on(binary.OpLocalTee, left)
	a.on(binary.OpBrIf, 0)
	a.ops(binary.OpEnd)
}

func (a *assembler) advance(local uint32) {
	a.get(local, piece)
	a.ops(binary.OpI32Add)
	a.set(local)
}
