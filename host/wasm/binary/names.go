package binary

import "unicode/utf8"

const nameSection = "name"

// Subsections of the name section that are kept.
const (
	namesOfModule    = 0
	namesOfFunctions = 1
)

func (d *decoder) customSection() {
	at := d.pos
	name := d.name(d.limits.NameBytes)
	if d.failed() {
		return
	}
	if d.custom++; d.custom > d.limits.CustomSections {
		d.exceed(at, "custom sections", int64(d.custom), int64(d.limits.CustomSections), "CustomSections", "")
		return
	}
	content := d.bytes(uint32(d.end - d.pos))
	if name != nameSection {
		d.m.Customs = append(d.m.Customs, Custom{Name: name, Data: content})
		return
	}
	if d.named {
		return // as for any mistake in it, the names are lost and the module is not
	}
	d.named = true
	d.nameContent = content // read at the end: it may stand before the functions
}

// names reads the name section, nil when anything about it is wrong: it may
// stand anywhere and say anything without making a module invalid.
func (d *decoder) names(content []byte) *Names {
	r := &reader{wasm: content, end: len(content)}
	names := new(Names)
	last := -1
	for r.pos < r.end {
		id := r.byte()
		size := r.u32()
		body := &reader{wasm: content, pos: r.pos, end: r.pos + int(size)}
		r.bytes(size)
		if r.failed() || int(id) <= last {
			return nil
		}
		last = int(id)
		switch id {
		case namesOfModule:
			names.Module = body.name(d.limits.NameBytes)
		case namesOfFunctions:
			names.Functions = body.functionNames(d.m.FunctionCount(), d.limits.NameBytes)
		default:
			continue
		}
		if body.finish("subsection"); body.failed() {
			return nil
		}
	}
	if names.Module == "" && names.Functions == nil {
		return nil
	}
	return names
}

func (r *reader) functionNames(functions, limit int) []Name {
	text := string(r.wasm[r.pos:r.end]) // the names are parts of one string
	start := r.pos
	n := r.count("names", functions, "")
	names := make([]Name, 0, n)
	for range n {
		at := r.pos
		index := r.index("function", functions)
		if k := len(names); k > 0 && index <= names[k-1].Index {
			r.fail(at, "names are not in order")
		}
		size := r.u32()
		if int64(size) > int64(limit) {
			r.fail(at, "a long name")
		}
		bytes := r.bytes(size)
		if r.failed() || !utf8.Valid(bytes) {
			r.fail(at, "a name is not UTF-8")
			return nil
		}
		names = append(names, Name{Index: index, Name: text[r.pos-start-len(bytes) : r.pos-start]})
	}
	if n == 0 {
		return nil
	}
	return names
}
