package wasm

import "strings"

// Section ids of the binary format.
const (
	sectionCustom = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
	sectionTag
)

// parser gathers what Info needs. Indices are resolved at the end.
type parser struct {
	reader
	info     *Info
	types    []string
	defined  []uint32 // type index per function, imported ones first
	imported int
	exports  []exported
	tables   int
	memories int
	globals  int
	bodies   int
}

type exported struct {
	at    int
	kind  byte
	index uint32
}

// sections walks the sections in the only order allowed.
func (p *parser) sections() {
	last := 0
	for p.pos < p.end && !p.failed() {
		at := p.pos
		id := p.byte()
		size := p.u32()
		body := p.sub(size)
		if p.failed() {
			return
		}
		if id != sectionCustom {
			order := sectionOrder(id)
			if order == 0 {
				p.refuse(at, "build without exception handling and other proposals", "unknown section %d", id)
				return
			}
			if order <= last {
				p.refuse(at, "", "section %d is there twice or out of order", id)
				return
			}
			last = order
		}
		outer := p.reader
		p.reader = *body
		p.section(id)
		outer.err = p.err
		p.reader = outer
	}
}

// sectionOrder is the place of a section, 0 for an unknown one. The data count
// stands before the code.
func sectionOrder(id byte) int {
	switch {
	case id == sectionDataCount:
		return 2*sectionElement + 1
	case id < sectionDataCount:
		return 2 * int(id)
	}
	return 0
}

func (p *parser) section(id byte) {
	switch id {
	case sectionCustom:
		p.custom()
		return
	case sectionType:
		p.typeSection()
	case sectionImport:
		p.importSection()
	case sectionFunction:
		p.functionSection()
	case sectionTable:
		p.tableSection()
	case sectionMemory:
		p.memorySection()
	case sectionExport:
		p.exportSection()
	case sectionStart:
		p.u32()
		p.info.Start = true
	case sectionCode:
		p.codeSection()
	case sectionDataCount:
		p.count("data segments", maxSegments)
	case sectionGlobal:
		p.globals = p.count("globals", maxGlobals)
		return
	case sectionElement:
		p.count("element segments", maxElements)
		return
	case sectionData:
		p.count("data segments", maxSegments)
		return
	}
	p.finish("section")
}

func (p *parser) custom() {
	name := p.name()
	if p.failed() {
		return
	}
	if len(p.info.Custom) == maxCustom {
		p.refuse(p.pos, "", "more than %d custom sections", maxCustom)
		return
	}
	p.info.Custom = append(p.info.Custom, Custom{Name: name, Data: p.bytes(uint32(p.end - p.pos))})
}

func (p *parser) typeSection() {
	for range p.count("types", maxTypes) {
		at := p.pos
		if form := p.byte(); form != 0x60 && !p.failed() {
			p.refuse(at, "build without garbage collection types", "type form %#x is not a function", form)
			return
		}
		p.types = append(p.types, "("+p.values()+")->("+p.values()+")")
	}
}

func (p *parser) values() string {
	var names []string
	for range p.count("values in a type", maxValues) {
		at := p.pos
		switch b := p.byte(); b {
		case 0x7f:
			names = append(names, "i32")
		case 0x7e:
			names = append(names, "i64")
		case 0x7d:
			names = append(names, "f32")
		case 0x7c:
			names = append(names, "f64")
		case 0x7b:
			names = append(names, "v128")
		default:
			p.refuse(at, "build without reference types", "value type %#x is not supported", b)
			return ""
		}
	}
	return strings.Join(names, ",")
}

func (p *parser) importSection() {
	for range p.count("imports", maxImports) {
		at := p.pos
		entry := Import{Module: p.name(), Name: p.name(), Offset: at}
		kind := p.byte()
		if p.failed() {
			return
		}
		if kind != 0 {
			p.refuse(at, "let the module define and export its own memory and tables",
				"%s.%s imports a %s, only functions can be imported", entry.Module, entry.Name, kindName(kind))
			return
		}
		index := p.typeIndex()
		if p.failed() {
			return
		}
		entry.Type = p.types[index]
		p.defined = append(p.defined, index)
		p.info.Imports = append(p.info.Imports, entry)
	}
	p.imported = len(p.defined)
}

func (p *parser) typeIndex() uint32 {
	at := p.pos
	index := p.u32()
	if int64(index) >= int64(len(p.types)) {
		p.refuse(at, "", "type %d does not exist", index)
	}
	return index
}

func (p *parser) functionSection() {
	p.info.Functions = p.count("functions", maxFunctions)
	for range p.info.Functions {
		p.defined = append(p.defined, p.typeIndex())
		if p.failed() {
			return
		}
	}
}

func kindName(kind byte) string {
	switch kind {
	case 0:
		return KindFunction
	case 1:
		return KindTable
	case 2:
		return KindMemory
	case 3:
		return KindGlobal
	}
	return "tag"
}
