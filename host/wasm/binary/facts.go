package binary

// Facts are the instructions and segments that decide how an instance can be
// put back to an earlier state: tables and dropped segments cannot be read and
// set from outside.
type Facts struct {
	TableSet, TableGrow, TableFill, TableCopy, TableInit bool
	ElemDrop, DataDrop, MemoryInit                       bool
}

// note records an instruction.
func (f *Facts) note(op Op) {
	switch op {
	case OpTableSet:
		f.TableSet = true
	case OpTableGrow:
		f.TableGrow = true
	case OpTableFill:
		f.TableFill = true
	case OpTableCopy:
		f.TableCopy = true
	case OpTableInit:
		f.TableInit = true
	case OpElemDrop:
		f.ElemDrop = true
	case OpDataDrop:
		f.DataDrop = true
	case OpMemoryInit:
		f.MemoryInit = true
	}
}

// namesData says whether code refers to data segments by number.
func (f *Facts) namesData() bool { return f.DataDrop || f.MemoryInit }

// Unrestorable lists what keeps an instance from being put back to an earlier
// state by setting its memory and its globals: names of instructions, and
// "mutable global of type v128" or of a reference type. It is empty for a module
// that can be restored.
func (m *Module) Unrestorable() []string {
	var found []string
	for _, fact := range []struct {
		used bool
		name string
	}{
		{m.Facts.TableSet, "table.set"},
		{m.Facts.TableGrow, "table.grow"},
		{m.Facts.TableFill, "table.fill"},
		{m.Facts.TableCopy, "table.copy"},
		{m.Facts.TableInit, "table.init"},
		{m.Facts.ElemDrop, "elem.drop"},
		{m.Facts.DataDrop, "data.drop"},
	} {
		if fact.used {
			found = append(found, fact.name)
		}
	}
	reported := make(map[ValueType]bool)
	for i := range m.GlobalCount() {
		global := m.GlobalType(uint32(i))
		if global.Mutable && (global.Type == V128 || global.Type.Reference()) && !reported[global.Type] {
			reported[global.Type] = true
			found = append(found, "mutable global of type "+global.Type.String())
		}
	}
	return found
}

// PassiveSegments counts the data and element segments that code may copy from.
func (m *Module) PassiveSegments() (data, elements int) {
	for _, segment := range m.Data {
		if segment.Mode == Passive {
			data++
		}
	}
	for _, segment := range m.Elements {
		if segment.Mode == Passive {
			elements++
		}
	}
	return data, elements
}
