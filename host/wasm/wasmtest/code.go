package wasmtest

import "strings"

// Instructions without operands in the code, and openers of blocks.
const (
	Unreachable = "\x00"
	Loop        = "\x03\x40" // no result
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
)

// Const is i32.const.
func Const(n int32) string { return "\x41" + string(sleb(int64(n))) }

// Const64 is i64.const.
func Const64(n int64) string { return "\x42" + string(sleb(n)) }

// Get is local.get.
func Get(local uint32) string { return "\x20" + string(leb(local)) }

// Set is local.set.
func Set(local uint32) string { return "\x21" + string(leb(local)) }

// GetGlobal is global.get.
func GetGlobal(global uint32) string { return "\x23" + string(leb(global)) }

// SetGlobal is global.set.
func SetGlobal(global uint32) string { return "\x24" + string(leb(global)) }

// Call is call.
func Call(function uint32) string { return "\x10" + string(leb(function)) }

// Br is br.
func Br(depth uint32) string { return "\x0c" + string(leb(depth)) }

// BrIf is br_if.
func BrIf(depth uint32) string { return "\x0d" + string(leb(depth)) }

// Code joins instructions.
func Code(code ...string) string { return strings.Join(code, "") }

// Answer leaves ptr<<32 | len of two i32 expressions.
func Answer(ptr, length string) string {
	return Code(ptr, Extend, Const64(32), Shl64, length, Extend, Or64)
}
