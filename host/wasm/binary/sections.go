package binary

// some is a slice of n elements, nil for none.
func some[T any](n int) []T {
	if n == 0 {
		return nil
	}
	return make([]T, n)
}

func (d *decoder) typeSection() {
	n := d.count("types", d.limits.Types, "Types")
	d.m.Types = some[FuncType](n)
	for i := range n {
		at := d.pos
		if form := d.byte(); form != 0x60 && !d.failed() {
			d.unknownType(at, form, "type form")
		}
		d.m.Types[i].Params = d.valueTypes("parameters of a type", d.limits.Params, "Params")
		d.m.Types[i].Results = d.valueTypes("results of a type", d.limits.Results, "Results")
		if d.failed() {
			return
		}
	}
}

func (d *decoder) valueTypes(what string, limit int, knob string) []ValueType {
	n := d.count(what, limit, knob)
	types := some[ValueType](n)
	for i := range types {
		types[i] = d.valueType()
	}
	return types
}

func (d *decoder) valueType() ValueType {
	at := d.pos
	b := d.byte()
	switch t := ValueType(b); t {
	case I32, I64, F32, F64, V128, Funcref, Externref:
		return t
	}
	if !d.failed() {
		d.unknownType(at, b, "value type")
	}
	return 0
}

func (d *decoder) referenceType() ValueType {
	at := d.pos
	b := d.byte()
	t := ValueType(b)
	if !t.Reference() && !d.failed() {
		d.unknownType(at, b, "reference type")
	}
	return t
}

func (d *decoder) unknownType(at int, b byte, what string) {
	if proposal := typeProposal(b); proposal != "" {
		d.unsupported(at, proposal, "%s %#x", what, b)
		return
	}
	d.fail(at, "%s %#x is unknown", what, b)
}

func (d *decoder) importSection() {
	n := d.count("imports", d.limits.Imports, "Imports")
	d.m.Imports = some[Import](n)
	for i := range d.m.Imports {
		entry := &d.m.Imports[i]
		entry.Offset = d.pos
		entry.Module = d.name(d.limits.NameBytes)
		entry.Name = d.name(d.limits.NameBytes)
		at := d.pos
		entry.Kind = Kind(d.byte())
		if d.failed() {
			return
		}
		switch entry.Kind {
		case KindFunction:
			entry.Type = d.index("type", len(d.m.Types))
		case KindTable:
			entry.Table = d.table()
		case KindMemory:
			entry.Memory = d.memory()
		case KindGlobal:
			entry.Global = d.globalType()
		default:
			d.unknownKind(at, entry.Kind, "import of "+entry.Module+"."+entry.Name)
		}
		if d.failed() {
			return
		}
		d.m.imported[entry.Kind] = append(d.m.imported[entry.Kind], i)
		d.bounds(at, entry.Kind)
	}
}

// bounds checks the numbers of functions, tables, memories and globals after one
// was added.
func (d *decoder) bounds(at int, kind Kind) {
	got := d.m.count(kind)
	switch {
	case kind == KindFunction && got > d.limits.Functions:
		d.exceed(at, "functions", int64(got), int64(d.limits.Functions), "Functions", "")
	case kind == KindTable && got > d.limits.Tables:
		d.exceed(at, "tables", int64(got), int64(d.limits.Tables), "Tables", "")
	case kind == KindGlobal && got > d.limits.Globals:
		d.exceed(at, "globals", int64(got), int64(d.limits.Globals), "Globals", "")
	case kind == KindMemory && got > 1:
		d.unsupported(at, proposalMultiMemory, "%d memories", got)
	}
}

func (d *decoder) unknownKind(at int, kind Kind, what string) {
	if kind == KindGlobal+1 {
		d.unsupported(at, proposalExceptions, "%s is a tag", what)
		return
	}
	d.fail(at, "%s is of the unknown kind %d", what, byte(kind))
}

func (d *decoder) functionSection() {
	at := d.pos
	n := d.count("functions", d.limits.Functions, "Functions")
	d.m.Functions = some[uint32](n)
	d.bounds(at, KindFunction)
	for i := range d.m.Functions {
		d.m.Functions[i] = d.index("type", len(d.m.Types))
	}
}

func (d *decoder) tableSection() {
	at := d.pos
	n := d.count("tables", d.limits.Tables, "Tables")
	d.m.Tables = some[Table](n)
	d.bounds(at, KindTable)
	for i := range d.m.Tables {
		d.m.Tables[i] = d.table()
	}
}

func (d *decoder) table() Table {
	at := d.pos
	if d.pos < d.end && d.wasm[d.pos] == 0x40 {
		d.unsupported(at, proposalFunctionRef, "a table with an initial value")
	}
	t := Table{Type: d.referenceType()}
	t.Range = d.sizes("table", 1<<32-1)
	if !d.failed() && int64(t.Min) > int64(d.limits.TableEntries) {
		d.exceed(at, "entries in a table", int64(t.Min), int64(d.limits.TableEntries), "TableEntries", "")
	}
	return t
}

func (d *decoder) memorySection() {
	at := d.pos
	n := d.u32()
	switch {
	case d.failed() || n == 0:
	case uint64(n)+uint64(d.m.Imported(KindMemory)) > 1:
		d.unsupported(at, proposalMultiMemory, "%d memories", uint64(n)+uint64(d.m.Imported(KindMemory)))
	default:
		d.m.Memories = []Memory{d.memory()}
	}
}

// maxPages is what 32 bits reach.
const maxPages = 65_536

func (d *decoder) memory() Memory {
	at := d.pos
	t := Memory{Range: d.sizes("memory", maxPages)}
	if !d.failed() && int64(t.Min) > int64(d.limits.MemoryPages) {
		d.exceed(at, "pages of memory at the start", int64(t.Min), int64(d.limits.MemoryPages), "MemoryPages",
			"build it with less static data and a smaller stack, or grant it more memory")
	}
	return t
}

// sizes reads the least and the most size of a table or memory.
func (d *decoder) sizes(what string, reach uint32) Range {
	at := d.pos
	var sizes Range
	switch flag := d.byte(); {
	case d.failed():
	case flag <= 1:
		sizes.Min = d.u32()
		if sizes.HasMax = flag == 1; sizes.HasMax {
			sizes.Max = d.u32()
		}
	case flag <= 3:
		d.unsupported(at, proposalThreads, "a shared %s", what)
	case flag <= 7:
		d.unsupported(at, proposalMemory64, "a %s of 64-bit addresses", what)
	case flag <= 15:
		d.unsupported(at, proposalPageSizes, "limits flag %#x", flag)
	default:
		d.fail(at, "unknown limits flag %#x", flag)
	}
	switch {
	case d.failed():
	case sizes.HasMax && sizes.Max < sizes.Min:
		d.fail(at, "the most size %d of a %s is below the least size %d", sizes.Max, what, sizes.Min)
	case sizes.Min > reach || sizes.Max > reach:
		d.fail(at, "a %s of %d, 32 bits reach %d", what, max(sizes.Min, sizes.Max), reach)
	}
	return sizes
}

func (d *decoder) exportSection() {
	n := d.count("exports", d.limits.Exports, "Exports")
	d.m.Exports = some[Export](n)
	seen := make(map[string]struct{}, n)
	for i := range d.m.Exports {
		at := d.pos
		export := Export{Name: d.name(d.limits.NameBytes), Kind: Kind(d.byte())}
		if d.failed() {
			return
		}
		if export.Kind > KindGlobal {
			d.unknownKind(at, export.Kind, "export "+quoted(export.Name))
			return
		}
		export.Index = d.index("export "+quoted(export.Name)+": "+export.Kind.String(), d.m.count(export.Kind))
		if _, ok := seen[export.Name]; ok {
			d.fail(at, "export %q is there twice", export.Name)
			return
		}
		seen[export.Name] = struct{}{}
		if export.Kind == KindFunction {
			d.declare(export.Index)
		}
		d.m.Exports[i] = export
	}
}

// declare notes that code may refer to the function.
func (d *decoder) declare(function uint32) {
	if d.referable == nil {
		d.referable = make([]bool, d.m.FunctionCount())
	}
	if !d.failed() {
		d.referable[function] = true
	}
}

func (d *decoder) startSection() {
	at := d.pos
	function := d.index("function", d.m.FunctionCount())
	if d.failed() {
		return
	}
	if t := d.m.FunctionType(function); len(t.Params)+len(t.Results) > 0 {
		d.fail(at, "the start function %d is of type %s, it takes and gives nothing", function, t)
	}
	d.m.Start = &function
}
