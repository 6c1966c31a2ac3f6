package bridge

import (
	"errors"

	"github.com/plinthhost/plinth/host/wasm"
)

// FaultKind is the sort of a fault of the engine.
type FaultKind string

// The faults of the engine: ways in which a guest gives no answer that are its own
// doing. They speak against its revision.
const (
	FaultTrap     FaultKind = "trap"     // it trapped, exited, ran out of stack or gave a pointer that is none
	FaultDeadline FaultKind = "deadline" // it ran out of time, or of fuel
	FaultAnswer   FaultKind = "answer"   // it returned, but not with a message of the contract
	FaultStart    FaultKind = "start"    // no instance of it starts, whatever the reason it gives
)

// Fault is a call that a guest broke.
type Fault struct {
	Kind FaultKind
	Err  error
}

// Fields of wasm.Limits whose end is the guest's doing: it is what takes the place of
// a deadline and of a trap there.
const (
	knobFuel  = "Fuel"
	knobStack = "StackKiB"
)

// faultOf says whether the error of a call is a fault of the engine; nil when not.
// None are: what the guest itself answers as an error, a call that was cancelled or
// found no free instance, a module that is closed, a limit of the host, an operation
// that was refused, and a host that broke.
func faultOf(err error) *Fault {
	kind := FaultKind("")
	unreadable, isUnreadable := errors.AsType[*answerError](err)
	trap, isTrap := errors.AsType[*wasm.TrapError](err)
	exit, isExit := errors.AsType[*wasm.ExitError](err)
	answer, isAnswer := errors.AsType[*wasm.AnswerError](err)
	limit, isLimit := errors.AsType[*wasm.LimitError](err)
	_, isHost := errors.AsType[*wasm.HostError](err)
	refusal, isRefusal := errors.AsType[*wasm.AdmissionError](err)
	switch {
	case err == nil, isHost, errors.Is(err, wasm.ErrCancelled), errors.Is(err, wasm.ErrBusy), errors.Is(err, wasm.ErrClosed):
	case isLimit && limit.Knob != knobStack && limit.Knob != knobFuel:
	case isRefusal && refusal.Stage == wasm.StageStart:
		kind, err = FaultStart, refusal
	case isUnreadable:
		kind, err = FaultAnswer, unreadable
	case isTrap:
		kind, err = FaultTrap, trap
	case isExit && exit.Message == "": // with one, it is how a guest of Extism words an error
		kind, err = FaultTrap, exit
	case isAnswer:
		kind, err = FaultAnswer, answer
	case isLimit && limit.Knob == knobStack:
		kind, err = FaultTrap, limit
	case isLimit:
		kind, err = FaultDeadline, limit
	case errors.Is(err, wasm.ErrDeadline):
		kind = FaultDeadline
	}
	if kind == "" {
		return nil
	}
	return &Fault{Kind: kind, Err: err}
}

// judges reports whether a call says something of its guest: it came to an answer or
// broke. What the host ended, or did not begin, says nothing.
func judges(err error) bool {
	if err == nil || faultOf(err) != nil {
		return true
	}
	_, isExit := errors.AsType[*wasm.ExitError](err)
	return isExit
}

// called tells the plugin's owner how a call ended.
func (p *Plugin) called(session string, err error) {
	if p.Called != nil && judges(err) {
		p.Called(session, faultOf(err))
	}
}

// answerForm is what an answer must be. The SDKs write it.
const answerForm = `an answer has 4 bytes with the length of its JSON, and {"ok": …} or {"error": …} behind them`

// answerError is an answer that is no message of the contract.
type answerError struct {
	plugin, entry string
	err           error
}

func (e *answerError) Error() string {
	return "plugin " + e.plugin + ": the answer of " + e.entry + " cannot be read: " + e.err.Error() + "; " + answerForm
}

func (e *answerError) Unwrap() error { return e.err }
