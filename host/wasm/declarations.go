package wasm

func (p *parser) tableSection() {
	p.tables = p.count("tables", 1)
	for range p.tables {
		at := p.pos
		if kind := p.byte(); kind != 0x70 && !p.failed() {
			p.refuse(at, "build without reference types", "table of type %#x, only functions are supported", kind)
			return
		}
		if least, _ := p.limits(); least > maxTable {
			p.refuse(at, "", "a table of %d entries, the limit is %d", least, maxTable)
			return
		}
	}
}

func (p *parser) memorySection() {
	at := p.pos
	p.memories = p.count("memories", 1)
	for range p.memories {
		least, most := p.limits()
		if least > maxPages || most > maxPages {
			p.refuse(at, "", "a memory of %d pages, 32 bits reach %d", max(least, most), maxPages)
			return
		}
		p.info.Memory = Memory{Min: least, Max: most}
	}
}

// maxPages is 4 GiB, what a 32-bit address reaches.
const maxPages = 65536

// limits reads the size of a table or memory; most is 0 when it is not declared.
func (p *parser) limits() (least, most uint32) {
	at := p.pos
	switch flag := p.byte(); {
	case p.failed():
	case flag == 0:
		least = p.u32()
	case flag == 1:
		least, most = p.u32(), p.u32()
		if most < least {
			p.refuse(at, "", "the maximum %d is below the minimum %d", most, least)
		}
	case flag == 2 || flag == 3:
		p.refuse(at, "build without threads", "shared memory is not supported")
	default:
		p.refuse(at, "build for wasm32", "limits flag %#x: 64-bit memories and custom pages are not supported", flag)
	}
	return least, most
}

func (p *parser) exportSection() {
	seen := make(map[string]bool)
	for range p.count("exports", maxExports) {
		at := p.pos
		name := p.name()
		kind := p.byte()
		index := p.u32()
		if p.failed() {
			return
		}
		if kind > 3 {
			p.refuse(at, "build without exception handling", "export %q is of the unknown kind %d", name, kind)
			return
		}
		if seen[name] {
			p.refuse(at, "", "export %q is there twice", name)
			return
		}
		seen[name] = true
		p.info.Exports = append(p.info.Exports, Export{Name: name, Kind: kindName(kind)})
		p.exports = append(p.exports, exported{at: at, kind: kind, index: index})
	}
}

// codeSection measures bodies and their locals.
func (p *parser) codeSection() {
	p.bodies = p.count("function bodies", maxFunctions)
	for range p.bodies {
		at := p.pos
		size := p.u32()
		if size > maxBodyBytes {
			p.refuse(at, "split the function", "a function of %d bytes, the limit is %d", size, maxBodyBytes)
			return
		}
		body := p.sub(size)
		if p.failed() {
			return
		}
		body.locals()
		if body.err != nil {
			p.err = body.err
			return
		}
		if p.wasm[body.end-1] != 0x0b {
			p.refuse(at, "", "a function body does not end with its end")
			return
		}
	}
}

func (r *reader) locals() {
	at := r.pos
	total := uint64(0)
	for range r.count("groups of locals", maxLocals) {
		total += uint64(r.u32())
		r.byte()
		if total > maxLocals {
			r.refuse(at, "split the function", "a function with %d locals, the limit is %d", total, maxLocals)
			return
		}
	}
	if !r.failed() && r.pos == r.end {
		r.refuse(at, "", "a function without instructions")
	}
}

// resolve checks indices that point forward and fills in the types of exports.
func (p *parser) resolve() {
	if p.bodies != p.info.Functions {
		p.refuse(p.end, "", "%d functions are declared, %d have bodies", p.info.Functions, p.bodies)
		return
	}
	if p.memories != 1 {
		p.refuse(p.end, "build a module with a memory of its own", "the module defines no memory")
		return
	}
	counts := [...]int{len(p.defined), p.tables, p.memories, p.globals}
	for i, export := range p.exports {
		if uint64(export.index) >= uint64(counts[export.kind]) {
			p.refuse(export.at, "", "export %q names a %s that does not exist",
				p.info.Exports[i].Name, kindName(export.kind))
			return
		}
		if export.kind == 0 {
			p.info.Exports[i].Type = p.types[p.defined[export.index]]
		}
	}
}
