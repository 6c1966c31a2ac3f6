package binary

import "fmt"

// codeSection reads every body and writes it anew into one buffer, which the
// section's own size bounds: no instruction gets longer.
func (d *decoder) codeSection() {
	at := d.pos
	n := d.count("function bodies", d.limits.Functions, "Functions")
	if n != len(d.m.Functions) && !d.failed() {
		d.fail(at, "%d functions are declared, %d have bodies", len(d.m.Functions), n)
		return
	}
	d.m.Bodies = some[Body](n)
	d.out = make([]byte, 0, d.end-d.pos)
	whole := d.end
	for i := range d.m.Bodies {
		at := d.pos
		size := d.u32()
		if int64(size) > int64(d.limits.BodyBytes) {
			d.exceed(at, "bytes in a function", int64(size), int64(d.limits.BodyBytes), "BodyBytes", "split the function")
		}
		if uint64(size) > uint64(whole-d.pos) {
			d.fail(at, "%d bytes announced, %d are there", size, whole-d.pos)
		}
		if d.failed() {
			d.inFunction(i)
			return
		}
		d.end = d.pos + int(size)
		d.body(i)
		if d.finish("function, behind its end"); d.failed() {
			d.inFunction(i)
			return
		}
		d.end = whole
	}
}

// inFunction adds to the error which function it is in.
func (d *decoder) inFunction(defined int) {
	d.err.Section = fmt.Sprintf("%s, function %d", d.section, defined+d.m.Imported(KindFunction))
}

func (d *decoder) body(defined int) {
	body := &d.m.Bodies[defined]
	body.Locals = d.locals()
	c := coder{
		decoder: d,
		locals:  len(d.m.Types[d.m.Functions[defined]].Params),
		globals: d.m.GlobalCount(), functions: d.m.FunctionCount(),
		tables: d.m.count(KindTable), memory: d.m.count(KindMemory) > 0,
	}
	for _, group := range body.Locals {
		c.locals += int(group.Count)
	}
	start := len(d.out)
	d.frames = append(d.frames[:0], OpBlock)
	for len(d.frames) > 0 && !d.failed() {
		c.instruction()
	}
	body.Code = d.out[start:len(d.out):len(d.out)]
}

// locals reads groups of locals and joins neighbours of one type.
func (d *decoder) locals() []Locals {
	at := d.pos
	n := d.count("groups of locals", d.limits.Locals, "Locals")
	start := len(d.groups)
	if all := start + n; all > d.limits.LocalGroups {
		d.exceed(at, "groups of locals in all functions", int64(all), int64(d.limits.LocalGroups), "LocalGroups", "sort the locals by type")
		return nil
	}
	total := int64(0)
	for range n {
		count := d.u32()
		kind := d.valueType()
		if total += int64(count); total > int64(d.limits.Locals) {
			d.exceed(at, "locals in a function", total, int64(d.limits.Locals), "Locals", "split the function")
		}
		if d.failed() {
			return nil
		}
		switch last := len(d.groups) - 1; {
		case count == 0:
		case last >= start && d.groups[last].Type == kind:
			d.groups[last].Count += count
		default:
			d.groups = append(d.groups, Locals{Count: count, Type: kind})
		}
	}
	if len(d.groups) == start {
		return nil
	}
	return d.groups[start:len(d.groups):len(d.groups)]
}

// coder reads the instructions of one body.
type coder struct {
	*decoder
	locals    int // with parameters
	globals   int
	functions int
	tables    int
	memory    bool
}

// instruction reads one and writes it canonically.
func (c *coder) instruction() {
	at := c.pos
	op := c.byte()
	form := forms[op]
	if form < bulk {
		c.out = append(c.out, op)
	}
	switch form {
	case plain:
	case none:
		if c.failed() {
			return
		}
		c.unknown(at, opcodeProposal(op), "instruction %#x", op)
	case block:
		c.open(at, Op(op))
	case orElse:
		if c.frames[len(c.frames)-1] != OpIf {
			c.fail(at, "an else without an if")
			return
		}
		c.frames[len(c.frames)-1] = OpElse
	case end:
		if !c.failed() {
			c.frames = c.frames[:len(c.frames)-1]
		}
	case local:
		c.number("local", c.locals)
	case label:
		c.number("label", len(c.frames))
	case labels:
		c.branchTable()
	case fn:
		c.number("function", c.functions)
	case c32:
		c.out = AppendSigned(c.out, c.signed(32))
	case c64:
		c.out = AppendSigned(c.out, c.signed(64))
	case bulk:
		c.bulk(at)
	case simd:
		c.simd(at)
	default:
		c.operands(at, form)
	}
}

// unknown refuses an instruction, by the proposal it is of if any took it.
func (c *coder) unknown(at int, proposal, format string, args ...any) {
	if proposal != "" {
		c.unsupported(at, proposal, format, args...)
		return
	}
	c.fail(at, format+" is unknown", args...)
}

// number copies an index that must be below count.
func (c *coder) number(what string, count int) uint32 {
	index := c.index(what, count)
	c.out = AppendUnsigned(c.out, index)
	return index
}

func (c *coder) open(at int, op Op) {
	if len(c.frames) >= c.limits.Nesting {
		c.exceed(at, "blocks in each other", int64(len(c.frames)+1), int64(c.limits.Nesting), "Nesting", "split the function")
		return
	}
	c.frames = append(c.frames, op)
	c.out = AppendSigned(c.out, int64(c.blockType()))
}

func (c *coder) blockType() BlockType {
	at := c.pos
	if at < c.end && c.wasm[at]&0xc0 == 0x40 { // one negative byte
		if c.wasm[at] == 0x40 {
			c.pos++
			return Empty
		}
		return BlockType(c.valueType()) - 0x80
	}
	value := c.signed(33)
	if (value < 0 || value >= int64(len(c.m.Types))) && !c.failed() {
		c.fail(at, "type %d does not exist", value)
	}
	return BlockType(value)
}

func (c *coder) branchTable() {
	at := c.pos
	n := c.count("labels in a br_table", c.limits.Targets, "Targets")
	if c.targets += n; c.targets > c.limits.TargetsTotal {
		c.exceed(at, "labels in all br_table", int64(c.targets), int64(c.limits.TargetsTotal), "TargetsTotal", "split the module")
		return
	}
	c.out = AppendUnsigned(c.out, uint32(n))
	for range n + 1 {
		c.number("label", len(c.frames))
		if c.failed() {
			return
		}
	}
}
