package replay

import (
	"context"
	"fmt"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/meter"
)

// DefaultMaxBytes and MostMaxBytes bound what a recording holds.
const (
	DefaultMaxBytes = 8 << 20
	MostMaxBytes    = 24 << 20
)

// Module is what a recorder stands before: a *wasm.Module.
type Module interface {
	Call(ctx context.Context, request wasm.Request) (wasm.Result, error)
	Name() string
	Init() []byte
	Report() wasm.Report
}

// Sink takes finished recordings. It is used by several calls at a time and must not
// change what it is given.
type Sink interface {
	Keep(recording *Recording) error
}

// Options of a recorder. Sink is required.
type Options struct {
	Sink     Sink
	Host     string // the host's version
	Revision string // the plugin's
	// When says before each call whether it is recorded; nil: always.
	When func() bool
	// MaxBytes bounds what a recording holds; DefaultMaxBytes by default, at most
	// MostMaxBytes.
	MaxBytes int
	// Scrubber takes secrets out before the sink sees the recording; nil: none.
	Scrubber Scrubber
	// CallID reads the caller's name of a call out of its input; nil: none.
	CallID func(input []byte) string
	// Failed says whether an output tells of a failure; nil: no output does.
	Failed func(output []byte) bool
	// Lost is told of a recording that was not kept; nil: nobody is.
	Lost func(err error)
}

// Recorder makes the calls of a module and records them. What a call answers, and
// when, does not depend on it.
type Recorder struct {
	module  Module
	options Options
}

// Record puts a recorder before a module, which must be loaded with Start as its
// Spec.Start.
func Record(module Module, options Options) *Recorder {
	if options.MaxBytes <= 0 {
		options.MaxBytes = DefaultMaxBytes
	}
	options.MaxBytes = min(options.MaxBytes, MostMaxBytes)
	return &Recorder{module: module, options: options}
}

// Call is the module's. A call that reaches no guest leaves no recording.
func (r *Recorder) Call(ctx context.Context, request wasm.Request) (wasm.Result, error) {
	if r.options.When != nil && !r.options.When() {
		return r.module.Call(ctx, request)
	}
	tape := &tape{left: r.options.MaxBytes, outer: request.Observer}
	observed := request
	observed.Observer = tape
	began := time.Now()
	result, err := r.module.Call(ctx, observed)
	if !tape.ran {
		return result, err
	}
	tape.finish(err)
	if lost := r.keep(r.recording(began, request, tape, result, err)); lost != nil && r.options.Lost != nil {
		r.options.Lost(fmt.Errorf("keep the recording of a call of %s: %w", r.module.Name(), lost))
	}
	return result, err
}

// keep hands a recording on, without secrets.
func (r *Recorder) keep(recording *Recording) error {
	if r.options.Scrubber != nil {
		recording = recording.Scrub(r.options.Scrubber)
	}
	return r.options.Sink.Keep(recording)
}

func (r *Recorder) recording(began time.Time, request wasm.Request, tape *tape, result wasm.Result, err error) *Recording {
	report := r.module.Report()
	recording := &Recording{Header: Header{
		Format: Format, Host: r.options.Host, Plugin: r.module.Name(), Revision: r.options.Revision,
		Module: report.Info.Digest, Meter: meter.Version, Isolated: report.Isolation, Served: result.Served,
		Time: began.UTC(), Session: request.Session, Entry: request.Entry, Deadline: request.Deadline,
		Limits: limitsOf(report.Limits), Offered: request.Operations != nil, Start: startOf(result.Start),
	}, Steps: tape.steps}
	if recording.Deadline <= 0 {
		recording.Deadline = report.Limits.Deadline
	}
	if request.Fuel > 0 {
		recording.Limits.Fuel = request.Fuel
	}
	if r.options.CallID != nil {
		recording.Call = r.options.CallID(request.Input)
	}
	if tape.room(len(request.Input)) {
		recording.Input = append(Data{}, request.Input...)
	}
	if init := r.module.Init(); init != nil && tape.room(len(init)) {
		recording.Init = append(Data{}, init...)
	}
	recording.End = End{Error: failureOf(err), Failed: err != nil, Fuel: result.Fuel, Memory: result.Memory, Duration: result.Duration}
	if err == nil {
		recording.End.Failed = r.options.Failed != nil && r.options.Failed(result.Output)
		if tape.room(len(result.Output)) {
			recording.End.Output = append(Data{}, result.Output...)
		}
	}
	recording.Cut = tape.cut
	return recording
}

// Failing keeps the calls that failed, and drops the others.
func Failing(sink Sink) Sink { return failing{sink} }

type failing struct{ sink Sink }

func (f failing) Keep(recording *Recording) error {
	if !recording.End.Failed {
		return nil
	}
	return f.sink.Keep(recording)
}

// CutError is a recording that lacks what came after its recorder's limit.
type CutError struct{ Plugin, Entry string }

func (e *CutError) Error() string {
	return fmt.Sprintf("the recording of a call of %s by %s was cut at its recorder's limit; record it again with a higher one", e.Entry, e.Plugin)
}
