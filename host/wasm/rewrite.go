package wasm

import (
	numbers "encoding/binary"
	"errors"
	"fmt"
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
	module.Customs = nil // the code does not follow from them
	var report meter.Report
	p.Wasm, report, err = meter.Rewrite(module, meter.Options{StripData: true})
	if err != nil {
		return nil, meterRefusal(err)
	}
	for _, global := range report.Globals {
		p.Globals = append(p.Globals, global.Name)
	}
	if len(report.Unrestorable) > 0 {
		p.Fixed = "its code uses what a restore cannot put back: " + strings.Join(report.Unrestorable, ", ")
	}
	if p.Data, err = packData(report.Data, p.Info.Memory); err != nil {
		return nil, err
	}
	p.Meter = time.Since(began)
	return p, checkElements(module)
}

// formLimits are the limits of a module's form.
func formLimits() binary.Limits {
	limits := binary.DefaultLimits()
	limits.ModuleBytes = MaxFileBytes
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

// checkSize holds a file to MaxFileBytes, and what it has besides custom sections to
// MaxModuleBytes.
func checkSize(wasm []byte) error {
	if len(wasm) > MaxFileBytes {
		return tooLarge(fmt.Sprintf("the file has %d bytes, the limit is %d", len(wasm), MaxFileBytes))
	}
	if len(wasm) <= MaxModuleBytes {
		return nil
	}
	all, err := customs(wasm)
	if err != nil {
		return err
	}
	size := len(wasm)
	for _, section := range all {
		size -= len(section.Data)
	}
	if size > MaxModuleBytes {
		return tooLarge(fmt.Sprintf("the module has %d bytes, the limit is %d", size, MaxModuleBytes))
	}
	return nil
}

func tooLarge(reason string) error {
	return &AdmissionError{Stage: StageParse, Offset: -1, Reason: reason, Fix: "build it smaller: without debug information, with size optimisation"}
}

func meterRefusal(err error) error {
	found, ok := errors.AsType[*meter.Error](err)
	if !ok {
		return err
	}
	return &AdmissionError{Stage: StageParse, Offset: -1, Reason: found.Reason, Fix: found.Fix}
}

const wasmPage = 64 << 10

// packData makes one piece of active segments, see prepared.fill. One that does not
// fit into the memory would have made instantiation fail.
func packData(segments []meter.Segment, memory Memory) ([]byte, error) {
	var packed []byte
	size := uint64(memory.Min) * wasmPage
	for _, segment := range segments {
		if end := uint64(segment.Offset) + uint64(len(segment.Bytes)); end > size {
			return nil, &AdmissionError{Stage: StageLimits, Offset: -1,
				Reason: fmt.Sprintf("a data segment ends at byte %d of the memory, which has %d", end, size),
				Fix:    "declare a memory that holds the module's data"}
		}
		packed = numbers.LittleEndian.AppendUint32(packed, segment.Offset)
		packed = numbers.LittleEndian.AppendUint32(packed, uint32(len(segment.Bytes)))
		packed = append(packed, segment.Bytes...)
	}
	return packed, nil
}

// checkElements refuses active element segments that do not fit into their table:
// wazero leaves such a table half filled and says nothing.
func checkElements(module *binary.Module) error {
	imported := module.Imported(binary.KindTable)
	for _, segment := range module.Elements {
		table := int(segment.Table) - imported
		if segment.Mode != binary.Active || segment.Offset.Op != binary.OpI32Const || table < 0 {
			continue
		}
		size := uint64(module.Tables[table].Min)
		if end := uint64(uint32(segment.Offset.Value)) + uint64(len(segment.Entries)); end > size {
			return &AdmissionError{Stage: StageLimits, Offset: -1,
				Reason: fmt.Sprintf("an element segment ends at entry %d of the table, which has %d", end, size),
				Fix:    "declare a table that holds the module's functions"}
		}
	}
	return nil
}
