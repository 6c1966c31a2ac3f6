package binary

import "encoding/binary"

// Const is a constant expression: one instruction of t.const, global.get,
// ref.null or ref.func.
type Const struct {
	Op    Op
	Value uint64 // the bits of the constant, the low half of a v128, or the index
	High  uint64 // of a v128
}

// quoted is a name in an error, cut to a sensible length.
func quoted(name string) string {
	const most = 64
	if len(name) > most {
		name = name[:most] + "..."
	}
	return `"` + name + `"`
}

// constant reads an expression that must give a value of the type.
func (d *decoder) constant(want ValueType) Const {
	at := d.pos
	var c Const
	var got ValueType
	op := d.byte()
	switch c.Op = Op(op); c.Op {
	case OpI32Const:
		c.Value, got = uint64(uint32(d.signed(32))), I32
	case OpI64Const:
		c.Value, got = uint64(d.signed(64)), I64
	case OpF32Const:
		c.Value, got = uint64(d.fixed32()), F32
	case OpF64Const:
		c.Value, got = d.fixed64(), F64
	case OpGlobalGet:
		c.Value, got = d.constantGlobal()
	case OpRefNull:
		got = d.referenceType()
		c.Value = uint64(got)
	case OpRefFunc:
		index := d.index("function", d.m.FunctionCount())
		d.declare(index)
		c.Value, got = uint64(index), Funcref
	case 0xfd:
		if sub := d.u32(); sub != uint32(OpV128Const&0xff) && !d.failed() {
			d.fail(at, "instruction 0xfd %#x is not constant", sub)
		}
		c.Op = OpV128Const
		c.Value, c.High, got = d.fixed64(), d.fixed64(), V128
	default:
		d.notConstant(at, op)
	}
	switch next := d.byte(); {
	case d.failed():
	case Op(next) != OpEnd:
		d.notConstant(d.pos-1, next)
	case got != want:
		d.fail(at, "a constant expression of type %s where one of %s is expected", got, want)
	}
	return c
}

// constantGlobal reads the global of a global.get: imported and immutable.
func (d *decoder) constantGlobal() (index uint64, t ValueType) {
	at := d.pos
	global := d.index("global", d.m.GlobalCount())
	switch {
	case d.failed():
		return 0, 0
	case int(global) >= d.m.Imported(KindGlobal):
		d.fail(at, "a constant expression of global %d, which is not imported", global)
	case d.m.GlobalType(global).Mutable:
		d.fail(at, "a constant expression of the mutable global %d", global)
	}
	return uint64(global), d.m.GlobalType(global).Type
}

func (d *decoder) notConstant(at int, op byte) {
	if d.failed() {
		return
	}
	switch op {
	case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e: // add, sub and mul of i32 and i64
		d.unsupported(at, proposalConst, "instruction %#x in a constant expression", op)
	case byte(OpI32Const), byte(OpI64Const), byte(OpGlobalGet):
		d.unsupported(at, proposalConst, "several instructions in a constant expression")
	default:
		d.fail(at, "instruction %#x is not constant, or too many for a constant expression", op)
	}
}

func (d *decoder) fixed32() uint32 {
	if b := d.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) fixed64() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) globalType() GlobalType {
	t := GlobalType{Type: d.valueType()}
	at := d.pos
	mutable := d.byte()
	if mutable > 1 {
		if mutable <= 3 {
			d.unsupported(at, proposalThreads, "a shared global")
		}
		d.fail(at, "unknown mutability %#x", mutable)
	}
	t.Mutable = mutable == 1
	return t
}

func (d *decoder) globalSection() {
	at := d.pos
	n := d.count("globals", d.limits.Globals, "Globals")
	globals := some[Global](n)
	if total := n + d.m.GlobalCount(); total > d.limits.Globals {
		d.exceed(at, "globals", int64(total), int64(d.limits.Globals), "Globals", "")
	}
	for i := range globals {
		if d.failed() {
			return
		}
		globals[i].GlobalType = d.globalType()
		globals[i].Init = d.constant(globals[i].Type)
	}
	d.m.Globals = globals
}
