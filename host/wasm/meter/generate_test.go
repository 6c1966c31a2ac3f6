package meter_test

import (
	"fmt"

	"github.com/plinthhost/plinth/host/wasm/binary"
)

// generated is a valid module made from random bytes, and what to call in it.
// Every module ends: each round of a loop and each call takes from the global
// "gas", which the host fills before a call.
type generated struct {
	wasm  []byte
	calls []generatedCall
}

type generatedCall struct {
	function string
	args     []uint64
}

// gasPerCall is how many rounds and calls one call from outside may take.
const gasPerCall = 200

// source is random bytes, then zeros: the smallest choice everywhere.
type source struct {
	bytes []byte
}

func (s *source) byte() byte {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

// below is a number below n.
func (s *source) below(n int) int {
	if n <= 1 {
		return 0
	}
	if n <= 256 {
		return int(s.byte()) % n
	}
	return (int(s.byte())<<16 | int(s.byte())<<8 | int(s.byte())) % n
}

func (s *source) one(in int) bool { return s.below(in) == 1 }

func pick[T any](s *source, list ...T) T { return list[s.below(len(list))] }

// generator makes one module.
type generator struct {
	*source
	m *binary.Module

	// Of the function that is made:
	code   []byte
	locals []binary.ValueType
	labels []label
	result []binary.ValueType
	room   int // instructions that may still be made
}

// label is what a branch to an open block carries.
type label struct {
	types []binary.ValueType
	loop  bool
}

// Numbers of what every generated module has.
const (
	gasGlobal   = 0
	hostTell    = 0 // (i32, i64) -> ()
	hostAsk     = 1 // (i32) -> (i32)
	memoryPages = 3
	tableSize   = 6
)

func valueTypes() []binary.ValueType {
	return []binary.ValueType{binary.I32, binary.I64, binary.F32, binary.F64, binary.V128}
}

// generate makes a module of the bytes.
func generate(random []byte) generated {
	g := &generator{source: &source{bytes: random}, m: new(binary.Module)}
	g.module()
	out := generated{}
	for range 2 + g.below(5) {
		f := uint32(2 + g.below(g.exported()))
		call := generatedCall{function: fmt.Sprintf("f%d", f)}
		for _, t := range g.m.FunctionType(f).Params {
			call.args = append(call.args, uint64(g.interesting()))
			if t == binary.V128 {
				call.args = append(call.args, uint64(g.below(1<<16)))
			}
			if last := len(call.args) - 1; t == binary.I32 || t == binary.F32 {
				call.args[last] = uint64(uint32(call.args[last]))
			}
		}
		out.calls = append(out.calls, call)
	}
	out.wasm = g.m.Encode()
	return out
}

func (g *generator) module() {
	m := g.m
	m.Types = []binary.FuncType{
		{Params: []binary.ValueType{binary.I32, binary.I64}},
		{Params: []binary.ValueType{binary.I32}, Results: []binary.ValueType{binary.I32}},
		{},
	}
	for range 2 + g.below(4) {
		m.Types = append(m.Types, binary.FuncType{Params: g.types(3), Results: g.types(3)})
	}
	m.AddImport(binary.Import{Module: "host", Name: "tell", Type: 0})
	m.AddImport(binary.Import{Module: "host", Name: "ask", Type: 1})
	for range 1 + g.below(5) {
		m.Functions = append(m.Functions, uint32(1+g.below(len(m.Types)-1)))
	}
	m.Tables = []binary.Table{{Type: binary.Funcref, Range: binary.Range{Min: tableSize, Max: 12, HasMax: true}}}
	m.Memories = []binary.Memory{{Range: binary.Range{Min: memoryPages, Max: memoryPages + 2, HasMax: true}}}
	g.globals()
	g.segments()
	g.exportAll()
	if g.one(4) {
		m.Functions = append(m.Functions, 2)
		start := uint32(m.FunctionCount() - 1)
		m.Start = &start
	}
	for _, t := range m.Functions {
		m.Bodies = append(m.Bodies, g.function(m.Types[t]))
	}
	if g.one(2) {
		m.Names = &binary.Names{Functions: []binary.Name{{Index: 0, Name: "tell"}, {Index: 2, Name: "first"}}}
	}
}

func (g *generator) types(most int) []binary.ValueType {
	var types []binary.ValueType
	for range g.below(most + 1) {
		types = append(types, pick(g.source, valueTypes()...))
	}
	return types
}

func (g *generator) globals() {
	constants := map[binary.ValueType]binary.Op{
		binary.I32: binary.OpI32Const, binary.I64: binary.OpI64Const, binary.F32: binary.OpF32Const,
		binary.F64: binary.OpF64Const, binary.V128: binary.OpV128Const,
	}
	add := func(t binary.ValueType, value uint64) {
		g.m.Globals = append(g.m.Globals, binary.Global{
			GlobalType: binary.GlobalType{Type: t, Mutable: true}, Init: binary.Const{Op: constants[t], Value: value},
		})
	}
	add(binary.I32, gasPerCall)
	for _, t := range valueTypes() {
		add(t, uint64(g.below(1000)))
	}
}

func (g *generator) segments() {
	functions := g.m.FunctionCount()
	entries := func(n int) []binary.Entry {
		list := make([]binary.Entry, n)
		for i := range list {
			list[i] = binary.Entry{Op: binary.OpRefFunc, Index: uint32(g.below(functions))}
		}
		return list
	}
	g.m.Elements = []binary.Element{
		{Mode: binary.Active, Offset: binary.Const{Op: binary.OpI32Const, Value: 1}, Type: binary.Funcref, Entries: entries(g.below(tableSize))},
		{Type: binary.Funcref, Entries: entries(g.below(4))},
	}
	long := make([]byte, 6_000+g.below(1000))
	for i := range long {
		long[i] = byte(i * 7)
	}
	g.m.Data = []binary.Data{
		{Mode: binary.Active, Offset: binary.Const{Op: binary.OpI32Const, Value: 100}, Bytes: []byte("some bytes to begin with")},
		{Bytes: []byte("a few more")},
		{Bytes: long},
	}
	g.m.Facts.MemoryInit = true // so that the segments are counted
}

// exportAll exports all functions and globals. The host compares them.
func (g *generator) exportAll() {
	for f := hostAsk + 1; f < g.m.FunctionCount(); f++ {
		g.m.Exports = append(g.m.Exports, binary.Export{Name: fmt.Sprintf("f%d", f), Index: uint32(f)})
	}
	for i := range g.m.Globals {
		name := fmt.Sprintf("g%d", i)
		if i == gasGlobal {
			name = "gas"
		}
		g.m.Exports = append(g.m.Exports, binary.Export{Name: name, Kind: binary.KindGlobal, Index: uint32(i)})
	}
}

// function makes a body: out of gas, it answers zeros at once.
func (g *generator) function(t binary.FuncType) binary.Body {
	g.code, g.result, g.room = nil, t.Results, 20+g.below(200)
	g.locals = append([]binary.ValueType{}, t.Params...)
	body := binary.Body{}
	for _, kind := range valueTypes() { // two of each: the second is for values that are looked at twice
		g.locals = append(g.locals, kind, kind)
		body.Locals = append(body.Locals, binary.Locals{Count: 2, Type: kind})
	}
	g.labels = []label{{types: t.Results}}
	if !g.one(4) { // else a function that may be exempt
		g.takeGas()
		g.block(binary.OpIf, binary.Empty)
		g.zeros(t.Results)
		g.op(binary.OpReturn)
		g.op(binary.OpEnd)
	} else {
		g.room = g.below(12)
	}
	g.statements()
	for _, result := range t.Results {
		g.value(result, 3)
	}
	g.op(binary.OpEnd)
	body.Code = g.code
	return body
}

// takeGas takes one from the gas and leaves whether none is left.
func (g *generator) takeGas() {
	g.on(binary.OpGlobalGet, gasGlobal)
	g.i32(1)
	g.op(binary.OpI32Sub)
	g.on(binary.OpGlobalSet, gasGlobal)
	g.on(binary.OpGlobalGet, gasGlobal)
	g.i32(0)
	g.op(0x4c) // i32.le_s
}

func (g *generator) op(op binary.Op) {
	g.room--
	g.code = binary.AppendOp(g.code, op)
}

func (g *generator) on(op binary.Op, index uint32) {
	g.room--
	g.code = binary.AppendIndexed(g.code, op, index)
}

func (g *generator) block(op binary.Op, kind binary.BlockType) {
	g.room--
	g.code = binary.AppendBlock(g.code, op, kind)
}

func (g *generator) i32(n int32) {
	g.room--
	g.code = binary.AppendI32(g.code, n)
}

func (g *generator) raw(bytes ...byte) { g.code = append(g.code, bytes...) }
