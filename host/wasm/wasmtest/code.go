package wasmtest

import "strings"

// Instructions without operands in the code, and openers of blocks.
const (
	Unreachable = "\x00"
	Block       = "\x02\x40" // no result
	Loop        = "\x03\x40" // no result
	If          = "\x04\x40" // no result
	IfI32       = "\x04\x7f" // leaves one i32
	Else        = "\x05"
	Return      = "\x0f"
	End         = "\x0b"
	Drop        = "\x1a"
	Size        = "\x3f\x00" // memory.size
	Grow        = "\x40\x00" // memory.grow
	Eqz         = "\x45"
	Eq          = "\x46"
	Add         = "\x6a"
	Sub         = "\x6b"
	Mul         = "\x6c"
	Or64        = "\x84"
	Shl64       = "\x86"
	Extend      = "\xad" // i64.extend_i32_u
	Load8       = "\x2d\x00\x00"
	Store8      = "\x3a\x00\x00"
	Store       = "\x36\x02\x00"
	Load        = "\x28\x02\x00"
	Load64      = "\x29\x00\x00" // at any address
	Store64     = "\x37\x00\x00" // at any address
	Eq64        = "\x51"
	Xor64       = "\x85"
	Less        = "\x49"             // i32.lt_u
	Copy        = "\xfc\x0a\x00\x00" // memory.copy: to, from, length
	Fill        = "\xfc\x0b\x00"     // memory.fill: to, value, length
	TableFill   = "\xfc\x11\x00"     // of table 0: from, value, length
	TableCopy   = "\xfc\x0e\x00\x00" // of table 0: to, from, length
	TableInit   = "\xfc\x0c\x00\x00" // of segment 0 and table 0: to, from, length
	ElemDrop    = "\xfc\x0d\x00"     // of segment 0
	DataDrop    = "\xfc\x09\x00"     // of segment 0
	DataInit    = "\xfc\x08\x00\x00" // memory.init of segment 0: to, from, length
	NullFunc    = "\xd0\x70"         // ref.null func
	NullExtern  = "\xd0\x6f"         // ref.null extern
	LessS       = "\x48"
	GreaterU    = "\x4b"
	DivS        = "\x6d"
)

// Const is i32.const.
func Const(n int32) string { return "\x41" + string(sleb(int64(n))) }

// Const64 is i64.const.
func Const64(n int64) string { return "\x42" + string(sleb(n)) }

// Get is local.get.
func Get(local uint32) string { return "\x20" + string(leb(local)) }

// Set is local.set.
func Set(local uint32) string { return "\x21" + string(leb(local)) }

// Tee is local.tee.
func Tee(local uint32) string { return "\x22" + string(leb(local)) }

// GetGlobal is global.get.
func GetGlobal(global uint32) string { return "\x23" + string(leb(global)) }

// SetGlobal is global.set.
func SetGlobal(global uint32) string { return "\x24" + string(leb(global)) }

// Call is call.
func Call(function uint32) string { return "\x10" + string(leb(function)) }

// CallIndirect calls through table 0 a function of a type, which Module.Type
// numbers.
func CallIndirect(kind uint32) string { return "\x11" + string(leb(kind)) + "\x00" }

// TableGrow is table.grow of table 0.
func TableGrow() string { return "\xfc\x0f\x00" }

// TableSet is table.set of table 0.
func TableSet() string { return "\x26\x00" }

// Br is br.
func Br(depth uint32) string { return "\x0c" + string(leb(depth)) }

// BrIf is br_if.
func BrIf(depth uint32) string { return "\x0d" + string(leb(depth)) }

// BrTable is br_table to as many labels of depth 0, and 0 by default.
func BrTable(targets int) string {
	return "\x0e" + string(leb(uint32(targets))) + strings.Repeat("\x00", targets+1)
}

// Code joins instructions.
func Code(code ...string) string { return strings.Join(code, "") }

// Answer leaves ptr<<32 | len of two i32 expressions.
func Answer(ptr, length string) string {
	return Code(ptr, Extend, Const64(32), Shl64, length, Extend, Or64)
}
