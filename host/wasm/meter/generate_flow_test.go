package meter_test

import (
	"slices"

	wasm "github.com/plinthhost/plinth/host/wasm/binary"
)

// statements makes code that leaves nothing.
func (g *generator) statements() {
	for range 1 + g.below(6) {
		if g.room <= 0 {
			return
		}
		g.statement()
	}
}

func (g *generator) statement() {
	switch g.below(16) {
	case 0:
		t := pick(g.source, valueTypes()...)
		g.value(t, 3)
		g.on(wasm.OpLocalSet, g.local(t, false))
	case 1:
		t := pick(g.source, valueTypes()...)
		g.value(t, 3)
		g.on(wasm.OpGlobalSet, globalOf(t))
	case 2:
		g.store()
	case 3:
		g.memoryBulk()
	case 4:
		g.tableChange()
	case 5, 6:
		g.call()
	case 7:
		g.value(tI32, 1)
		g.value(tI64, 1)
		g.on(wasm.OpCall, hostTell)
	case 8, 9, 10, 11:
		results := g.types(g.below(3))
		g.structured(pick(g.source, wasm.OpBlock, wasm.OpLoop, wasm.OpLoop, wasm.OpIf), results, 2)
		for range results {
			g.op(wasm.OpDrop)
		}
	case 12, 13:
		g.branch()
	case 14:
		g.op(wasm.OpNop)
	case 15:
		g.dead()
	}
}

// structured makes a block, loop or if that leaves the results.
func (g *generator) structured(op wasm.Op, results []wasm.ValueType, depth int) {
	var params []wasm.ValueType
	if g.one(4) {
		params = g.types(2)
	}
	for _, t := range params {
		g.value(t, 1)
	}
	if op == wasm.OpIf {
		g.value(tI32, 2)
	}
	g.block(op, g.blockType(params, results))
	carried := results
	if op == wasm.OpLoop {
		carried = params
	}
	g.labels = append(g.labels, label{types: carried, loop: op == wasm.OpLoop})
	arm := func() {
		for _, t := range slices.Backward(params) {
			g.on(wasm.OpLocalSet, g.local(t, false))
		}
		g.statements()
		if op == wasm.OpLoop && g.one(2) {
			g.again(0)
		}
		for _, t := range results {
			g.value(t, depth-1)
		}
	}
	arm()
	if op == wasm.OpIf && (len(results)+len(params) > 0 || g.one(2)) {
		g.op(wasm.OpElse)
		arm()
	}
	g.labels = g.labels[:len(g.labels)-1]
	g.op(wasm.OpEnd)
}

// again goes back to a loop if there is gas and some condition holds.
func (g *generator) again(depth int) {
	types := g.labels[len(g.labels)-1-depth].types
	for _, t := range types {
		g.value(t, 1)
	}
	g.takeGas()
	g.op(0x45) // i32.eqz
	g.value(tI32, 2)
	g.op(0x71) // i32.and
	g.on(wasm.OpBrIf, uint32(depth))
	for range types {
		g.op(wasm.OpDrop)
	}
}

// trapWithoutGas stands before a branch that nothing else bounds.
func (g *generator) trapWithoutGas() {
	g.takeGas()
	g.block(wasm.OpIf, wasm.Empty)
	g.op(wasm.OpUnreachable)
	g.op(wasm.OpEnd)
}

func (g *generator) branch() {
	depth := g.below(len(g.labels))
	target := g.labels[len(g.labels)-1-depth]
	switch choice := g.below(5); {
	case choice == 0 && target.loop:
		g.again(depth)
	case choice <= 1: // br_if
		g.trapWithoutGas()
		for _, t := range target.types {
			g.value(t, 1)
		}
		g.value(tI32, 2)
		g.on(wasm.OpBrIf, uint32(depth))
		for range target.types {
			g.op(wasm.OpDrop)
		}
	case choice == 2: // br, and dead code behind it
		g.trapWithoutGas()
		for _, t := range target.types {
			g.value(t, 1)
		}
		g.on(wasm.OpBr, uint32(depth))
	case choice == 3:
		g.branchTable(target)
	default:
		if g.one(3) {
			for _, t := range g.result {
				g.value(t, 1)
			}
			g.op(wasm.OpReturn)
			return
		}
		g.i32(0)
		g.block(wasm.OpIf, wasm.Empty)
		g.labels = append(g.labels, label{})
		g.statements()
		g.labels = g.labels[:len(g.labels)-1]
		g.op(wasm.OpUnreachable)
		g.op(wasm.OpEnd)
	}
}

// branchTable branches to any labels that carry what the target does.
func (g *generator) branchTable(target label) {
	var same []uint32
	for i := range g.labels {
		if slices.Equal(g.labels[len(g.labels)-1-i].types, target.types) {
			same = append(same, uint32(i))
		}
	}
	g.trapWithoutGas()
	for _, t := range target.types {
		g.value(t, 1)
	}
	g.value(tI32, 2)
	n := g.below(5)
	g.on(wasm.OpBrTable, uint32(n))
	for range n + 1 {
		g.code = wasm.AppendUnsigned(g.code, pick(g.source, same...))
	}
}

// dead makes code that nothing reaches and whose operands come from nowhere.
func (g *generator) dead() {
	g.i32(0)
	g.block(wasm.OpIf, wasm.Empty)
	g.op(wasm.OpUnreachable)
	switch g.below(7) {
	case 0:
		g.op(wasm.OpMemoryCopy)
		g.raw(0, 0)
	case 1:
		g.op(wasm.OpMemoryFill)
		g.raw(0)
	case 2:
		g.op(wasm.OpI32Add)
		g.op(wasm.OpDrop)
	case 3:
		g.block(wasm.OpLoop, wasm.BlockType(tI32)-0x80)
		g.on(wasm.OpBr, 0)
		g.op(wasm.OpEnd)
		g.op(wasm.OpDrop)
	case 4:
		g.on(wasm.OpBrIf, 0)
		g.op(wasm.OpSelect)
		g.op(wasm.OpDrop)
	case 5:
		g.op(wasm.OpMemoryInit)
		g.raw(2, 0)
	default:
		g.block(wasm.OpLoop, 1) // (i32) -> (i32)
		g.on(wasm.OpBr, 0)
		g.op(wasm.OpEnd)
		g.op(wasm.OpDrop)
	}
	g.op(wasm.OpEnd)
}

func (g *generator) call() {
	g.trapWithoutGas()
	if g.one(3) {
		t := uint32(1 + g.below(3)) // a type that functions may have
		for _, param := range g.m.Types[t].Params {
			g.value(param, 2)
		}
		g.tableIndex()
		g.on(wasm.OpCallIndirect, t)
		g.raw(0)
		for range g.m.Types[t].Results {
			g.op(wasm.OpDrop)
		}
		return
	}
	f := uint32(1 + g.below(g.m.FunctionCount()-1))
	t := g.m.FunctionType(f)
	for _, param := range t.Params {
		g.value(param, 2)
	}
	g.on(wasm.OpCall, f)
	for range t.Results {
		g.op(wasm.OpDrop)
	}
}

// memoryBulk copies or fills memory, in sizes around those that matter.
func (g *generator) memoryBulk() {
	size := func(limit int) {
		if g.one(2) {
			g.value(tI32, 2)
			g.i32(int32(limit - 1))
			g.op(0x71) // i32.and
			return
		}
		g.i32(int32(pick(g.source, 0, 1, 1023, 1024, 1025, 4096, 4097, 65536, 65537, 100_000, 150_000)))
	}
	place := func() {
		g.value(tI32, 1)
		g.i32(int32(pick(g.source, 0xff, 0xffff, 0x3ffff)))
		g.op(0x71) // i32.and
	}
	switch g.below(4) {
	case 0, 1:
		place()
		place()
		size(1 << 17)
		g.op(wasm.OpMemoryCopy)
		g.raw(0, 0)
	case 2:
		place()
		g.value(tI32, 1)
		size(1 << 17)
		g.op(wasm.OpMemoryFill)
		g.raw(0)
	default:
		segment := uint32(g.below(3))
		place()
		g.i32(int32(g.below(20)))
		if g.one(2) {
			g.i32(int32(g.below(12)))
		} else {
			size(1 << 13)
		}
		g.on(wasm.OpMemoryInit, segment)
		g.raw(0)
		if g.one(8) {
			g.on(wasm.OpDataDrop, segment)
		}
	}
}

func (g *generator) tableChange() {
	switch g.below(6) {
	case 0:
		g.tableIndex()
		g.reference()
		g.on(wasm.OpTableSet, 0)
	case 1:
		g.reference()
		g.i32(int32(g.below(2)))
		g.on(wasm.OpTableGrow, 0)
		g.op(wasm.OpDrop)
	case 2:
		g.tableIndex()
		g.reference()
		g.i32(int32(g.below(3)))
		g.on(wasm.OpTableFill, 0)
	case 3:
		g.tableIndex()
		g.tableIndex()
		g.i32(int32(g.below(3)))
		g.op(wasm.OpTableCopy)
		g.raw(0, 0)
	case 4:
		g.tableIndex()
		g.i32(int32(g.below(2)))
		g.i32(int32(g.below(3)))
		g.op(wasm.OpTableInit)
		g.raw(1, 0)
	default:
		if g.one(4) {
			g.on(wasm.OpElemDrop, 1)
		}
	}
}
