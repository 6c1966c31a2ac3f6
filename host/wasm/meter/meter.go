package meter

import (
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/host/wasm/binary"
)

// Version is of the weights and of where they are charged. The same work costs
// something else under another version.
const Version = 1

// The names a rewritten module has on top of its own.
const (
	Module  = "plinth:meter" // of the import
	Yield   = "yield"        // its name; the type is ()->()
	Prefix  = "plinth:meter/"
	Counter = Prefix + "counter" // the exported counter, a mutable i64, 0 at first
	Start   = Prefix + "start"   // the exported start function, which nothing else calls
	globals = Prefix + "global/" // and the number of a mutable global in the original
)

// DefaultMaxBytes bounds the rewritten module when Options do not.
const DefaultMaxBytes = 32 << 20

// Options of a rewriting.
type Options struct {
	// StripData takes the active data segments out of the module and hands them
	// to the caller, for instances whose memory comes from an image.
	StripData bool
	// MaxBytes bounds the rewritten module; 0 is DefaultMaxBytes. Code made of
	// nothing but loops grows ninefold.
	MaxBytes int
}

// Report is what a host has to know of a rewritten module.
type Report struct {
	Start   bool      // there is a start function: call the export Start
	Globals []Global  // the mutable globals the module defines, in its order
	Data    []Segment // with StripData, in order; later ones overwrite earlier ones
	// Unrestorable is why setting memory and Globals does not put an instance
	// back to an earlier state; empty when it does.
	Unrestorable []string

	Code, MeteredCode int // bytes of all functions, before and after
	Functions         int // defined by the original
	Exempt            int // of them: charged by their callers
	Folded            int // of them: charged by the loop they begin with
	Loops             int // that are charged
	Bulk              int // instructions that copy or fill in pieces
}

// Global is a mutable global under the name it is exported by. A global of type
// v128 cannot be set whole from outside.
type Global struct {
	Name string
	Type binary.ValueType
}

// Segment is a data segment to be written before anything runs. The original
// module would not have been instantiated had one not fitted into its memory.
type Segment struct {
	Offset uint32
	Bytes  []byte
}

// Error is why a module is not rewritten.
type Error struct {
	Reason string
	Fix    string
}

func (e *Error) Error() string {
	if e.Fix == "" {
		return e.Reason
	}
	return e.Reason + "; " + e.Fix
}

// Rewrite answers the metered form of a decoded module, which it does not change.
// The error is an *Error.
func Rewrite(module *binary.Module, options Options) ([]byte, Report, error) {
	if err := checkReserved(module); err != nil {
		return nil, Report{}, err
	}
	if options.MaxBytes == 0 {
		options.MaxBytes = DefaultMaxBytes
	}
	r := newRewriter(module, options)
	if err := r.data(); err != nil {
		return nil, Report{}, err
	}
	r.boundary()
	if err := r.bodies(); err != nil {
		return nil, Report{}, err
	}
	r.segments()
	r.customs()
	wasm := r.out.Encode()
	if len(wasm) > options.MaxBytes {
		return nil, Report{}, tooLarge(len(wasm), options.MaxBytes)
	}
	return wasm, r.report, nil
}

func tooLarge(got, limit int) error {
	return &Error{
		Reason: fmt.Sprintf("the metered module has %d bytes or more, the limit is %d (Options.MaxBytes)", got, limit),
		Fix:    "build a smaller module",
	}
}

// checkReserved refuses a module that uses the names of this package.
func checkReserved(m *binary.Module) error {
	const fix = "names that begin with plinth:meter belong to the host"
	for _, entry := range m.Imports {
		if entry.Module == Module || strings.HasPrefix(entry.Module, Prefix) {
			return &Error{Reason: fmt.Sprintf("the module imports %q of %q", entry.Name, entry.Module), Fix: fix}
		}
	}
	for _, export := range m.Exports {
		if strings.HasPrefix(export.Name, Prefix) {
			return &Error{Reason: fmt.Sprintf("the module exports %q", export.Name), Fix: fix}
		}
	}
	return nil
}
