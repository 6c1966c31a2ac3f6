package binary

import "slices"

// Module is a decoded module. Its byte slices alias the bytes it was decoded
// from, apart from the code, and are not to be changed.
//
// Functions, tables, memories and globals are numbered with the imported ones
// first. The fields Functions, Tables, Memories and Globals hold what the module
// defines; the methods take numbers.
type Module struct {
	Types     []FuncType
	Imports   []Import
	Functions []uint32 // the type of each defined function
	Tables    []Table
	Memories  []Memory // at most one, with an imported one
	Globals   []Global
	Exports   []Export
	Start     *uint32 // the start function, nil without one
	Elements  []Element
	Bodies    []Body // of the defined functions
	Data      []Data
	Customs   []Custom // but the name section
	Names     *Names   // nil without a name section, or with a malformed one
	Facts     Facts

	imported [4][]int // places in Imports, by kind
}

// Import is one import. Of the fields after Kind the one of that kind counts.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         uint32 // of a function
	Table        Table
	Memory       Memory
	Global       GlobalType
	Offset       int // where its entry begins, in bytes; Encode does not look at it
}

// Range is how small and large a table or memory may be, in entries or pages.
type Range struct {
	Min    uint32
	Max    uint32 // when HasMax
	HasMax bool
}

// Table is the declaration of a table.
type Table struct {
	Type ValueType
	Range
}

// Memory is the declaration of a memory, in pages of 64 KiB.
type Memory struct {
	Range
}

// GlobalType is the type of a global.
type GlobalType struct {
	Type    ValueType
	Mutable bool
}

// Global is a defined global.
type Global struct {
	GlobalType
	Init Const
}

// Export is one export.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
}

// Mode is when a segment is written.
type Mode byte

// A passive segment waits for memory.init or table.init, an active one is
// written at instantiation, a declarative one only says which functions the code
// may refer to.
const (
	Passive Mode = iota
	Active
	Declarative
)

// Element is an element segment. Entries are of the operations ref.func,
// ref.null and global.get.
type Element struct {
	Mode    Mode
	Table   uint32 // of an active one
	Offset  Const  // of an active one
	Type    ValueType
	Entries []Entry
}

// Entry is one initial reference of an element segment.
type Entry struct {
	Op    Op
	Index uint32 // of the function or the global
}

// Data is a data segment.
type Data struct {
	Mode   Mode
	Offset Const // of an active one
	Bytes  []byte
}

// Custom is a custom section.
type Custom struct {
	Name string
	Data []byte
}

// Names is what is kept of the name section: names of locals and of anything
// else are dropped.
type Names struct {
	Module    string
	Functions []Name // by ascending index
}

// Name is the name of a function.
type Name struct {
	Index uint32
	Name  string
}

// Body is the code of a defined function. Code ends with the end of the function
// and is canonical: Instructions takes it apart, and nothing but this package
// and the Append functions may have written it.
type Body struct {
	Locals []Locals
	Code   []byte
}

// Locals is a group of locals of one type.
type Locals struct {
	Count uint32
	Type  ValueType
}

// Imported is the number of imports of the kind.
func (m *Module) Imported(kind Kind) int { return len(m.imported[kind]) }

// FunctionCount is the number of functions, imported and defined.
func (m *Module) FunctionCount() int { return m.Imported(KindFunction) + len(m.Functions) }

// GlobalCount is the number of globals, imported and defined.
func (m *Module) GlobalCount() int { return m.Imported(KindGlobal) + len(m.Globals) }

// count is the number of what an export of that kind can name.
func (m *Module) count(kind Kind) int {
	defined := [...]int{len(m.Functions), len(m.Tables), len(m.Memories), len(m.Globals)}
	return m.Imported(kind) + defined[kind]
}

// AddImport appends an import and answers its number among those of its kind.
// Higher numbers of that kind, those of all defined ones, move up by one; the
// caller renumbers what refers to them.
func (m *Module) AddImport(entry Import) uint32 {
	places := m.imported[entry.Kind]
	m.imported[entry.Kind] = append(slices.Clip(places), len(m.Imports))
	m.Imports = append(slices.Clip(m.Imports), entry)
	return uint32(len(places))
}

// FunctionType is the type of the function of that number, which must exist.
func (m *Module) FunctionType(function uint32) FuncType {
	if imported := m.imported[KindFunction]; int(function) < len(imported) {
		return m.Types[m.Imports[imported[function]].Type]
	}
	return m.Types[m.Functions[int(function)-m.Imported(KindFunction)]]
}

// GlobalType is the type of the global of that number, which must exist.
func (m *Module) GlobalType(global uint32) GlobalType {
	if imported := m.imported[KindGlobal]; int(global) < len(imported) {
		return m.Imports[imported[global]].Global
	}
	return m.Globals[int(global)-m.Imported(KindGlobal)].GlobalType
}

// Table is the declaration of the table of that number, which must exist.
func (m *Module) Table(table uint32) Table {
	if imported := m.imported[KindTable]; int(table) < len(imported) {
		return m.Imports[imported[table]].Table
	}
	return m.Tables[int(table)-m.Imported(KindTable)]
}

// Memory is the module's memory, imported or its own; ok is false without one.
func (m *Module) Memory() (memory Memory, ok bool) {
	if imported := m.imported[KindMemory]; len(imported) > 0 {
		return m.Imports[imported[0]].Memory, true
	}
	if len(m.Memories) > 0 {
		return m.Memories[0], true
	}
	return Memory{}, false
}
