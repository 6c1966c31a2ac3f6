package binary

import "slices"

// Encode writes the module in its canonical form: sections in order, empty ones
// left out, numbers as short as they can be, custom sections last and the names
// behind them. The data count section is there when code names data segments.
// The module must be as Decode or a careful change of its result left it.
func (m *Module) Encode() []byte {
	e := encoder{out: make([]byte, 0, m.roughSize())}
	e.out = append(e.out, "\x00asm\x01\x00\x00\x00"...)
	e.vector(sectionType, len(m.Types), func(i int) { e.functionType(m.Types[i]) })
	e.vector(sectionImport, len(m.Imports), func(i int) { e.entry(m.Imports[i]) })
	e.vector(sectionFunction, len(m.Functions), func(i int) { e.u32(m.Functions[i]) })
	e.vector(sectionTable, len(m.Tables), func(i int) { e.table(m.Tables[i]) })
	e.vector(sectionMemory, len(m.Memories), func(i int) { e.sizes(m.Memories[i].Range) })
	e.vector(sectionGlobal, len(m.Globals), func(i int) { e.global(m.Globals[i]) })
	e.vector(sectionExport, len(m.Exports), func(i int) { e.export(m.Exports[i]) })
	if m.Start != nil {
		e.section(sectionStart, func() { e.u32(*m.Start) })
	}
	e.vector(sectionElement, len(m.Elements), func(i int) { e.element(m.Elements[i]) })
	if m.Facts.namesData() {
		e.section(sectionDataCount, func() { e.u32(uint32(len(m.Data))) })
	}
	e.vector(sectionCode, len(m.Bodies), func(i int) { e.body(m.Bodies[i]) })
	e.vector(sectionData, len(m.Data), func(i int) { e.data(m.Data[i]) })
	for _, custom := range m.Customs {
		e.section(sectionCustom, func() {
			e.name(custom.Name)
			e.out = append(e.out, custom.Data...)
		})
	}
	if m.Names != nil {
		e.section(sectionCustom, func() { e.names(m.Names) })
	}
	return e.out
}

// roughSize is about what Encode will write.
func (m *Module) roughSize() int {
	size := 4096 + 8*len(m.Functions)
	for i := range m.Bodies {
		size += len(m.Bodies[i].Code) + 8
	}
	for i := range m.Data {
		size += len(m.Data[i].Bytes) + 10
	}
	for i := range m.Customs {
		size += len(m.Customs[i].Name) + len(m.Customs[i].Data) + 8
	}
	if m.Names != nil {
		for i := range m.Names.Functions {
			size += len(m.Names.Functions[i].Name) + 5
		}
	}
	return size
}

type encoder struct {
	out []byte
}

func (e *encoder) u32(n uint32)          { e.out = AppendUnsigned(e.out, n) }
func (e *encoder) byte(b byte)           { e.out = append(e.out, b) }
func (e *encoder) name(name string)      { e.out = appendName(e.out, name) }
func (e *encoder) constant(c Const)      { e.out = appendConst(e.out, c) }
func (e *encoder) valueType(t ValueType) { e.byte(byte(t)) }

// section writes a section around the content. Its size is known afterwards and
// the content moved up to it.
func (e *encoder) section(id byte, content func()) {
	const most = 5 // bytes of a size
	e.byte(id)
	at := len(e.out)
	e.out = append(e.out, make([]byte, most)...)
	content()
	size := len(e.out) - at - most
	behind := len(AppendUnsigned(e.out[:at], uint32(size)))
	copy(e.out[behind:], e.out[at+most:])
	e.out = e.out[:behind+size]
}

// vector writes a section that is one vector of n items, nothing when n is 0.
func (e *encoder) vector(id byte, n int, item func(i int)) {
	if n == 0 {
		return
	}
	e.section(id, func() {
		e.u32(uint32(n))
		for i := range n {
			item(i)
		}
	})
}

func (e *encoder) functionType(t FuncType) {
	e.byte(0x60)
	for _, types := range [][]ValueType{t.Params, t.Results} {
		e.u32(uint32(len(types)))
		for _, t := range types {
			e.valueType(t)
		}
	}
}

func (e *encoder) entry(entry Import) {
	e.name(entry.Module)
	e.name(entry.Name)
	e.byte(byte(entry.Kind))
	switch entry.Kind {
	case KindFunction:
		e.u32(entry.Type)
	case KindTable:
		e.table(entry.Table)
	case KindMemory:
		e.sizes(entry.Memory.Range)
	case KindGlobal:
		e.globalType(entry.Global)
	}
}

func (e *encoder) table(t Table) {
	e.valueType(t.Type)
	e.sizes(t.Range)
}

func (e *encoder) sizes(sizes Range) {
	if !sizes.HasMax {
		e.byte(0)
		e.u32(sizes.Min)
		return
	}
	e.byte(1)
	e.u32(sizes.Min)
	e.u32(sizes.Max)
}

func (e *encoder) globalType(t GlobalType) {
	e.valueType(t.Type)
	if t.Mutable {
		e.byte(1)
		return
	}
	e.byte(0)
}

func (e *encoder) global(g Global) {
	e.globalType(g.GlobalType)
	e.constant(g.Init)
}

func (e *encoder) export(x Export) {
	e.name(x.Name)
	e.byte(byte(x.Kind))
	e.u32(x.Index)
}

// element writes the shortest of the eight forms that says it.
func (e *encoder) element(s Element) {
	expressions := s.Type != Funcref || slices.ContainsFunc(s.Entries, func(entry Entry) bool { return entry.Op != OpRefFunc })
	explicit := s.Mode == Active && s.Table != 0 || s.Type != Funcref
	var flag uint32
	switch {
	case s.Mode == Passive:
		flag = flagNotActive
	case s.Mode == Declarative:
		flag = flagNotActive | flagExplicit
	case explicit:
		flag = flagExplicit
	}
	if expressions {
		flag |= flagExpressions
	}
	e.u32(flag)
	if s.Mode == Active {
		if explicit {
			e.u32(s.Table)
		}
		e.constant(s.Offset)
	}
	switch {
	case flag&(flagNotActive|flagExplicit) == 0:
	case expressions:
		e.valueType(s.Type)
	default:
		e.byte(0)
	}
	e.u32(uint32(len(s.Entries)))
	for _, entry := range s.Entries {
		switch {
		case !expressions:
			e.u32(entry.Index)
		case entry.Op == OpRefNull:
			e.constant(Const{Op: OpRefNull, Value: uint64(s.Type)})
		default:
			e.constant(Const{Op: entry.Op, Value: uint64(entry.Index)})
		}
	}
}

func (e *encoder) body(b Body) {
	size := len(AppendUnsigned(nil, uint32(len(b.Locals)))) + len(b.Code)
	for _, group := range b.Locals {
		size += len(AppendUnsigned(nil, group.Count)) + 1
	}
	e.u32(uint32(size))
	e.u32(uint32(len(b.Locals)))
	for _, group := range b.Locals {
		e.u32(group.Count)
		e.valueType(group.Type)
	}
	e.out = append(e.out, b.Code...)
}

func (e *encoder) data(s Data) {
	if s.Mode == Passive {
		e.byte(1)
	} else {
		e.byte(0)
		e.constant(s.Offset)
	}
	e.u32(uint32(len(s.Bytes)))
	e.out = append(e.out, s.Bytes...)
}

func (e *encoder) names(names *Names) {
	e.name(nameSection)
	if names.Module != "" {
		e.section(namesOfModule, func() { e.name(names.Module) })
	}
	if len(names.Functions) == 0 {
		return
	}
	e.section(namesOfFunctions, func() {
		e.u32(uint32(len(names.Functions)))
		for _, entry := range names.Functions {
			e.u32(entry.Index)
			e.name(entry.Name)
		}
	})
}
