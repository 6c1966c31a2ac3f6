package binary

// Bits of an element segment's flag.
const (
	flagNotActive = 1 << iota
	flagExplicit  // a table for an active one, declarative for others
	flagExpressions
	flagsKnown = 1 << iota
)

func (d *decoder) elementSection() {
	n := d.count("element segments", d.limits.Elements, "Elements")
	d.m.Elements = some[Element](n)
	for i := range d.m.Elements {
		d.element(&d.m.Elements[i])
		if d.failed() {
			return
		}
	}
}

func (d *decoder) element(e *Element) {
	at := d.pos
	flag := d.u32()
	if flag >= flagsKnown {
		d.fail(at, "unknown flag %#x of an element segment", flag)
		return
	}
	e.Type = Funcref
	switch {
	case flag&flagNotActive == 0:
		e.Mode = Active
		if flag&flagExplicit != 0 {
			e.Table = d.index("table", d.m.count(KindTable))
		} else if d.m.count(KindTable) == 0 {
			d.fail(at, "table 0 does not exist")
		}
		e.Offset = d.constant(I32)
	case flag&flagExplicit != 0:
		e.Mode = Declarative
	}
	if flag&(flagNotActive|flagExplicit) != 0 {
		e.Type = d.elementType(flag&flagExpressions != 0)
	}
	at = d.pos
	n := d.count("entries in element segments", d.limits.ElementEntries, "ElementEntries")
	if d.entries += n; d.entries > d.limits.ElementEntries {
		d.exceed(at, "entries in element segments", int64(d.entries), int64(d.limits.ElementEntries), "ElementEntries", "")
		return
	}
	if e.Mode == Active && !d.failed() && d.m.Table(e.Table).Type != e.Type {
		d.fail(at, "an element segment of type %s for table %d of type %s", e.Type, e.Table, d.m.Table(e.Table).Type)
		return
	}
	e.Entries = some[Entry](n)
	for i := range e.Entries {
		if flag&flagExpressions != 0 {
			c := d.constant(e.Type)
			e.Entries[i] = Entry{Op: c.Op, Index: uint32(c.Value)}
			if c.Op == OpRefNull {
				e.Entries[i].Index = 0
			}
			continue
		}
		index := d.index("function", d.m.FunctionCount())
		d.declare(index)
		e.Entries[i] = Entry{Op: OpRefFunc, Index: index}
	}
}

// elementType reads the type of a segment of expressions, or the kind of one of
// functions.
func (d *decoder) elementType(expressions bool) ValueType {
	if expressions {
		return d.referenceType()
	}
	at := d.pos
	if kind := d.byte(); kind != 0 && !d.failed() {
		d.fail(at, "unknown kind %#x of an element segment", kind)
	}
	return Funcref
}

func (d *decoder) dataSection() {
	n := d.count("data segments", d.limits.DataSegments, "DataSegments")
	d.m.Data = some[Data](n)
	for i := range d.m.Data {
		d.dataSegment(&d.m.Data[i])
		if d.failed() {
			return
		}
	}
}

func (d *decoder) dataSegment(s *Data) {
	at := d.pos
	flag := d.u32()
	switch flag {
	case 0, 2:
		s.Mode = Active
		if flag == 2 {
			memoryAt := d.pos
			if memory := d.u32(); memory != 0 {
				d.unsupported(memoryAt, proposalMultiMemory, "a data segment for memory %d", memory)
				return
			}
		}
		if d.m.count(KindMemory) == 0 {
			d.fail(at, "a data segment, but the module has no memory")
			return
		}
		s.Offset = d.constant(I32)
	case 1:
		s.Mode = Passive
	default:
		d.fail(at, "unknown flag %#x of a data segment", flag)
		return
	}
	s.Bytes = d.bytes(d.u32())
}
