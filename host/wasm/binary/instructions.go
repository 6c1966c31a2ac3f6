package binary

// Instr is one instruction of a body.
type Instr struct {
	Op Op
	At uint32 // where it begins in Code; it ends where the next one begins
	// X is the BlockType of a block, loop or if; the label of a br or br_if; the
	// number of labels of a br_table, the last included; the function of a call
	// or ref.func; the bits of an i32.const; the segment of a memory.init,
	// data.drop, table.init or elem.drop. Else it has no meaning.
	X uint32
}

// Block is the type of a block, loop or if.
func (i Instr) Block() BlockType { return BlockType(int32(i.X)) }

// Instructions appends the instructions of the body to list and answers it. The
// last is the end of the function.
func (b Body) Instructions(list []Instr) []Instr {
	w := walker{code: b.Code}
	for w.pos < len(w.code) {
		at := w.pos
		op, form := w.op()
		list = append(list, Instr{Op: op, At: uint32(at), X: w.operands(form)})
	}
	return list
}

// Labels appends the labels of a br_table of the body to list, the default last.
func (b Body) Labels(table Instr, list []uint32) []uint32 {
	w := walker{code: b.Code, pos: int(table.At) + 1}
	w.u32()
	for range table.X {
		list = append(list, w.u32())
	}
	return list
}

// walker steps through canonical code, which needs no checks.
type walker struct {
	code []byte
	pos  int
}

func (w *walker) op() (Op, form) {
	b := w.code[w.pos]
	w.pos++
	switch form := forms[b]; form {
	case bulk:
		sub := w.u32()
		return Op(0xfc00 | sub), bulkForms[sub]
	case simd:
		sub := w.u32()
		return Op(0xfd00 | sub), simdForms[sub]
	default:
		return Op(b), form
	}
}

func (w *walker) u32() uint32 {
	b := w.code[w.pos]
	w.pos++
	if b < 0x80 {
		return uint32(b)
	}
	value := uint32(b & 0x7f)
	for shift := 7; ; shift += 7 {
		b := w.code[w.pos]
		w.pos++
		value |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
}

// s32 reads a signed number of at most 33 bits that is small enough for 32.
func (w *walker) s32() uint32 {
	var value int64
	for shift := 0; ; shift += 7 {
		b := w.code[w.pos]
		w.pos++
		value |= int64(b&0x7f) << shift
		if b < 0x80 {
			return uint32(value << (57 - shift) >> (57 - shift))
		}
	}
}

func (w *walker) skipNumber() {
	for w.code[w.pos] >= 0x80 {
		w.pos++
	}
	w.pos++
}

// operands passes what follows the opcode and answers Instr.X.
func (w *walker) operands(form form) (x uint32) {
	switch form {
	case plain, orElse, end:
	case block, c32:
		x = w.s32()
	case label, fn, ref, data, elem:
		x = w.u32()
	case local, global, table, tset, tgrow, c64:
		w.skipNumber()
	case labels:
		x = w.u32() + 1
		for range x {
			w.skipNumber()
		}
	case mem0, mem1, mem2, mem3, mem4, through, tables:
		w.skipNumber()
		w.skipNumber()
	case minit:
		x = w.u32()
		w.pos++
	case tinit:
		x = w.u32()
		w.skipNumber()
	case mlane0, mlane1, mlane2, mlane3:
		w.skipNumber()
		w.skipNumber()
		w.pos++
	case memory, null, lane16, lane8, lane4, lane2:
		w.pos++
	case memtwo, typed:
		w.pos += 2
	case f32b:
		w.pos += 4
	case f64b:
		w.pos += 8
	case v128b, mix:
		w.pos += 16
	}
	return x
}
