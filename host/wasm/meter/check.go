package meter

import "github.com/plinthhost/plinth/host/wasm/binary"

// charge takes a weight off the counter.
func (r *rewriter) charge(a *assembler, weight int64) {
	a.on(binary.OpGlobalGet, r.counter)
	a.i64(weight)
	a.ops(binary.OpI64Sub)
	a.on(binary.OpGlobalSet, r.counter)
}

// yieldBelowZero calls the yield when the counter is below zero. The way past it
// is the first branch: the register allocator of the compiler takes the state
// after the if from its first predecessor, and the call leaves everything in
// memory.
func (r *rewriter) yieldBelowZero(a *assembler) {
	a.on(binary.OpGlobalGet, r.counter)
	a.i64(0)
	a.ops(binary.OpI64GeS)
	a.block(binary.OpIf, binary.Empty)
	a.ops(binary.OpElse)
	a.on(binary.OpCall, r.imported)
	a.ops(binary.OpEnd)
}

// check is what stands at the entry of a function, and at the head of a loop
// with parameters.
func (r *rewriter) check(a *assembler, weight int64) {
	r.charge(a, weight)
	r.yieldBelowZero(a)
}

// Labels around a loop that is taken apart, counted from its body outwards. The
// call of the yield stands outside of the loop, so that no value of the loop is
// live over a call.
const (
	coldLabel  = 1 // to the call of the yield
	doneLabel  = 2 // seen from behind the loop
	againLabel = 0 // seen from the call of the yield
	loopLabels = 3 // that branches out of the loop have to cross in addition
)

// openLoop writes
//
//	block kind ;; done
//	  loop ;; again
//	    block ;; cold
//	      loop kind
//	        counter -= weight
//	        counter < 0, br_if cold
func (r *rewriter) openLoop(a *assembler, kind binary.BlockType, weight int64) {
	a.block(binary.OpBlock, kind)
	a.block(binary.OpLoop, binary.Empty)
	a.block(binary.OpBlock, binary.Empty)
	a.block(binary.OpLoop, kind)
	r.charge(a, weight)
	a.on(binary.OpGlobalGet, r.counter)
	a.i64(0)
	a.ops(binary.OpI64LtS)
	a.on(binary.OpBrIf, coldLabel)
}

// closeLoop writes what stands behind the body:
//
//	      end
//	      br done
//	    end
//	    call yield
//	    counter += weight
//	    br again
//	  end
//	  unreachable
//	end
//
// The head charges again when it is entered again, so the weight is given back.
func (r *rewriter) closeLoop(a *assembler, weight int64) {
	a.ops(binary.OpEnd)
	a.on(binary.OpBr, doneLabel)
	a.ops(binary.OpEnd)
	a.on(binary.OpCall, r.imported)
	a.on(binary.OpGlobalGet, r.counter)
	a.i64(weight)
	a.ops(binary.OpI64Add)
	a.on(binary.OpGlobalSet, r.counter)
	a.on(binary.OpBr, againLabel)
	a.ops(binary.OpEnd, binary.OpUnreachable, binary.OpEnd)
}
