package wasm

import (
	"errors"
	"fmt"
	"strings"
)

// What a call can end with besides the error types below.
var (
	// ErrDeadline ends a call, or an initialisation, that ran out of time.
	ErrDeadline = errors.New("deadline passed")
	// ErrCancelled ends a call whose caller's context ended first; it comes with
	// the context's cause.
	ErrCancelled = errors.New("call cancelled")
	// ErrBusy ends a call that found no free instance within its deadline.
	ErrBusy = errors.New("no free instance")
	// ErrClosed is the answer of a closed engine or module.
	ErrClosed = errors.New("closed")
	// ErrEntry is the answer to a call of an export that Spec.Entries does not list.
	ErrEntry = errors.New("no such entry")
	// ErrUnavailable is handed to Options.Refuse when a guest asks for an operation
	// where none are offered, as during its initialisation.
	ErrUnavailable = errors.New("host operations are not offered here")
)

// Stages of admission.
const (
	StageParse   = "parse"   // the bytes are not a module this engine runs
	StageExports = "exports" // something it must export is missing or mistyped
	StageImports = "imports" // it imports what is not served
	StageLimits  = "limits"  // it asks for more than Spec.Limits allow
	StageCompile = "compile"
	StageStart   = "start" // its start function, _initialize or init entry failed
)

// AdmissionError says why a module cannot run.
type AdmissionError struct {
	Module string // Spec.Name; empty from Inspect
	Stage  string
	Offset int    // byte of the module, -1 when the reason has no place
	Reason string // what is wrong
	Fix    string // what to do about it; may be empty
	Err    error  // the cause, for compile and start
}

func (e *AdmissionError) Error() string {
	var text strings.Builder
	if e.Module != "" {
		text.WriteString("module " + e.Module + ": ")
	}
	text.WriteString(e.Stage)
	if e.Offset >= 0 {
		fmt.Fprintf(&text, " at byte %d", e.Offset)
	}
	text.WriteString(": " + e.Reason)
	if e.Err != nil {
		text.WriteString(": " + e.Err.Error())
	}
	if e.Fix != "" {
		text.WriteString("; " + e.Fix)
	}
	return text.String()
}

func (e *AdmissionError) Unwrap() error { return e.Err }

// TrapError is a guest that ended its call by a trap, by an exit, or by handing
// the host a pointer outside of its memory.
type TrapError struct {
	Function string // the innermost guest function, as the name section calls it
	Reason   string
	Stack    string // guest frames, innermost first, one per line
	// Panic is the line with which the guest's runtime told of a panic before it ended
	// the call, at most 1 KiB; empty when it told of none.
	Panic string
	Hint  string // what may be behind it, and what to do about that; may be empty
}

func (e *TrapError) Error() string {
	text := "trap: " + e.Reason
	if e.Function != "" {
		text = "trap in " + e.Function + ": " + e.Reason
	}
	if e.Panic != "" {
		text += ": " + e.Panic
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// AnswerError is a guest that returned, but not with an answer.
type AnswerError struct {
	Reason string
}

func (e *AnswerError) Error() string { return "invalid answer: " + e.Reason }

// ExitError is an entry of a module built with an Extism PDK that returned, but
// with an exit code other than 0 or with an error message set.
type ExitError struct {
	Code    uint32
	Message string // valid UTF-8, cut at 16 KiB; empty when the guest set none
	Output  []byte // what it had set nevertheless
}

func (e *ExitError) Error() string {
	text := fmt.Sprintf("exit code %d", int32(e.Code))
	if e.Message != "" {
		text += ": " + clean(e.Message, maxExitLine)
	}
	return text
}

// LimitError is a size or a count beyond its limit. Knob names the field of
// Limits that sets it, or is empty for a fixed limit.
type LimitError struct {
	What  string
	Got   int64 // 0 when unknown
	Limit int64
	Knob  string
}

func (e *LimitError) Error() string {
	text := fmt.Sprintf("%s: the limit is %d", e.What, e.Limit)
	if e.Got > 0 {
		text = fmt.Sprintf("%s: %d, the limit is %d", e.What, e.Got, e.Limit)
	}
	if e.Knob != "" {
		text += " (" + e.Knob + ")"
	}
	if fix := raise(e.Knob); fix != "" {
		text += "; " + fix
	}
	return text
}

// raise says how the author of a module raises a field of Limits, "" where a manifest
// does not set it.
func raise(knob string) string {
	key := map[string]string{
		"MemoryMiB": "memory_mib", "HandleMiB": "memory_mib", "Start": "start_ms", "Fuel": "fuel", "StackKiB": "stack_kib",
		"OutputBytes": "output_kib", "LogBytes": "log_kib", "Operations": "operations",
	}[knob]
	if key == "" {
		return ""
	}
	return "raise " + key + " of [limits] in its manifest"
}

// HostError is a panic of a host operation, or of another function the host
// offers: a fault of the host, not of the guest.
type HostError struct {
	Operation string // its name, or the import's
	Panic     string
	Stack     string
}

func (e *HostError) Error() string {
	return "host operation " + e.Operation + " panicked: " + e.Panic
}

// Kinds of an error, for metrics and for the edges.
const (
	KindAdmission   = "admission"
	KindTrap        = "trap"
	KindAnswer      = "answer"
	KindExit        = "exit"
	KindLimit       = "limit"
	KindDeadline    = "deadline"
	KindCancelled   = "cancelled"
	KindBusy        = "busy"
	KindClosed      = "closed"
	KindUnavailable = "unavailable"
	KindHost        = "host"
	KindOther       = "other"
)

// Kind sorts an error of this package; "" for nil.
func Kind(err error) string {
	if err == nil {
		return ""
	}
	if kind := kindOfType(err); kind != "" {
		return kind
	}
	switch {
	case errors.Is(err, ErrDeadline):
		return KindDeadline
	case errors.Is(err, ErrCancelled):
		return KindCancelled
	case errors.Is(err, ErrBusy):
		return KindBusy
	case errors.Is(err, ErrClosed):
		return KindClosed
	case errors.Is(err, ErrUnavailable):
		return KindUnavailable
	}
	return KindOther
}

func kindOfType(err error) string {
	var (
		admission *AdmissionError
		trap      *TrapError
		answer    *AnswerError
		exit      *ExitError
		limit     *LimitError
		host      *HostError
	)
	switch {
	case errors.As(err, &admission):
		return KindAdmission
	case errors.As(err, &trap):
		return KindTrap
	case errors.As(err, &answer):
		return KindAnswer
	case errors.As(err, &exit):
		return KindExit
	case errors.As(err, &limit):
		return KindLimit
	case errors.As(err, &host):
		return KindHost
	}
	return ""
}
