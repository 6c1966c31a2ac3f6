package replay

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
)

// Format is the version of the file's form.
const Format = 1

// Recording is one call of a guest.
type Recording struct {
	Header
	Steps []Step // in the order in which they happened
	End   End
}

// Header is what was known before the guest ran, and what the recording is good for.
type Header struct {
	Format   int            `json:"format"`
	Host     string         `json:"host"` // the host's version
	Plugin   string         `json:"plugin"`
	Revision string         `json:"revision"`
	Module   string         `json:"module"` // its SHA-256, in hexadecimal
	Meter    int            `json:"meter"`  // meter.Version: what the fuel counts
	Isolated wasm.Isolation `json:"isolation"`
	// Served is how many calls the instance had answered before, where it keeps their
	// traces.
	Served  int       `json:"served,omitempty"`
	Time    time.Time `json:"time"` // when the call began
	Session string    `json:"session,omitempty"`
	Call    string    `json:"call,omitempty"` // the caller's name for it
	// Scrubbed: secrets were taken out, so the guest does not see what it saw.
	Scrubbed bool `json:"scrubbed,omitempty"`
	// Cut: it went beyond the recorder's limit, and lacks what came then.
	Cut      bool          `json:"cut,omitempty"`
	Entry    string        `json:"entry"`
	Deadline time.Duration `json:"deadline_ns"`
	Limits   Limits        `json:"limits"`
	// Offered: the call could ask for operations.
	Offered bool `json:"offered"`
	// Start is what the start of the instance read of the world; nil: not recorded.
	Start []Step `json:"start"`
	Init  Data   `json:"init"` // the message of the init entry, with the settings
	Input Data   `json:"input"`
}

// Limits are those of the engine's that a guest can run into.
type Limits struct {
	MemoryMiB      int   `json:"memory_mib"`
	Fuel           int64 `json:"fuel,omitempty"` // of the call; 0 for none
	StackKiB       int   `json:"stack_kib"`
	InputBytes     int   `json:"input_bytes"`
	OutputBytes    int   `json:"output_bytes"`
	LogBytes       int   `json:"log_bytes"`
	Operations     int   `json:"operations"`
	OperationBytes int   `json:"operation_bytes"`
}

func limitsOf(l wasm.Limits) Limits {
	return Limits{MemoryMiB: l.MemoryMiB, Fuel: l.Fuel, StackKiB: l.StackKiB, InputBytes: l.InputBytes, OutputBytes: l.OutputBytes,
		LogBytes: l.LogBytes, Operations: l.Operations, OperationBytes: l.OperationBytes}
}

// engine leaves the fuel to the call: the start has its time.
func (l Limits) engine() wasm.Limits {
	return wasm.Limits{MemoryMiB: l.MemoryMiB, StackKiB: l.StackKiB, InputBytes: l.InputBytes, OutputBytes: l.OutputBytes,
		LogBytes: l.LogBytes, Operations: l.Operations, OperationBytes: l.OperationBytes, Instances: 1}
}

// Step is one thing that happened between the guest and its host. Exactly one field
// is set.
type Step struct {
	Realtime  *time.Time     `json:"realtime,omitempty"`
	Monotonic *time.Duration `json:"monotonic_ns,omitempty"`
	Random    []byte         `json:"random,omitempty"`
	Sleep     *Sleep         `json:"sleep,omitempty"`
	Log       *string        `json:"log,omitempty"` // a line
	Operation *Operation     `json:"operation,omitempty"`
}

// Sleep is a wait of the guest's.
type Sleep struct {
	Duration time.Duration `json:"duration_ns"`
	Stopped  bool          `json:"stopped,omitempty"` // the call ended during it
}

// Operation is what a guest asked of the host and what it was answered.
type Operation struct {
	// Name is empty where the engine refused it unread.
	Name    string `json:"name"`
	Request Data   `json:"request"`
	// Answer is as the guest saw it; nil where the call ended in the operation.
	Answer Data `json:"answer"`
	// Ended is set where the answer tells the guest that its call has ended.
	Ended *Ended `json:"ended,omitempty"`
}

// Ended is why a call has to end.
type Ended struct {
	Kind  string `json:"kind"` // wasm.KindDeadline or wasm.KindCancelled
	Cause string `json:"cause,omitempty"`
}

func endedOf(err error) *Ended {
	if err == nil {
		return nil
	}
	return &Ended{Kind: wasm.Kind(err), Cause: causeOf(err)}
}

// causeOf is why a call was cancelled.
func causeOf(err error) string {
	_, cause, _ := strings.Cut(err.Error(), wasm.ErrCancelled.Error()+": ")
	return cause
}

// cause is what to end a context with, so that the engine says the same.
func (e *Ended) cause() error {
	if e.Kind == wasm.KindDeadline {
		return wasm.ErrDeadline
	}
	return errors.New(e.Cause)
}

// End is how a call came out. It has an output or an error, and a cut recording may
// have neither.
type End struct {
	Output Data     `json:"output"`
	Error  *Failure `json:"error,omitempty"`
	// Failed: in the caller's judgement, which also reads the output.
	Failed   bool          `json:"failed"`
	Fuel     int64         `json:"fuel"`
	Memory   uint32        `json:"memory"` // in bytes
	Duration time.Duration `json:"duration_ns"`
}

// Failure is an error of the engine.
type Failure struct {
	Kind    string `json:"kind"` // as wasm.Kind has it
	Message string `json:"message"`
	// Detail is a trap's stack, what the host's fault was, or why it was cancelled.
	Detail string `json:"detail,omitempty"`
}

func failureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	f := &Failure{Kind: wasm.Kind(err), Message: err.Error()}
	if trap, ok := errors.AsType[*wasm.TrapError](err); ok {
		f.Detail = trap.Stack
	} else if fault, ok := errors.AsType[*wasm.HostError](err); ok {
		f.Detail = fault.Panic
	} else if f.Kind == wasm.KindCancelled {
		f.Detail = causeOf(err)
	}
	return f
}

// outside says whether the call was ended by something that is not in the recording:
// time, its caller, or a fault of the host.
func (f *Failure) outside() bool {
	return f != nil && (f.Kind == wasm.KindDeadline || f.Kind == wasm.KindCancelled || f.Kind == wasm.KindHost)
}

// err is an error of the same kind, for what ended from outside.
func (f *Failure) err(operation string) error {
	switch f.Kind {
	case wasm.KindDeadline:
		return wasm.ErrDeadline
	case wasm.KindCancelled:
		return fmt.Errorf("%w: %s", wasm.ErrCancelled, f.Detail)
	}
	return &wasm.HostError{Operation: operation, Panic: f.Detail}
}
