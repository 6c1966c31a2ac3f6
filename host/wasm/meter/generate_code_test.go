package meter_test

import (
	"encoding/binary"
	"math"
	"slices"

	wasm "github.com/plinthhost/plinth/host/wasm/binary"
)

// interesting is a number of the sort that finds mistakes.
func (g *generator) interesting() int64 {
	switch g.below(6) {
	case 0:
		return int64(g.below(16))
	case 1:
		return int64(g.below(1 << 16))
	case 2:
		return -int64(g.below(300))
	case 3:
		return int64(g.below(1<<24)) << 40
	case 4:
		return pick[int64](g.source, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, 1<<16, 1<<17, 1024, 4096)
	}
	return int64(memoryPages<<16) - int64(g.below(40))
}

func (g *generator) zeros(types []wasm.ValueType) {
	for _, t := range types {
		g.constant(t, 0)
	}
}

func (g *generator) constant(t wasm.ValueType, n int64) {
	g.room--
	switch t {
	case wasm.I32:
		g.i32(int32(n))
	case wasm.I64:
		g.code = wasm.AppendI64(g.code, n)
	case wasm.F32:
		g.raw(byte(wasm.OpF32Const))
		g.code = binary.LittleEndian.AppendUint32(g.code, math.Float32bits(float32(n)/3))
	case wasm.F64:
		g.raw(byte(wasm.OpF64Const))
		g.code = binary.LittleEndian.AppendUint64(g.code, math.Float64bits(float64(n)/3))
	case wasm.V128:
		g.raw(0xfd, 0x0c)
		g.code = binary.LittleEndian.AppendUint64(g.code, uint64(n))
		g.code = binary.LittleEndian.AppendUint64(g.code, uint64(n)*0x9e3779b97f4a7c15)
	}
}

// local is a local of the type, the second of the two that every function has
// when it is for a value to be looked at twice.
func (g *generator) local(t wasm.ValueType, twice bool) uint32 {
	all := slices.Index(valueTypes(), t)
	own := len(g.locals) - 2*len(valueTypes()) + 2*all
	if twice {
		return uint32(own + 1)
	}
	if at := g.below(own + 1); at < len(g.locals)-2*len(valueTypes()) && g.locals[at] == t {
		return uint32(at)
	}
	return uint32(own)
}

func globalOf(t wasm.ValueType) uint32 { return uint32(1 + slices.Index(valueTypes(), t)) }

// operation is an instruction by what it takes and gives.
type operation struct {
	from, to wasm.Op // a range of opcodes
	takes    []wasm.ValueType
}

const (
	tI32  = wasm.I32
	tI64  = wasm.I64
	tF32  = wasm.F32
	tF64  = wasm.F64
	tV128 = wasm.V128
)

func takes(types ...wasm.ValueType) []wasm.ValueType { return types }

// operations answers those that give a value of the type.
func operations(t wasm.ValueType) []operation {
	switch t {
	case tI32:
		return []operation{
			{0x6a, 0x78, takes(tI32, tI32)}, {0x46, 0x4f, takes(tI32, tI32)}, {0x67, 0x69, takes(tI32)}, {0x45, 0x45, takes(tI32)},
			{0x51, 0x5a, takes(tI64, tI64)}, {0x50, 0x50, takes(tI64)}, {0x5b, 0x60, takes(tF32, tF32)}, {0x61, 0x66, takes(tF64, tF64)},
			{0xa7, 0xa7, takes(tI64)}, {0xa8, 0xa9, takes(tF32)}, {0xaa, 0xab, takes(tF64)}, {0xbc, 0xbc, takes(tF32)}, {0xc0, 0xc1, takes(tI32)},
			{0xfc00, 0xfc01, takes(tF32)}, {0xfc02, 0xfc03, takes(tF64)},
			{0xfd53, 0xfd53, takes(tV128)}, {0xfd63, 0xfd64, takes(tV128)}, {0xfda3, 0xfda4, takes(tV128)},
		}
	case tI64:
		return []operation{
			{0x7c, 0x8a, takes(tI64, tI64)}, {0x79, 0x7b, takes(tI64)}, {0xac, 0xad, takes(tI32)}, {0xae, 0xaf, takes(tF32)},
			{0xb0, 0xb1, takes(tF64)}, {0xbd, 0xbd, takes(tF64)}, {0xc2, 0xc4, takes(tI64)}, {0xfc04, 0xfc05, takes(tF32)}, {0xfc06, 0xfc07, takes(tF64)},
		}
	case tF32:
		return []operation{
			{0x92, 0x98, takes(tF32, tF32)}, {0x8b, 0x91, takes(tF32)}, {0xb2, 0xb3, takes(tI32)}, {0xb4, 0xb5, takes(tI64)},
			{0xb6, 0xb6, takes(tF64)}, {0xbe, 0xbe, takes(tI32)},
		}
	case tF64:
		return []operation{
			{0xa0, 0xa6, takes(tF64, tF64)}, {0x99, 0x9f, takes(tF64)}, {0xb7, 0xb8, takes(tI32)}, {0xb9, 0xba, takes(tI64)},
			{0xbb, 0xbb, takes(tF32)}, {0xbf, 0xbf, takes(tI64)},
		}
	}
	return []operation{
		{0xfd4e, 0xfd51, takes(tV128, tV128)}, {0xfd4d, 0xfd4d, takes(tV128)}, {0xfd52, 0xfd52, takes(tV128, tV128, tV128)},
		{0xfd23, 0xfd4c, takes(tV128, tV128)}, {0xfd0e, 0xfd0e, takes(tV128, tV128)}, {0xfd6e, 0xfd73, takes(tV128, tV128)},
		{0xfd60, 0xfd62, takes(tV128)}, {0xfd6b, 0xfd6d, takes(tV128, tI32)}, {0xfdae, 0xfdae, takes(tV128, tV128)},
		{0xfdb5, 0xfdba, takes(tV128, tV128)}, {0xfdd5, 0xfddf, takes(tV128, tV128)}, {0xfd0f, 0xfd11, takes(tI32)}, {0xfd12, 0xfd12, takes(tI64)},
		{0xfdf0, 0xfdf5, takes(tV128, tV128)}, {0xfde4, 0xfde9, takes(tV128, tV128)}, {0xfdf8, 0xfdf9, takes(tV128)},
	}
}

// value makes code that leaves a value of the type.
func (g *generator) value(t wasm.ValueType, depth int) {
	choice := g.below(10)
	if depth <= 0 || g.room <= 0 {
		choice %= 3
	}
	switch choice {
	case 0:
		g.constant(t, g.interesting())
	case 1:
		g.on(wasm.OpLocalGet, g.local(t, false))
	case 2:
		g.on(wasm.OpGlobalGet, globalOf(t))
	case 3:
		g.load(t)
	case 4:
		g.value(t, depth-1)
		g.on(wasm.OpLocalTee, g.local(t, false))
	case 5:
		g.selection(t, depth)
	case 6:
		g.valueBlock(t, depth)
	case 7:
		g.special(t, depth)
	default:
		g.operation(t, depth)
	}
}

func (g *generator) operation(t wasm.ValueType, depth int) {
	list := operations(t)
	o := list[g.below(len(list))]
	for _, from := range o.takes {
		g.value(from, depth-1)
	}
	g.op(o.from + wasm.Op(g.below(int(o.to-o.from)+1)))
	g.canonicalNaN(t)
}

// canonicalNaN takes the sign and the bits out of a NaN: the engines choose
// different ones.
func (g *generator) canonicalNaN(t wasm.ValueType) {
	twice := g.local(t, true)
	same := func(op wasm.Op) {
		g.on(wasm.OpLocalGet, twice)
		g.on(wasm.OpLocalGet, twice)
		g.op(op)
	}
	switch t {
	case tF32, tF64:
		g.on(wasm.OpLocalTee, twice)
		g.constant(t, 0)
		same(map[wasm.ValueType]wasm.Op{tF32: 0x5b, tF64: 0x61}[t])
		g.op(wasm.OpSelect)
	case tV128: // lanes that are NaN as f32 or as f64 are cleared
		for _, equal := range []wasm.Op{0xfd41, 0xfd47} {
			g.on(wasm.OpLocalTee, twice)
			same(equal)
			g.op(0xfd4e) // v128.and
		}
	}
}

// address leaves an address that is mostly within the memory.
func (g *generator) address() {
	g.value(tI32, 1)
	if !g.one(8) {
		g.i32(0xffff)
		g.op(0x71) // i32.and
	}
}

func (g *generator) load(t wasm.ValueType) {
	g.address()
	switch t {
	case tI32:
		g.op(pick[wasm.Op](g.source, 0x28, 0x2c, 0x2d, 0x2e, 0x2f))
	case tI64:
		g.op(pick[wasm.Op](g.source, 0x29, 0x30, 0x31, 0x34, 0x35))
	case tF32:
		g.op(0x2a)
	case tF64:
		g.op(0x2b)
	default:
		g.op(pick[wasm.Op](g.source, 0xfd00, 0xfd01, 0xfd07, 0xfd0a, 0xfd5c, 0xfd5d))
	}
	g.raw(0, byte(g.below(100)))
}

func (g *generator) store() {
	t := pick(g.source, valueTypes()...)
	g.address()
	g.value(t, 2)
	switch t {
	case tI32:
		g.op(pick[wasm.Op](g.source, 0x36, 0x3a, 0x3b))
	case tI64:
		g.op(pick[wasm.Op](g.source, 0x37, 0x3c, 0x3e))
	case tF32:
		g.op(0x38)
	case tF64:
		g.op(0x39)
	default:
		g.op(0xfd0b)
	}
	g.raw(0, byte(g.below(100)))
}

func (g *generator) selection(t wasm.ValueType, depth int) {
	g.value(t, depth-1)
	g.value(t, depth-1)
	g.value(tI32, depth-1)
	if g.one(2) {
		g.op(wasm.OpSelectType)
		g.raw(1, byte(t))
		return
	}
	g.op(wasm.OpSelect)
}

// special makes what has a form of its own.
func (g *generator) special(t wasm.ValueType, depth int) {
	switch t {
	case tI32:
		switch g.below(6) {
		case 0:
			g.on(wasm.OpMemorySize, 0)
		case 1:
			g.i32(int32(g.below(2)))
			g.on(wasm.OpMemoryGrow, 0)
		case 2:
			g.on(wasm.OpTableSize, 0)
		case 3:
			g.reference()
			g.op(wasm.OpRefIsNull)
		case 4:
			g.value(tI32, depth-1)
			g.on(wasm.OpCall, hostAsk)
		default:
			g.value(tV128, depth-1)
			g.op(0xfd1b) // i32x4.extract_lane
			g.raw(byte(g.below(4)))
		}
	case tI64:
		g.value(tV128, depth-1)
		g.op(0xfd1d) // i64x2.extract_lane
		g.raw(byte(g.below(2)))
	case tV128:
		g.value(tV128, depth-1)
		g.value(tV128, depth-1)
		g.op(0xfd0d) // i8x16.shuffle
		for i := range 16 {
			g.raw(byte(g.below(256)+i) % 32)
		}
	default:
		g.operation(t, depth)
	}
}

func (g *generator) reference() {
	switch g.below(3) {
	case 0:
		g.raw(byte(wasm.OpRefNull), byte(wasm.Funcref))
	case 1:
		g.on(wasm.OpRefFunc, uint32(2+g.below(g.exported())))
	default:
		g.tableIndex()
		g.on(wasm.OpTableGet, 0)
	}
}

// exported is the number of functions that are exported, hence declared.
func (g *generator) exported() int {
	if g.m.Start != nil {
		return len(g.m.Functions) - 1
	}
	return len(g.m.Functions)
}

func (g *generator) tableIndex() {
	g.value(tI32, 1)
	if !g.one(8) {
		g.i32(3)
		g.op(0x71) // i32.and
	}
}

// blockType is the type of a block that takes and gives these.
func (g *generator) blockType(params, results []wasm.ValueType) wasm.BlockType {
	if len(params) == 0 && len(results) == 0 {
		return wasm.Empty
	}
	if len(params) == 0 && len(results) == 1 {
		return wasm.BlockType(results[0]) - 0x80
	}
	g.m.Types = append(g.m.Types, wasm.FuncType{Params: params, Results: results})
	return wasm.BlockType(len(g.m.Types) - 1)
}

func (g *generator) valueBlock(t wasm.ValueType, depth int) {
	op := pick(g.source, wasm.OpBlock, wasm.OpLoop, wasm.OpIf)
	g.structured(op, []wasm.ValueType{t}, depth)
}
