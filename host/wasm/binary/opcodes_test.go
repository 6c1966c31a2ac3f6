package binary_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/wasm/binary"
)

// instruction is an opcode with operands that are right for it.
type instruction struct {
	op     binary.Op
	bytes  string
	prefix string // of instructions it needs before it
	suffix string
}

// operandsOf are the operands of instructions that have any.
func operandsOf() map[binary.Op]string {
	operands := map[binary.Op]string{
		binary.OpBlock: "\x40", binary.OpLoop: "\x40", binary.OpIf: "\x40",
		binary.OpBr: "\x00", binary.OpBrIf: "\x00", binary.OpBrTable: "\x01\x00\x00",
		binary.OpCall: "\x00", binary.OpCallIndirect: "\x00\x00", binary.OpSelectType: "\x01\x7f",
		binary.OpLocalGet: "\x00", binary.OpLocalSet: "\x01", binary.OpLocalTee: "\x01",
		binary.OpGlobalGet: "\x00", binary.OpGlobalSet: "\x00", binary.OpTableGet: "\x00", binary.OpTableSet: "\x01",
		binary.OpMemorySize: "\x00", binary.OpMemoryGrow: "\x00",
		binary.OpI32Const: "\x7f", binary.OpI64Const: "\x7f",
		binary.OpF32Const: "1234", binary.OpF64Const: "12345678", binary.OpV128Const: "0123456789abcdef",
		binary.OpRefNull: "\x6f", binary.OpRefFunc: "\x00",
		binary.OpMemoryInit: "\x00\x00", binary.OpDataDrop: "\x00", binary.OpMemoryCopy: "\x00\x00", binary.OpMemoryFill: "\x00",
		binary.OpTableInit: "\x00\x00", binary.OpElemDrop: "\x00", binary.OpTableCopy: "\x01\x01",
		binary.OpTableGrow: "\x00", binary.OpTableSize: "\x01", binary.OpTableFill: "\x01",
		0xfd0d: "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x1a\x1b\x1c\x1d\x1e\x1f", // i8x16.shuffle
	}
	address := func(from, to binary.Op, more string) {
		for op := from; op <= to; op++ {
			operands[op] = "\x00\x08" + more
		}
	}
	address(0x28, 0x3e, "")
	address(0xfd00, 0xfd0b, "")
	address(0xfd54, 0xfd5b, "\x01") // with a lane
	address(0xfd5c, 0xfd5d, "")
	for op := binary.Op(0xfd15); op <= 0xfd22; op++ {
		operands[op] = "\x01" // a lane
	}
	return operands
}

// everyInstruction makes one of each opcode, known or not.
func everyInstruction() []instruction {
	operands := operandsOf()
	var all []instruction
	add := func(op binary.Op, bytes string) {
		i := instruction{op: op, bytes: bytes + operands[op]}
		switch op {
		case binary.OpBlock, binary.OpLoop, binary.OpIf:
			i.suffix = "\x0b"
		case binary.OpElse, binary.OpEnd:
			i.prefix, i.suffix = "\x41\x00\x04\x40", "\x0b"
			if op == binary.OpEnd {
				i.suffix = ""
			}
		}
		all = append(all, i)
	}
	for op := range binary.Op(0xfb) {
		add(op, string([]byte{byte(op)}))
	}
	for _, op := range []byte{0xfb, 0xfe, 0xff} {
		add(binary.Op(op), string([]byte{op, 0}))
	}
	for sub := range uint32(64) {
		add(0xfc00|binary.Op(sub), "\xfc"+string(binary.AppendUnsigned(nil, sub)))
	}
	for sub := range uint32(256) {
		add(0xfd00|binary.Op(sub), "\xfd"+string(binary.AppendUnsigned(nil, sub)))
	}
	return all
}

// TestEveryOpcode puts each opcode where any operands may come from, behind an
// unreachable. What the decoder takes, the compiler takes; what it does not take
// is not of WebAssembly 2.0; and it sees the instruction that is there.
func TestEveryOpcode(t *testing.T) {
	taken := make(map[binary.Op]int) // by prefix
	for _, i := range everyInstruction() {
		wasm := around("\x00" + i.prefix + i.bytes + i.suffix + "\x00\x0b")
		m, err := binary.Decode([]byte(wasm), binary.DefaultLimits())
		if got, want := err == nil, compiles(t, []byte(wasm)); got != want {
			t.Errorf("instruction %#x: decoded %t, compiled %t: %v", i.op, got, want, err)
		}
		if err != nil {
			continue
		}
		taken[i.op&0xff00]++
		var seen []binary.Op
		for _, instr := range m.Bodies[0].Instructions(nil) {
			seen = append(seen, instr.Op)
		}
		if !slices.Contains(seen, i.op) {
			t.Errorf("instruction %#x was seen as %#x", i.op, seen)
		}
		if string(m.Bodies[0].Code) != "\x00"+i.prefix+i.bytes+i.suffix+"\x00\x0b" {
			t.Errorf("instruction %#x was written as %x", i.op, m.Bodies[0].Code)
		}
	}
	// Control 13, parametric 3, variables and tables 7, memory 25, constants 4,
	// numeric 128, references 3.
	want := map[binary.Op]int{0: 183, 0xfc00: 18, 0xfd00: 236}
	for prefix, n := range want {
		if taken[prefix] != n {
			t.Errorf("%d instructions behind %#x, want %d", taken[prefix], prefix, n)
		}
	}
}

// Operands that are out of their range are refused where they stand.
func TestOperandsAreChecked(t *testing.T) {
	tests := []struct{ name, body, text string }{
		{"local", "\x20\x02", "local 2 does not exist"},
		{"global", "\x23\x01", "global 1 does not exist"},
		{"global set", "\x24\x01", "global 1 does not exist"},
		{"function", "\x10\x01", "function 1 does not exist"},
		{"type", "\x11\x02\x00", "type 2 does not exist"},
		{"table of a call", "\x11\x00\x02", "table 2 does not exist"},
		{"table get", "\x25\x02", "table 2 does not exist"},
		{"table set", "\x26\x02", "table 2 does not exist"},
		{"table size", "\xfc\x10\x02", "table 2 does not exist"},
		{"table fill", "\xfc\x11\x02", "table 2 does not exist"},
		{"table grow", "\xfc\x0f\x02", "table 2 does not exist"},
		{"table copy to", "\xfc\x0e\x02\x00", "table 2 does not exist"},
		{"table copy from", "\xfc\x0e\x00\x02", "table 2 does not exist"},
		{"table init segment", "\xfc\x0c\x01\x00", "element segment 1 does not exist"},
		{"table init table", "\xfc\x0c\x00\x02", "table 2 does not exist"},
		{"elem drop", "\xfc\x0d\x01", "element segment 1 does not exist"},
		{"data drop", "\xfc\x09\x01", "data segment 1 does not exist"},
		{"memory init", "\xfc\x08\x01\x00", "data segment 1 does not exist"},
		{"memory init of a memory", "\xfc\x08\x00\x01", "memory 1: multi-memory"},
		{"memory copy to", "\xfc\x0a\x01\x00", "memory 1: multi-memory"},
		{"memory copy from", "\xfc\x0a\x00\x01", "memory 1: multi-memory"},
		{"memory fill", "\xfc\x0b\x01", "memory 1: multi-memory"},
		{"memory size", "\x3f\x01", "memory 1: multi-memory"},
		{"memory grow", "\x40\x80", "memory 128: multi-memory"},
		{"memory index in an address", "\x28\x42\x00\x00", "an access with a memory index: multi-memory"},
		{"alignment", "\x28\x03\x00", "an alignment of 2^3, the access has 2^2 bytes"},
		{"alignment of a store", "\x3a\x01\x00", "an alignment of 2^1, the access has 2^0 bytes"},
		{"alignment of a vector", "\xfd\x00\x05\x00", "an alignment of 2^5, the access has 2^4 bytes"},
		{"alignment of a lane", "\xfd\x55\x02\x00\x00", "an alignment of 2^2, the access has 2^1 bytes"},
		{"large offset", "\x28\x00\xff\xff\xff\xff\x1f", "number does not fit 32 bits"},
		{"lane of 16", "\xfd\x15\x10", "lane 16 of 16"},
		{"lane of 8", "\xfd\x18\x08", "lane 8 of 8"},
		{"lane of 4", "\xfd\x1b\x04", "lane 4 of 4"},
		{"lane of 2", "\xfd\x1d\x02", "lane 2 of 2"},
		{"lane of a load", "\xfd\x57\x00\x00\x02", "lane 2 of 2"},
		{"lane of a shuffle", "\xfd\x0d" + strings.Repeat("\x00", 15) + "\x20", "lane 32 of 32"},
		{"label", "\x0c\x01", "label 1 does not exist"},
		{"label of br_if", "\x02\x40\x0d\x02\x0b", "label 2 does not exist"},
		{"label of br_table", "\x0e\x01\x00\x01", "label 1 does not exist"},
		{"default of br_table", "\x0e\x00\x01", "label 1 does not exist"},
		{"br_table beyond its body", "\x0e\x7f\x00", "127 labels in a br_table announced"},
		{"block type", "\x02\x02\x0b", "type 2 does not exist"},
		{"negative block type", "\x02\xbf\x7f\x0b", "type -65 does not exist"},
		{"long empty block type", "\x02\xc0\x7f\x0b", "type -64 does not exist"},
		{"unknown block type", "\x02\x41\x0b", "value type 0x41 is unknown"},
		{"reference type of null", "\xd0\x7f", "reference type 0x7f is unknown"},
		{"heap type of null", "\xd0\x6e", "garbage collection types is not supported"},
		{"select of two", "\x1c\x02\x7f\x7f", "a select of 2 types"},
		{"select of none", "\x1c\x00", "a select of 0 types"},
		{"i32 of 33 bits", "\x41\xff\xff\xff\xff\x0f", "number does not fit 32 bits"},
		{"i32 of six bytes", "\x41\x80\x80\x80\x80\x80\x00", "number does not fit 32 bits"},
		{"i64 of 65 bits", "\x42\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "number does not fit 64 bits"},
		{"else without if", "\x05", "an else without an if"},
		{"else twice", "\x41\x00\x04\x40\x05\x05\x0b", "an else without an if"},
		{"else of a block", "\x02\x40\x05\x0b", "an else without an if"},
		{"end too early", "\x0b\x01", "2 bytes too many in the function, behind its end"},
		{"float that is cut", "\x43\x00\x00", "4 bytes announced, 3 are there"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := refusal(t, around(test.body+"\x0b"), binary.DefaultLimits())
			if !strings.Contains(err.Error(), test.text) || !strings.HasPrefix(err.Error(), "code, function 0 section at byte ") {
				t.Errorf("got %q", err)
			}
		})
	}
}

// Each proposal beyond 2.0 is refused by its name.
func TestProposalsAreRefusedByName(t *testing.T) {
	type test struct{ proposal, wasm string }
	tests := []test{
		{"components", "\x00asm\x0d\x00\x01\x00"},
		{"exception handling", header + section(13, "\x00")},
		{"exception handling", header + section(2, vector("\x01a\x01b\x04\x00\x00"))},
		{"exception handling", header + section(7, vector("\x01a\x04\x00"))},
		{"exception handling", header + section(1, vector("\x60\x01\x69\x00"))},
		{"memory64", header + section(5, vector("\x04\x01"))},
		{"memory64", header + section(4, vector("\x70\x05\x01\x01"))},
		{"custom page sizes", header + section(5, vector("\x08\x01\x00"))},
		{"threads", header + section(5, vector("\x03\x01\x01"))},
		{"threads", header + section(4, vector("\x70\x03\x01\x01"))},
		{"threads", header + section(6, vector("\x7f\x02\x41\x00\x0b"))},
		{"multi-memory", header + section(5, vector("\x00\x01", "\x00\x01"))},
		{"multi-memory", header + section(2, vector("\x01a\x01b\x02\x00\x01")) + section(5, vector("\x00\x01"))},
		{"multi-memory", header + section(2, vector("\x01a\x01b\x02\x00\x01", "\x01a\x01c\x02\x00\x01"))},
		{"multi-memory", header + section(5, vector("\x00\x01")) + section(11, vector("\x02\x01\x41\x00\x0b\x00"))},
		{"typed function references", header + section(1, vector("\x60\x01\x63\x00\x00"))},
		{"typed function references", header + section(4, vector("\x40\x00\x70\x00\x01\xd0\x70\x0b"))},
		{"garbage collection types", header + section(1, vector("\x5f\x00"))},
		{"garbage collection types", header + section(1, vector("\x4e\x01\x60\x00\x00"))},
		{"garbage collection types", header + section(1, vector("\x60\x01\x6e\x00"))},
		{"stack switching", header + section(1, vector("\x5d\x00"))},
		{"extended constant expressions", header + section(6, vector("\x7f\x00\x41\x00\x41\x00\x6a\x0b"))},
		{"extended constant expressions", header + section(6, vector("\x7e\x00\x42\x00\x42\x00\x7d\x0b"))},
	}
	for op, proposal := range map[string]string{
		"\x06\x40": "exception handling", "\x07\x00": "exception handling", "\x08\x00": "exception handling",
		"\x09\x00": "exception handling", "\x0a": "exception handling", "\x18\x00": "exception handling",
		"\x19": "exception handling", "\x1f\x40\x00": "exception handling",
		"\x12\x00": "tail calls", "\x13\x00\x00": "tail calls",
		"\x14\x00": "typed function references", "\x15\x00": "typed function references", "\xd3": "typed function references",
		"\xd4": "typed function references", "\xd5\x00": "typed function references", "\xd6\x00": "typed function references",
		"\xe0\x00": "stack switching", "\xfb\x00\x00": "garbage collection types", "\xfe\x00\x02\x00": "threads",
		"\xfd\x80\x02": "relaxed SIMD", "\xfd\x93\x02": "relaxed SIMD",
		"\xfc\x12\x00": "memory control", "\xfc\x13": "wide arithmetic",
	} {
		tests = append(tests, test{proposal, around(op + "\x0b")})
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s %x", test.proposal, test.wasm[max(0, len(test.wasm)-24):]), func(t *testing.T) {
			err := refusal(t, test.wasm, binary.DefaultLimits())
			if err.Proposal != test.proposal || err.Fix == "" || !strings.Contains(err.Error(), err.Fix) {
				t.Errorf("got %+v", err)
			}
		})
	}
}
