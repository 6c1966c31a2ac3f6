package binary

// An Op is an instruction: its byte, or 0xfc00 or 0xfd00 and its number behind
// that prefix.
type Op uint16

// The instructions that other packages tell apart or write.
const (
	OpUnreachable  Op = 0x00
	OpNop          Op = 0x01
	OpBlock        Op = 0x02
	OpLoop         Op = 0x03
	OpIf           Op = 0x04
	OpElse         Op = 0x05
	OpEnd          Op = 0x0b
	OpBr           Op = 0x0c
	OpBrIf         Op = 0x0d
	OpBrTable      Op = 0x0e
	OpReturn       Op = 0x0f
	OpCall         Op = 0x10
	OpCallIndirect Op = 0x11
	OpDrop         Op = 0x1a
	OpSelect       Op = 0x1b
	OpSelectType   Op = 0x1c
	OpLocalGet     Op = 0x20
	OpLocalSet     Op = 0x21
	OpLocalTee     Op = 0x22
	OpGlobalGet    Op = 0x23
	OpGlobalSet    Op = 0x24
	OpTableGet     Op = 0x25
	OpTableSet     Op = 0x26
	OpMemorySize   Op = 0x3f
	OpMemoryGrow   Op = 0x40
	OpI32Const     Op = 0x41
	OpI64Const     Op = 0x42
	OpF32Const     Op = 0x43
	OpF64Const     Op = 0x44
	OpI32LtU       Op = 0x49
	OpI32GtU       Op = 0x4b
	OpI32LeU       Op = 0x4d
	OpI64LtS       Op = 0x53
	OpI64LtU       Op = 0x54
	OpI64GeS       Op = 0x59
	OpI32Add       Op = 0x6a
	OpI32Sub       Op = 0x6b
	OpI32DivS      Op = 0x6d
	OpI32RemU      Op = 0x70
	OpI32Or        Op = 0x72
	OpI64Add       Op = 0x7c
	OpI64Sub       Op = 0x7d
	OpI64DivS      Op = 0x7f
	OpI64RemU      Op = 0x82
	OpI64Shl       Op = 0x86
	OpI64ShrU      Op = 0x88
	OpF32Sqrt      Op = 0x91
	OpF32Div       Op = 0x95
	OpF64Sqrt      Op = 0x9f
	OpF64Div       Op = 0xa3
	OpI64ExtendU   Op = 0xad // i64.extend_i32_u
	OpRefNull      Op = 0xd0
	OpRefIsNull    Op = 0xd1
	OpRefFunc      Op = 0xd2
	OpMemoryInit   Op = 0xfc08
	OpDataDrop     Op = 0xfc09
	OpMemoryCopy   Op = 0xfc0a
	OpMemoryFill   Op = 0xfc0b
	OpTableInit    Op = 0xfc0c
	OpElemDrop     Op = 0xfc0d
	OpTableCopy    Op = 0xfc0e
	OpTableGrow    Op = 0xfc0f
	OpTableSize    Op = 0xfc10
	OpTableFill    Op = 0xfc11
	OpV128Const    Op = 0xfd0c
	OpF32x4Sqrt    Op = 0xfde3
	OpF32x4Div     Op = 0xfde7
	OpF64x2Sqrt    Op = 0xfdef
	OpF64x2Div     Op = 0xfdf3
)

// A form is what follows an opcode.
type form byte

const (
	none    form = iota // no such instruction
	plain               // nothing
	block               // a block type
	orElse              // nothing; else
	end                 // nothing; end
	label               // a label
	labels              // br_table
	fn                  // a function
	through             // a type and a table: call_indirect
	typed               // a vector of one value type: select
	local               // a local
	global              // a global
	table               // a table
	tset                // a table that is written to: table.set
	tables              // two tables
	tgrow               // a table that may grow
	mem0                // an alignment of at most 2^0 and an offset
	mem1
	mem2
	mem3
	mem4
	memory // the memory: 0x00
	memtwo // the memory twice
	minit  // a data segment and the memory
	data   // a data segment
	tinit  // an element segment and a table
	elem   // an element segment
	c32    // an i32, signed LEB128
	c64    // an i64
	f32b   // 4 bytes
	f64b   // 8 bytes
	v128b  // 16 bytes
	mix    // 16 lanes below 32: i8x16.shuffle
	null   // a reference type
	ref    // a declared function: ref.func
	lane16 // a lane below 16
	lane8
	lane4
	lane2
	mlane0 // an alignment of at most 2^0, an offset, a lane below 16
	mlane1 // below 8
	mlane2 // below 4
	mlane3 // below 2
	bulk   // prefix 0xfc
	simd   // prefix 0xfd
)

// forms is the opcode map, eight to a row.
var forms = [256]form{
	0x00: plain, plain, block, block, block, orElse, none, none,
	0x08: none, none, none, end, label, label, labels, plain,
	0x10: fn, through,
	0x1a: plain, plain, typed,
	0x20: local, local, local, global, global, table, tset, none,
	0x28: mem2, mem3, mem2, mem3, mem0, mem0, mem1, mem1,
	0x30: mem0, mem0, mem1, mem1, mem2, mem2, mem2, mem3,
	0x38: mem2, mem3, mem0, mem1, mem0, mem1, mem2, memory,
	0x40: memory, c32, c64, f32b, f64b, plain, plain, plain,
	0x48: plain, plain, plain, plain, plain, plain, plain, plain,
	0x50: plain, plain, plain, plain, plain, plain, plain, plain,
	0x58: plain, plain, plain, plain, plain, plain, plain, plain,
	0x60: plain, plain, plain, plain, plain, plain, plain, plain,
	0x68: plain, plain, plain, plain, plain, plain, plain, plain,
	0x70: plain, plain, plain, plain, plain, plain, plain, plain,
	0x78: plain, plain, plain, plain, plain, plain, plain, plain,
	0x80: plain, plain, plain, plain, plain, plain, plain, plain,
	0x88: plain, plain, plain, plain, plain, plain, plain, plain,
	0x90: plain, plain, plain, plain, plain, plain, plain, plain,
	0x98: plain, plain, plain, plain, plain, plain, plain, plain,
	0xa0: plain, plain, plain, plain, plain, plain, plain, plain,
	0xa8: plain, plain, plain, plain, plain, plain, plain, plain,
	0xb0: plain, plain, plain, plain, plain, plain, plain, plain,
	0xb8: plain, plain, plain, plain, plain, plain, plain, plain,
	0xc0: plain, plain, plain, plain, plain,
	0xd0: null, plain, ref,
	0xfc: bulk, simd,
}

// bulkForms is the map behind the prefix 0xfc.
var bulkForms = [18]form{
	0x00: plain, plain, plain, plain, plain, plain, plain, plain,
	0x08: minit, data, memtwo, memory, tinit, elem, tables, tgrow,
	0x10: table, table,
}

// simdForms is the map behind the prefix 0xfd. Its holes are what the proposal
// left out before it was finished.
var simdForms = [256]form{
	0x00: mem4, mem3, mem3, mem3, mem3, mem3, mem3, mem0,
	0x08: mem1, mem2, mem3, mem4, v128b, mix, plain, plain,
	0x10: plain, plain, plain, plain, plain, lane16, lane16, lane16,
	0x18: lane8, lane8, lane8, lane4, lane4, lane2, lane2, lane4,
	0x20: lane4, lane2, lane2, plain, plain, plain, plain, plain,
	0x28: plain, plain, plain, plain, plain, plain, plain, plain,
	0x30: plain, plain, plain, plain, plain, plain, plain, plain,
	0x38: plain, plain, plain, plain, plain, plain, plain, plain,
	0x40: plain, plain, plain, plain, plain, plain, plain, plain,
	0x48: plain, plain, plain, plain, plain, plain, plain, plain,
	0x50: plain, plain, plain, plain, mlane0, mlane1, mlane2, mlane3,
	0x58: mlane0, mlane1, mlane2, mlane3, mem2, mem3, plain, plain,
	0x60: plain, plain, plain, plain, plain, plain, plain, plain,
	0x68: plain, plain, plain, plain, plain, plain, plain, plain,
	0x70: plain, plain, plain, plain, plain, plain, plain, plain,
	0x78: plain, plain, plain, plain, plain, plain, plain, plain,
	0x80: plain, plain, plain, plain, plain, plain, plain, plain,
	0x88: plain, plain, plain, plain, plain, plain, plain, plain,
	0x90: plain, plain, plain, plain, plain, plain, plain, plain,
	0x98: plain, plain, none, plain, plain, plain, plain, plain,
	0xa0: plain, plain, none, plain, plain, none, none, plain,
	0xa8: plain, plain, plain, plain, plain, plain, plain, none,
	0xb0: none, plain, none, none, none, plain, plain, plain,
	0xb8: plain, plain, plain, none, plain, plain, plain, plain,
	0xc0: plain, plain, none, plain, plain, none, none, plain,
	0xc8: plain, plain, plain, plain, plain, plain, plain, none,
	0xd0: none, plain, none, none, none, plain, plain, plain,
	0xd8: plain, plain, plain, plain, plain, plain, plain, plain,
	0xe0: plain, plain, none, plain, plain, plain, plain, plain,
	0xe8: plain, plain, plain, plain, plain, plain, none, plain,
	0xf0: plain, plain, plain, plain, plain, plain, plain, plain,
	0xf8: plain, plain, plain, plain, plain, plain, plain, plain,
}

// opcodeProposal names the proposal that a one-byte opcode belongs to, empty for
// one nobody took.
func opcodeProposal(op byte) string {
	switch {
	case op >= 0x06 && op <= 0x0a, op == 0x18, op == 0x19, op == 0x1f:
		return proposalExceptions
	case op == 0x12 || op == 0x13:
		return proposalTailCalls
	case op == 0x14 || op == 0x15 || op >= 0xd3 && op <= 0xd6:
		return proposalFunctionRef
	case op >= 0xe0 && op <= 0xe6:
		return proposalSwitching
	case op == 0xfb:
		return proposalGC
	case op == 0xfe:
		return proposalThreads
	}
	return ""
}

// bulkProposal is the same for numbers behind 0xfc.
func bulkProposal(sub uint32) string {
	switch {
	case sub == 0x12:
		return proposalControl
	case sub >= 0x13 && sub <= 0x16:
		return proposalWide
	}
	return ""
}

// typeProposal is the same for bytes where a value, reference or type form is
// expected.
func typeProposal(b byte) string {
	switch b {
	case 0x63, 0x64:
		return proposalFunctionRef
	case 0x69, 0x74:
		return proposalExceptions
	case 0x5d, 0x68, 0x75:
		return proposalSwitching
	case 0x4e, 0x4f, 0x50, 0x5e, 0x5f, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x71, 0x72, 0x73, 0x77, 0x78:
		return proposalGC
	}
	return ""
}
