package binary

import "bytes"

// Section ids.
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

const sectionHeader = "header"

// sectionNames are what errors call the sections.
var sectionNames = [...]string{
	"custom", "type", "import", "function", "table", "memory", "global", "export",
	"start", "element", "code", "data", "data count",
}

// Decode reads a module. The error is an *Error. The module aliases wasm, which
// must not change while it is in use.
func Decode(wasm []byte, limits Limits) (*Module, error) {
	d := &decoder{
		reader: reader{wasm: wasm, end: len(wasm), section: sectionHeader},
		limits: limits, m: new(Module), dataCount: -1,
	}
	d.header()
	d.sections()
	d.complete()
	if d.err != nil {
		return nil, d.err
	}
	return d.m, nil
}

// decoder gathers a module. The reader stands within one section at a time.
type decoder struct {
	reader
	limits Limits
	m      *Module

	dataCount int64 // of the data count section, -1 without one
	entries   int   // of all element segments
	targets   int   // of all br_table
	// referable holds the functions that code may refer to: those named by an
	// export, an element segment or a global.
	referable   []bool
	custom      int  // custom sections so far
	named       bool // one of them was the name section
	nameContent []byte
	frames      []Op     // openers of the blocks that are open in the body being read
	out         []byte   // the canonical code of the bodies so far
	groups      []Locals // of the bodies so far
}

func (d *decoder) header() {
	wasm := d.wasm
	switch {
	case len(wasm) > d.limits.ModuleBytes:
		d.exceed(0, "bytes in the module", int64(len(wasm)), int64(d.limits.ModuleBytes), "ModuleBytes",
			"build it smaller: without debug information, with size optimisation")
	case !bytes.HasPrefix(wasm, []byte("\x00asm")):
		d.fail(0, "this is not a WebAssembly module")
		d.err.Fix = "give the .wasm file the compiler wrote, in binary form"
	case len(wasm) < 8:
		d.fail(len(wasm), "the module ends within its header")
	case wasm[6] != 0 || wasm[7] != 0:
		d.refuse(&Error{
			Offset: 4, Proposal: proposalComponents, Reason: "this is a component, only core modules are run",
			Fix: "build for wasip1: tinygo -target=wasip1 -buildmode=c-shared, or the Rust target wasm32-wasip1",
		})
	case wasm[4] != 1 || wasm[5] != 0:
		d.fail(4, "unknown binary version % x", wasm[4:8])
	default:
		d.pos = 8
	}
}

// sections walks the sections in the only order allowed.
func (d *decoder) sections() {
	last := 0
	for d.pos < d.end && !d.failed() {
		at := d.pos
		d.section = "module"
		id := d.byte()
		size := d.u32()
		if d.failed() {
			return
		}
		if id == sectionTag {
			d.unsupported(at, proposalExceptions, "section %d", id)
			return
		}
		if id > sectionTag {
			d.fail(at, "unknown section %d", id)
			return
		}
		d.section = sectionNames[id]
		if uint64(size) > uint64(d.end-d.pos) {
			d.fail(d.pos, "%d bytes announced, %d are there", size, d.end-d.pos)
			return
		}
		if id != sectionCustom {
			order := sectionOrder(id)
			if order <= last {
				d.fail(at, "section %d is there twice or out of order", id)
				return
			}
			last = order
		}
		whole := d.end
		d.end = d.pos + int(size)
		d.content(id)
		d.finish("section")
		d.end = whole
	}
}

// sectionOrder is the place of a section. The data count stands before the code.
func sectionOrder(id byte) int {
	if id == sectionDataCount {
		return 2*sectionElement + 1
	}
	return 2 * int(id)
}

func (d *decoder) content(id byte) {
	switch id {
	case sectionCustom:
		d.customSection()
	case sectionType:
		d.typeSection()
	case sectionImport:
		d.importSection()
	case sectionFunction:
		d.functionSection()
	case sectionTable:
		d.tableSection()
	case sectionMemory:
		d.memorySection()
	case sectionGlobal:
		d.globalSection()
	case sectionExport:
		d.exportSection()
	case sectionStart:
		d.startSection()
	case sectionElement:
		d.elementSection()
	case sectionDataCount:
		at := d.pos
		d.dataCount = int64(d.u32())
		if d.dataCount > int64(d.limits.DataSegments) {
			d.exceed(at, "data segments", d.dataCount, int64(d.limits.DataSegments), "DataSegments", "")
		}
	case sectionCode:
		d.codeSection()
	case sectionData:
		d.dataSection()
	}
}

// complete checks what only the whole module shows.
func (d *decoder) complete() {
	d.section = "module"
	d.m.Names = d.names(d.nameContent)
	switch {
	case d.failed():
	case len(d.m.Bodies) != len(d.m.Functions):
		d.fail(d.end, "%d functions are declared, %d have bodies", len(d.m.Functions), len(d.m.Bodies))
	case d.dataCount >= 0 && d.dataCount != int64(len(d.m.Data)):
		d.fail(d.end, "%d data segments are counted, %d are there", d.dataCount, len(d.m.Data))
	}
}
