package binary

import (
	"fmt"
	"strings"
)

// A ValueType is the type of a value, as its byte in the format.
type ValueType byte

// The value types of WebAssembly 2.0.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	Funcref   ValueType = 0x70
	Externref ValueType = 0x6f
)

func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case Funcref:
		return "funcref"
	case Externref:
		return "externref"
	}
	return fmt.Sprintf("type %#x", byte(t))
}

// Reference says whether values of the type are references.
func (t ValueType) Reference() bool { return t == Funcref || t == Externref }

// FuncType is the type of a function.
type FuncType struct {
	Params, Results []ValueType
}

// String is the type as in "(i32,i32)->(i64)".
func (t FuncType) String() string {
	return "(" + joined(t.Params) + ")->(" + joined(t.Results) + ")"
}

func joined(types []ValueType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.String()
	}
	return strings.Join(names, ",")
}

// BlockType is the type of a block: the index of a function type when it is not
// negative, else Empty or the one result.
type BlockType int32

// Empty is the type of a block without parameters and results.
const Empty BlockType = -64

// Result is the value type of a block with one result; ok is false for others.
func (t BlockType) Result() (result ValueType, ok bool) {
	return ValueType(t & 0x7f), t < 0 && t != Empty
}

// Kind is what an import or export is.
type Kind byte

// The kinds, as their bytes in the format.
const (
	KindFunction Kind = iota
	KindTable
	KindMemory
	KindGlobal
)

func (k Kind) String() string {
	switch k {
	case KindFunction:
		return "function"
	case KindTable:
		return "table"
	case KindMemory:
		return "memory"
	case KindGlobal:
		return "global"
	}
	return fmt.Sprintf("kind %d", byte(k))
}
