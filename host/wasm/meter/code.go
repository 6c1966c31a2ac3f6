package meter

import (
	"github.com/plinthhost/plinth/host/wasm/binary"
)

// foldUnits is the most that a function's own weight may be for its first loop
// to charge it with every round.
const foldUnits = 64

// bodies rewrites all bodies into one buffer.
func (r *rewriter) bodies() error {
	r.findExempt()
	r.out.Bodies = make([]binary.Body, 0, len(r.in.Bodies))
	w := bodyWriter{rewriter: r}
	for i := range r.in.Bodies {
		r.report.Code += len(r.in.Bodies[i].Code)
	}
	w.code = make([]byte, 0, r.report.Code+r.report.Code/8)
	for i := range r.in.Bodies {
		start := len(w.code)
		locals := w.body(i)
		if len(w.code) > r.options.MaxBytes {
			return tooLarge(len(w.code), r.options.MaxBytes)
		}
		// Code is set when the buffer has stopped moving.
		r.out.Bodies = append(r.out.Bodies, binary.Body{Locals: locals})
		w.sizes = append(w.sizes, len(w.code)-start)
	}
	at := 0
	for i, size := range w.sizes {
		r.out.Bodies[i].Code = w.code[at : at+size : at+size]
		at += size
	}
	r.addHelpers()
	for i := range r.out.Bodies {
		r.report.MeteredCode += len(r.out.Bodies[i].Code)
	}
	return nil
}

// bodyWriter writes one body after the other.
type bodyWriter struct {
	*rewriter
	assembler
	sizes []int

	// Of the body that is written:
	original binary.Body
	copied   uint32 // how far the original code is dealt with
	scopes   []scope
	loops    int    // loops passed
	scratch  uint32 // the first of three locals of our own
	usesBulk bool
	labels   []uint32
}

// scope is a block that is open.
type scope struct {
	wraps  int32 // loops taken apart among those open, itself included
	weight int64 // of a loop taken apart, else 0
}

// body writes a function and answers its locals.
func (w *bodyWriter) body(defined int) []binary.Locals {
	w.original = w.in.Bodies[defined]
	w.list = w.original.Instructions(w.list[:0])
	w.surveyor.survey(w.original, w.list)
	w.report.Loops += w.surveyor.counted
	w.scratch, w.usesBulk = w.localCount(defined), false

	folded := w.fold()
	switch {
	case w.exempt[defined] != unreached:
	case folded:
		w.report.Folded++
	default:
		w.check(&w.assembler, weight(w.surveyor.entry))
	}
	w.copied, w.loops = 0, 0
	w.scopes = append(w.scopes[:0], scope{})
	yields := w.surveyor.yields
	for i := range w.list {
		if len(yields) > 0 && yields[0] == i {
			yields = yields[1:]
			w.copyTo(w.list[i].At)
			w.on(binary.OpCall, w.imported)
		}
		w.instruction(i)
	}
	w.copyTo(uint32(len(w.original.Code)))
	if w.usesBulk {
		return withScratch(w.original.Locals)
	}
	return w.original.Locals
}

func (w *bodyWriter) localCount(defined int) uint32 {
	count := uint32(len(w.in.Types[w.in.Functions[defined]].Params))
	for _, group := range w.original.Locals {
		count += group.Count
	}
	return count
}

// fold lets the first loop of the function pay for the function as well, when
// nothing but that loop can come first and the price hardly changes. Functions of
// the Go toolchain are one such loop.
func (w *bodyWriter) fold() bool {
	loops := 0
	for _, instr := range w.list {
		switch instr.Op {
		case binary.OpBlock, binary.OpEnd:
		case binary.OpLoop:
			if !w.surveyor.branched[loops] {
				loops++
				continue
			}
			own, loop := weight(w.surveyor.entry), weight(w.surveyor.steps[loops])
			if own > foldUnits || own > loop {
				return false
			}
			w.surveyor.steps[loops] += w.surveyor.entry
			return true
		default:
			if !straight(instr.Op) {
				return false
			}
		}
	}
	return false
}

// straight says whether nothing but the next instruction can follow, other than
// a trap, and little time passes.
func straight(op binary.Op) bool {
	switch op {
	case binary.OpUnreachable, binary.OpIf, binary.OpElse, binary.OpBr, binary.OpBrIf, binary.OpBrTable,
		binary.OpReturn, binary.OpCall, binary.OpCallIndirect, binary.OpMemoryGrow,
		binary.OpMemoryCopy, binary.OpMemoryFill, binary.OpMemoryInit,
		binary.OpTableCopy, binary.OpTableFill, binary.OpTableInit, binary.OpTableGrow:
		return false
	}
	return true
}

// copyTo copies the original code up to there. It is the decoder's own writing.
func (w *bodyWriter) copyTo(at uint32) {
	w.code = append(w.code, w.original.Code[w.copied:at]...)
	w.copied = at
}

// replace copies the original up to instruction i and passes it.
func (w *bodyWriter) replace(i int) {
	w.copyTo(w.list[i].At)
	w.copied = uint32(len(w.original.Code))
	if i+1 < len(w.list) {
		w.copied = w.list[i+1].At
	}
}

func (w *bodyWriter) instruction(i int) {
	instr := w.list[i]
	switch instr.Op {
	case binary.OpBlock, binary.OpIf:
		w.push(0)
	case binary.OpLoop:
		w.loop(i)
	case binary.OpEnd:
		w.end(i)
	case binary.OpBr, binary.OpBrIf:
		if extra := w.crossed(instr.X); extra > 0 {
			w.replace(i)
			w.on(instr.Op, instr.X+extra)
		}
	case binary.OpBrTable:
		w.branchTable(i)
	case binary.OpCall, binary.OpRefFunc:
		if instr.X >= w.imported {
			w.replace(i)
			w.on(instr.Op, w.function(instr.X))
		}
	case binary.OpMemoryCopy, binary.OpMemoryFill, binary.OpMemoryInit:
		if _, ok := w.bulkInPlace(w.list, i); !ok {
			w.replace(i)
			w.bulk(instr)
		}
	}
}

func (w *bodyWriter) push(loopWeight int64) {
	b := scope{weight: loopWeight, wraps: w.scopes[len(w.scopes)-1].wraps}
	if loopWeight > 0 {
		b.wraps++
	}
	w.scopes = append(w.scopes, b)
}

// crossed is how many labels of ours stand between here and a label.
func (w *bodyWriter) crossed(label uint32) uint32 {
	top := len(w.scopes) - 1
	return loopLabels * uint32(w.scopes[top].wraps-w.scopes[top-int(label)].wraps)
}

func (w *bodyWriter) branchTable(i int) {
	w.labels = w.original.Labels(w.list[i], w.labels[:0])
	changed := false
	for j, label := range w.labels {
		extra := w.crossed(label)
		changed = changed || extra > 0
		w.labels[j] += extra
	}
	if !changed {
		return
	}
	w.replace(i)
	w.on(binary.OpBrTable, uint32(len(w.labels)-1))
	for _, label := range w.labels {
		w.code = binary.AppendUnsigned(w.code, label)
	}
}

func (w *bodyWriter) loop(i int) {
	number := w.loops
	w.loops++
	if !w.surveyor.branched[number] {
		w.push(0)
		return
	}
	weight := weight(w.surveyor.steps[number])
	kind := w.list[i].Block()
	w.replace(i)
	if kind >= 0 && len(w.in.Types[kind].Params) > 0 {
		w.block(binary.OpLoop, kind)
		w.check(&w.assembler, weight)
		w.push(0)
		return
	}
	w.openLoop(&w.assembler, kind, weight)
	w.push(weight)
}

func (w *bodyWriter) end(i int) {
	top := len(w.scopes) - 1
	if weight := w.scopes[top].weight; weight > 0 {
		w.replace(i)
		w.closeLoop(&w.assembler, weight)
	}
	w.scopes = w.scopes[:top]
}
