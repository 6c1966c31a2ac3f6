package wasm

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/wasm/binary"
	"github.com/plinthhost/plinth/host/wasm/meter"
)

// rewrite parses and meters a module.
func rewrite(wasm []byte) (*prepared, error) {
	began := time.Now()
	module, err := binary.Decode(wasm, formLimits())
	if err != nil {
		return nil, refusal(err)
	}
	p := &prepared{Info: infoOf(module, len(wasm)), Parse: time.Since(began)}
	began = time.Now()
	var report meter.Report
	p.Wasm, report, err = meter.Rewrite(module, meter.Options{StripData: true})
	if err != nil {
		return nil, meterRefusal(err)
	}
	p.Start = report.Start
	for _, global := range report.Globals {
		p.Globals = append(p.Globals, global.Name)
	}
	if len(report.Unrestorable) > 0 {
		p.Fixed = "its code uses what a restore cannot put back: " + strings.Join(report.Unrestorable, ", ")
	}
	p.DataAt, p.Data, err = flatten(report.Data, p.Info.Memory)
	p.Meter = time.Since(began)
	return p, err
}

// formLimits are the limits of a module's form.
func formLimits() binary.Limits {
	limits := binary.DefaultLimits()
	limits.ModuleBytes = MaxModuleBytes
	return limits
}

// refusal is a parse error as an admission error.
func refusal(err error) error {
	found, ok := errors.AsType[*binary.Error](err)
	if !ok {
		return err
	}
	reason := found.Reason
	if found.Section != "header" {
		reason += " (" + found.Section + ")"
	}
	return &AdmissionError{Stage: StageParse, Offset: found.Offset, Reason: reason, Fix: found.Fix}
}

func tooLarge(size int) error {
	return &AdmissionError{
		Stage: StageParse, Offset: -1,
		Reason: fmt.Sprintf("the module has %d bytes, the limit is %d", size, MaxModuleBytes),
		Fix:    "build it smaller: without debug information, with size optimisation",
	}
}

func meterRefusal(err error) error {
	found, ok := errors.AsType[*meter.Error](err)
	if !ok {
		return err
	}
	return &AdmissionError{Stage: StageParse, Offset: -1, Reason: found.Reason, Fix: found.Fix}
}

// flatten lays active segments over each other as instantiation would. One that
// does not fit into the memory would have made it fail.
func flatten(segments []meter.Segment, memory Memory) (at uint32, data []byte, err error) {
	if len(segments) == 0 {
		return 0, nil, nil
	}
	begin, end := uint64(math.MaxUint64), uint64(0)
	for _, segment := range segments {
		begin = min(begin, uint64(segment.Offset))
		end = max(end, uint64(segment.Offset)+uint64(len(segment.Bytes)))
	}
	if size := uint64(memory.Min) * wasmPage; end > size {
		return 0, nil, &AdmissionError{Stage: StageLimits, Offset: -1,
			Reason: fmt.Sprintf("a data segment ends at byte %d of the memory, which has %d", end, size),
			Fix:    "declare a memory that holds the module's data"}
	}
	data = make([]byte, end-begin)
	for _, segment := range segments {
		copy(data[uint64(segment.Offset)-begin:], segment.Bytes)
	}
	return uint32(begin), data, nil
}

const wasmPage = 64 << 10
