package binary

import "encoding/binary"

// AppendUnsigned appends the number as unsigned LEB128, in as few bytes as it
// takes.
func AppendUnsigned(b []byte, n uint32) []byte {
	for n >= 0x80 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}

// AppendSigned appends the number as signed LEB128, in as few bytes as it takes.
func AppendSigned(b []byte, n int64) []byte {
	for n < -64 || n > 63 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n)&0x7f)
}

// AppendOp appends an instruction without what follows it.
func AppendOp(b []byte, op Op) []byte {
	switch op >> 8 {
	case 0xfc:
		return append(b, 0xfc, byte(op))
	case 0xfd:
		return AppendUnsigned(append(b, 0xfd), uint32(op&0xff))
	}
	return append(b, byte(op))
}

// AppendIndexed appends an instruction with the one index, label or local behind
// it.
func AppendIndexed(b []byte, op Op, index uint32) []byte {
	return AppendUnsigned(AppendOp(b, op), index)
}

// AppendBlock appends a block, loop or if of the type.
func AppendBlock(b []byte, op Op, kind BlockType) []byte {
	return AppendSigned(AppendOp(b, op), int64(kind))
}

// AppendI32 appends an i32.const.
func AppendI32(b []byte, n int32) []byte {
	return AppendSigned(append(b, byte(OpI32Const)), int64(n))
}

// AppendI64 appends an i64.const.
func AppendI64(b []byte, n int64) []byte {
	return AppendSigned(append(b, byte(OpI64Const)), n)
}

func appendName(b []byte, name string) []byte {
	return append(AppendUnsigned(b, uint32(len(name))), name...)
}

// appendConst appends a constant expression with its end.
func appendConst(b []byte, c Const) []byte {
	b = AppendOp(b, c.Op)
	switch c.Op {
	case OpI32Const:
		b = AppendSigned(b, int64(int32(c.Value)))
	case OpI64Const:
		b = AppendSigned(b, int64(c.Value))
	case OpF32Const:
		b = binary.LittleEndian.AppendUint32(b, uint32(c.Value))
	case OpF64Const:
		b = binary.LittleEndian.AppendUint64(b, c.Value)
	case OpV128Const:
		b = binary.LittleEndian.AppendUint64(b, c.Value)
		b = binary.LittleEndian.AppendUint64(b, c.High)
	case OpRefNull:
		b = append(b, byte(c.Value))
	default:
		b = AppendUnsigned(b, uint32(c.Value))
	}
	return append(b, byte(OpEnd))
}
