package wasm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Limits of a module's form. They stop what would exhaust the compiler.
const (
	MaxModuleBytes = 16 << 20
	maxBodyBytes   = 1 << 20
	maxLocals      = 1024
	maxTable       = 10_000
	maxTypes       = 10_000
	maxValues      = 1_000 // parameters or results of one type
	maxFunctions   = 100_000
	maxImports     = 1_000
	maxExports     = 10_000
	maxGlobals     = 10_000
	maxElements    = 10_000
	maxSegments    = 200_000
	maxCustom      = 1_000
	maxName        = 64 << 10
)

// Kinds of an import or export.
const (
	KindFunction = "function"
	KindTable    = "table"
	KindMemory   = "memory"
	KindGlobal   = "global"
)

// Info is what a module says of itself, read without running it.
type Info struct {
	Digest    string // SHA-256 of the bytes, in hexadecimal
	Size      int    // bytes
	Imports   []Import
	Exports   []Export
	Custom    []Custom
	Memory    Memory
	Functions int  // defined ones
	Start     bool // has a start function
}

// Import is one import. Type is like "(i32,i32)->(i64)".
type Import struct {
	Module, Name, Type string
	Offset             int
}

// Export is one export. Type is set for functions.
type Export struct {
	Name, Kind, Type string
}

// Custom is a custom section. Data aliases the module.
type Custom struct {
	Name string
	Data []byte
}

// Memory is the one memory's declaration, in pages of 64 KiB. Max is 0 when none
// is declared.
type Memory struct {
	Min, Max uint32
}

// Export answers the export of that name.
func (i Info) Export(name string) (Export, bool) {
	for _, export := range i.Exports {
		if export.Name == name {
			return export, true
		}
	}
	return Export{}, false
}

// Section answers the data of the custom section of that name, nil when there is
// none. Two of one name are an error: one of them would go unread.
func (i Info) Section(name string) ([]byte, error) {
	var found []byte
	for _, custom := range i.Custom {
		if custom.Name != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("the custom section %q is there twice", name)
		}
		found = custom.Data
		if found == nil {
			found = []byte{}
		}
	}
	return found, nil
}

// Inspect reads a module's sections strictly, without compiling or running it.
// The error is an *AdmissionError of stage parse. Code is measured, not decoded:
// the compiler validates instructions.
func Inspect(wasm []byte) (Info, error) {
	info := Info{Size: len(wasm)}
	if len(wasm) > MaxModuleBytes {
		return info, &AdmissionError{
			Stage: StageParse, Offset: -1,
			Reason: fmt.Sprintf("the module has %d bytes, the limit is %d", len(wasm), MaxModuleBytes),
			Fix:    "build it smaller: without debug information, with size optimisation",
		}
	}
	if err := header(wasm); err != nil {
		return info, err
	}
	p := parser{reader: reader{wasm: wasm, pos: 8, end: len(wasm)}, info: &info}
	p.sections()
	if p.err == nil {
		p.resolve()
	}
	if p.err != nil {
		return info, p.err
	}
	digest := sha256.Sum256(wasm)
	info.Digest = hex.EncodeToString(digest[:])
	return info, nil
}

func header(wasm []byte) error {
	refusal := &AdmissionError{Stage: StageParse, Offset: 0}
	switch {
	case !bytes.HasPrefix(wasm, []byte("\x00asm")):
		refusal.Reason = "this is not a WebAssembly module"
		refusal.Fix = "give the .wasm file the compiler wrote, in binary form"
	case len(wasm) < 8:
		refusal.Reason, refusal.Offset = "the module ends within its header", len(wasm)
	case bytes.Equal(wasm[4:8], []byte{0x0d, 0, 1, 0}):
		refusal.Reason = "this is a component, only core modules are run"
		refusal.Fix = "build for wasip1: tinygo -target=wasip1 -buildmode=c-shared, or the Rust target wasm32-wasip1"
	case !bytes.Equal(wasm[4:8], []byte{1, 0, 0, 0}):
		refusal.Reason, refusal.Offset = fmt.Sprintf("unknown binary version % x", wasm[4:8]), 4
	default:
		return nil
	}
	return refusal
}
