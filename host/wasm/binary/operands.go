package binary

// operands reads what follows an opcode that is already written.
func (c *coder) operands(at int, form form) {
	switch form {
	case plain:
	case global:
		c.number("global", c.globals)
	case table:
		c.number("table", c.tables)
	case tset:
		c.m.Facts.note(OpTableSet)
		c.number("table", c.tables)
	case through:
		c.number("type", len(c.m.Types))
		c.number("table", c.tables)
	case typed:
		c.selectType(at)
	case mem0, mem1, mem2, mem3, mem4:
		c.address(at, uint32(form-mem0))
	case mlane0, mlane1, mlane2, mlane3:
		c.address(at, uint32(form-mlane0))
		c.lane(16 >> (form - mlane0))
	case lane16, lane8, lane4, lane2:
		c.lane(16 >> (form - lane16))
	case memory:
		c.memoryIndex(at)
	case f32b:
		c.raw(4)
	case f64b:
		c.raw(8)
	case v128b:
		c.raw(16)
	case mix:
		for range 16 {
			c.lane(32)
		}
	case null:
		c.out = append(c.out, byte(c.referenceType()))
	case ref:
		index := c.number("function", c.functions)
		if !c.failed() && (c.referable == nil || !c.referable[index]) {
			c.fail(at, "ref.func of function %d, which no export, element segment or global declares", index)
		}
	}
}

// raw copies bytes that mean themselves.
func (c *coder) raw(n uint32) { c.out = append(c.out, c.bytes(n)...) }

func (c *coder) lane(below byte) {
	at := c.pos
	lane := c.byte()
	if lane >= below {
		c.fail(at, "lane %d of %d", lane, below)
	}
	c.out = append(c.out, lane)
}

// address reads an alignment, as a power of two, and an offset.
func (c *coder) address(at int, natural uint32) {
	c.needMemory(at)
	alignAt := c.pos
	align := c.u32()
	switch {
	case c.failed():
	case align >= 64 && align < 128:
		c.unsupported(alignAt, proposalMultiMemory, "an access with a memory index")
	case align > natural:
		c.fail(alignAt, "an alignment of 2^%d, the access has 2^%d bytes", align, natural)
	}
	c.out = AppendUnsigned(c.out, align)
	c.out = AppendUnsigned(c.out, c.u32())
}

func (c *coder) needMemory(at int) {
	if !c.memory {
		c.fail(at, "an access to memory, but the module has none")
	}
}

// memoryIndex reads the one byte that stands for the memory.
func (c *coder) memoryIndex(at int) {
	c.needMemory(at)
	indexAt := c.pos
	if index := c.byte(); index != 0 {
		c.unsupported(indexAt, proposalMultiMemory, "memory %d", index)
	}
	c.out = append(c.out, 0)
}

func (c *coder) selectType(at int) {
	if n := c.u32(); n != 1 && !c.failed() {
		c.fail(at, "a select of %d types", n)
	}
	c.out = append(c.out, 1, byte(c.valueType()))
}

// bulk reads what follows the prefix 0xfc.
func (c *coder) bulk(at int) {
	sub := c.u32()
	if sub >= uint32(len(bulkForms)) {
		c.unknown(at, bulkProposal(sub), "instruction 0xfc %#x", sub)
		return
	}
	op := Op(0xfc00 | sub)
	c.m.Facts.note(op)
	c.out = append(c.out, 0xfc, byte(sub))
	switch form := bulkForms[sub]; form {
	case minit:
		c.dataIndex(at)
		c.memoryIndex(at)
	case data:
		c.dataIndex(at)
	case memtwo:
		c.memoryIndex(at)
		c.memoryIndex(at)
	case tinit:
		c.number("element segment", len(c.m.Elements))
		c.number("table", c.tables)
	case elem:
		c.number("element segment", len(c.m.Elements))
	case tables:
		c.number("table", c.tables)
		c.number("table", c.tables)
	case tgrow:
		c.growing(at, c.number("table", c.tables))
	default:
		c.operands(at, form)
	}
}

// dataIndex copies the number of a data segment. The data count section tells
// how many there are.
func (c *coder) dataIndex(at int) {
	if c.dataCount < 0 {
		c.fail(at, "an instruction names a data segment, but there is no data count section")
		return
	}
	c.number("data segment", int(c.dataCount))
}

// growing checks that a table cannot grow beyond what tables may have.
func (c *coder) growing(at int, index uint32) {
	if c.failed() || c.limits.UnboundedTables {
		return
	}
	const fix = "declare a most size for the table"
	switch t := c.m.Table(index); {
	case !t.HasMax:
		c.exceed(at, "table.grow of a table without a most size", 1, 0, "UnboundedTables", fix)
	case int64(t.Max) > int64(c.limits.TableEntries):
		c.exceed(at, "entries in a table that grows", int64(t.Max), int64(c.limits.TableEntries), "TableEntries", fix)
	}
}

// simd reads what follows the prefix 0xfd.
func (c *coder) simd(at int) {
	sub := c.u32()
	switch {
	case c.failed():
		return
	case sub > 0xff && sub <= 0x1ff:
		c.unsupported(at, proposalRelaxed, "instruction 0xfd %#x", sub)
		return
	case sub > 0xff || simdForms[sub] == none:
		c.fail(at, "instruction 0xfd %#x is unknown", sub)
		return
	}
	c.out = append(c.out, 0xfd)
	c.out = AppendUnsigned(c.out, sub)
	c.operands(at, simdForms[sub])
}
