// Package wasmtest writes small WebAssembly modules for tests, instruction by
// instruction, and guests of the engine's ABI made of them.
package wasmtest

import (
	"slices"
	"strings"
)

// Value types.
const (
	I32       byte = 0x7f
	I64       byte = 0x7e
	F32       byte = 0x7d
	F64       byte = 0x7c
	V128      byte = 0x7b
	FuncRef   byte = 0x70
	ExternRef byte = 0x6f
)

// Module collects a module's parts. Imports come before functions.
type Module struct {
	types     [][]byte
	imports   [][]byte
	functions []uint32 // type index per defined function
	bodies    [][]byte
	memory    []byte
	table     []byte
	globals   [][]byte
	exports   [][]byte
	elements  [][]byte
	start     []byte
	data      [][]byte
	counted   bool // code names data segments, so their number comes before it
	custom    [][]byte
	names     [][]byte
}

// Types joins value types, as parameters, results or locals.
func Types(types ...byte) []byte { return types }

// Import declares a function import and answers its index.
func (m *Module) Import(module, name string, params, results []byte) uint32 {
	entry := append(text(module), text(name)...)
	entry = append(entry, 0)
	m.imports = append(m.imports, append(entry, leb(m.signature(params, results))...))
	return uint32(len(m.imports) - 1)
}

// Next is the index that the next function will have.
func (m *Module) Next() uint32 { return uint32(len(m.imports) + len(m.functions)) }

// Func defines a function and answers its index. A non-empty name exports it.
// The final end is added.
func (m *Module) Func(name string, params, results, locals []byte, code ...string) uint32 {
	index := uint32(len(m.imports) + len(m.functions))
	m.functions = append(m.functions, m.signature(params, results))
	body := leb(uint32(len(locals)))
	for _, local := range locals {
		body = append(body, 1, local)
	}
	body = append(append(body, strings.Join(code, "")...), 0x0b)
	m.bodies = append(m.bodies, append(leb(uint32(len(body))), body...))
	if name != "" {
		m.Export(name, 0, index)
		m.names = append(m.names, append(leb(index), text(name)...))
	}
	return index
}

// Export exports something of a kind: 0 function, 1 table, 2 memory, 3 global.
func (m *Module) Export(name string, kind byte, index uint32) {
	m.exports = append(m.exports, append(append(text(name), kind), leb(index)...))
}

// Memory defines and exports the memory, in pages; most 0 declares no maximum.
func (m *Module) Memory(least, most uint32) {
	if m.memory == nil {
		m.Export("memory", 2, 0)
	}
	m.memory = limits(least, most)
}

// Table defines a function table.
func (m *Module) Table(least, most uint32) { m.table = append([]byte{0x70}, limits(least, most)...) }

// Elements puts functions into the table at its start.
func (m *Module) Elements(at int32, functions ...uint32) {
	segment := append(append([]byte{0}, Const(at)...), 0x0b)
	segment = append(segment, leb(uint32(len(functions)))...)
	for _, function := range functions {
		segment = append(segment, leb(function)...)
	}
	m.elements = append(m.elements, segment)
}

// Type answers the number of a function type.
func (m *Module) Type(params, results []byte) uint32 { return m.signature(params, results) }

// Global defines a mutable i32 and answers its index.
func (m *Module) Global(value int32) uint32 { return m.GlobalOf(I32, Const(value)) }

// GlobalOf defines a mutable global of a type, with the code of its first value,
// and answers its index.
func (m *Module) GlobalOf(kind byte, value string) uint32 {
	m.globals = append(m.globals, append(append([]byte{kind, 1}, value...), 0x0b))
	return uint32(len(m.globals) - 1)
}

// Data puts bytes into the memory at its start.
func (m *Module) Data(at int32, bytes string) {
	segment := append(append([]byte{0}, Const(at)...), 0x0b)
	m.data = append(m.data, append(segment, text(bytes)...))
}

// Passive adds bytes that code may copy into the memory.
func (m *Module) Passive(bytes string) {
	m.data = append(m.data, append([]byte{1}, text(bytes)...))
	m.counted = true
}

// PassiveElements adds functions that code may copy into the table.
func (m *Module) PassiveElements(functions ...uint32) {
	segment := append([]byte{1, 0}, leb(uint32(len(functions)))...)
	for _, function := range functions {
		segment = append(segment, leb(function)...)
	}
	m.elements = append(m.elements, segment)
}

// Start makes a function the start function.
func (m *Module) Start(index uint32) { m.start = leb(index) }

// Custom appends a custom section.
func (m *Module) Custom(name string, data []byte) {
	m.custom = append(m.custom, append(text(name), data...))
}

// Bytes is the module in binary form.
func (m *Module) Bytes() []byte {
	wasm := []byte("\x00asm\x01\x00\x00\x00")
	vectors := func(id byte, items [][]byte) {
		if len(items) > 0 {
			wasm = append(wasm, Section(id, append(leb(uint32(len(items))), slices.Concat(items...)...))...)
		}
	}
	one := func(item []byte) [][]byte {
		if item == nil {
			return nil
		}
		return [][]byte{item}
	}
	var functions [][]byte
	for _, index := range m.functions {
		functions = append(functions, leb(index))
	}
	vectors(1, m.types)
	vectors(2, m.imports)
	vectors(3, functions)
	vectors(4, one(m.table))
	vectors(5, one(m.memory))
	vectors(6, m.globals)
	vectors(7, m.exports)
	if m.start != nil {
		wasm = append(wasm, Section(8, m.start)...)
	}
	vectors(9, m.elements)
	if m.counted {
		wasm = append(wasm, Section(12, leb(uint32(len(m.data))))...)
	}
	vectors(10, m.bodies)
	vectors(11, m.data)
	for _, custom := range m.custom {
		wasm = append(wasm, Section(0, custom)...)
	}
	if len(m.names) > 0 {
		names := append(leb(uint32(len(m.names))), slices.Concat(m.names...)...)
		wasm = append(wasm, Section(0, append(text("name"), Section(1, names)...))...)
	}
	return wasm
}

// Section is a section: id, length, content.
func Section(id byte, content []byte) []byte {
	return append(append([]byte{id}, leb(uint32(len(content)))...), content...)
}

func (m *Module) signature(params, results []byte) uint32 {
	entry := append([]byte{0x60}, leb(uint32(len(params)))...)
	entry = append(append(entry, params...), leb(uint32(len(results)))...)
	entry = append(entry, results...)
	for i, known := range m.types {
		if slices.Equal(known, entry) {
			return uint32(i)
		}
	}
	m.types = append(m.types, entry)
	return uint32(len(m.types) - 1)
}

func limits(least, most uint32) []byte {
	if most == 0 {
		return append([]byte{0}, leb(least)...)
	}
	return append(append([]byte{1}, leb(least)...), leb(most)...)
}

func text(s string) []byte { return append(leb(uint32(len(s))), s...) }

func leb(n uint32) []byte {
	var out []byte
	for n >= 0x80 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}

func sleb(n int64) []byte {
	var out []byte
	for n < -64 || n > 63 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n)&0x7f)
}
