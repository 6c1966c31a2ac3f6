package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/wasm"
)

// FormatError is a file that is no recording.
type FormatError struct {
	File  string // empty from Decode
	Line  int    // 1 is the header; 0 for the whole file
	Field string // for example "limits.memory_mib"; empty for the whole line
	Err   error  // what is wrong and what to do
}

func (e *FormatError) Error() string {
	var text strings.Builder
	text.WriteString("recording")
	if e.File != "" {
		text.WriteString(" " + e.File)
	}
	if e.Line > 0 {
		fmt.Fprintf(&text, ": line %d", e.Line)
	}
	if e.Field != "" {
		text.WriteString(": " + e.Field)
	}
	return text.String() + ": " + e.Err.Error()
}

func (e *FormatError) Unwrap() error { return e.Err }

// Read reads the recording in a file of at most MaxFileBytes. What is in the file and
// no recording is a *FormatError.
func Read(path string) (*Recording, error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("read a recording: %w", err)
	}
	recording, err := Decode(text)
	if refusal, ok := errors.AsType[*FormatError](err); ok {
		refusal.File = path
	}
	return recording, err
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, MaxFileBytes+1)) // Decode refuses the one too many
}

// Decode reads a recording strictly: an unknown field, a missing line or a value that
// cannot have been recorded is a *FormatError.
func Decode(text []byte) (*Recording, error) {
	if len(text) > MaxFileBytes {
		return nil, &FormatError{Err: fmt.Errorf("it is larger than %d bytes; record with a lower limit", MaxFileBytes)}
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'})
	recording := new(Recording)
	if err := recording.header(lines[0]); err != nil {
		return nil, located(err, 1)
	}
	if len(lines) == 1 {
		return nil, &FormatError{Err: errors.New(`it ends after the header; its last line must be {"end": …}`)}
	}
	for i, line := range lines[1 : len(lines)-1] {
		var step Step
		err := strictly(line, &step)
		if err == nil {
			err = step.check()
		}
		if err != nil {
			return nil, located(err, i+2)
		}
		recording.Steps = append(recording.Steps, step)
	}
	if err := recording.end(lines[len(lines)-1]); err != nil {
		return nil, located(err, len(lines))
	}
	return recording, nil
}

// field is an error of one field; Decode adds the line.
func field(name, format string, args ...any) error {
	return &FormatError{Field: name, Err: fmt.Errorf(format, args...)}
}

func located(err error, line int) error {
	refusal, ok := errors.AsType[*FormatError](err)
	if !ok {
		refusal = &FormatError{Err: err}
	}
	refusal.Line = line
	return refusal
}

// strictly reads one JSON value without unknown fields.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && mistyped.Field != "" {
			return field(mistyped.Field, "a JSON %s does not fit here", mistyped.Value)
		}
		if unknown, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return field(strings.Trim(unknown, `"`), "there is no such field here; remove it")
		}
		if bad, ok := errors.AsType[*dataError](err); ok {
			return &FormatError{Field: blamed(text), Err: bad}
		}
		if errors.Is(err, io.EOF) {
			return errors.New("the line is empty; remove it")
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind the JSON value; a line holds one")
	}
	return nil
}

func (r *Recording) header(line []byte) error {
	var version struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(line, &version); err != nil {
		return errors.New(`the first line must be a header, {"format": 1, …}`)
	}
	if version.Format == nil || *version.Format != Format {
		return field("format", "this host reads the format %d; replay it with the host that recorded it", Format)
	}
	h := &r.Header
	if err := strictly(line, h); err != nil {
		return err
	}
	switch {
	case h.Plugin == "":
		return field("plugin", "it is missing; it is the plugin's id")
	case h.Entry == "":
		return field("entry", "it is missing; it is the export that was called")
	case len(h.Module) != 64 || strings.Trim(h.Module, "0123456789abcdef") != "":
		return field("module", "it must be the module's SHA-256, 64 hexadecimal digits in lower case")
	case h.Isolated != wasm.Restore && h.Isolated != wasm.Fresh && h.Isolated != wasm.Sticky:
		return field("isolation", "it is %q; it must be restore, fresh or sticky", h.Isolated)
	case h.Meter <= 0:
		return field("meter", "it is %d; it must be the meter's version, 1 or more", h.Meter)
	case h.Served < 0:
		return field("served", "it is %d; it must be 0 or more", h.Served)
	case h.Deadline <= 0 || h.Deadline > mostDeadline:
		return field("deadline_ns", "it is %d; it must be from 1 to %d", h.Deadline, mostDeadline)
	}
	for i, step := range h.Start {
		err := step.check()
		if err == nil && (step.Operation != nil || step.Log != nil) {
			err = errors.New("a start has realtime, monotonic_ns, random and sleep only")
		}
		if err != nil {
			return &FormatError{Field: fmt.Sprintf("start[%d]", i), Err: err}
		}
	}
	return h.Limits.check()
}

// What a file may ask of the machine that replays it.
const (
	mostDeadline = 24 * time.Hour
	mostBytes    = 1 << 30
)

func (l Limits) check() error {
	for _, limit := range []struct {
		name        string
		value, most int
	}{
		{"memory_mib", l.MemoryMiB, 2048}, {"stack_kib", l.StackKiB, 64 << 10}, {"input_bytes", l.InputBytes, mostBytes},
		{"output_bytes", l.OutputBytes, mostBytes}, {"log_bytes", l.LogBytes, mostBytes},
		{"operations", l.Operations, 1_000_000}, {"operation_bytes", l.OperationBytes, mostBytes},
	} {
		if limit.value <= 0 || limit.value > limit.most {
			return field("limits."+limit.name, "it is %d; it must be from 1 to %d", limit.value, limit.most)
		}
	}
	if l.Fuel < 0 {
		return field("limits.fuel", "it is %d; leave it out for none", l.Fuel)
	}
	return nil
}

func (s Step) check() error {
	set := 0
	for _, is := range []bool{s.Realtime != nil, s.Monotonic != nil, len(s.Random) > 0, s.Sleep != nil, s.Log != nil, s.Operation != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return errors.New("a step has exactly one of realtime, monotonic_ns, random, sleep, log and operation")
	case s.Sleep != nil && s.Sleep.Duration <= 0:
		return field("sleep.duration_ns", "it is %d; it must be more than 0", s.Sleep.Duration)
	case s.Operation != nil:
		return s.Operation.check()
	}
	return nil
}

func (o *Operation) check() error {
	switch {
	case o.Ended != nil && o.Ended.Kind != wasm.KindDeadline && o.Ended.Kind != wasm.KindCancelled:
		return field("operation.ended.kind", "it is %q; it must be %s or %s", o.Ended.Kind, wasm.KindDeadline, wasm.KindCancelled)
	case o.Ended != nil && o.Answer == nil:
		return field("operation.answer", "it is null, but ended says that the guest was told; take ended out, or add the answer")
	case o.Name == "" && o.Answer == nil:
		return field("operation.name", "it is missing; only an operation that the engine answers has none")
	}
	return nil
}

func (r *Recording) end(line []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte(`{"end":`)) {
		return errors.New(`the last line must be {"end": …}; the file was cut off`)
	}
	var last tail
	if err := strictly(line, &last); err != nil {
		return err
	}
	end := last.End
	switch {
	case end == nil:
		return field("end", "it is null; it holds what came of the call")
	case end.Output != nil && end.Error != nil:
		return field("end", "it has both output and error; leave one")
	case end.Output == nil && end.Error == nil && !r.Cut:
		return field("end", "it has neither output nor error")
	case end.Error != nil && end.Error.Kind == "":
		return field("end.error.kind", "it is missing")
	case end.Fuel < 0:
		return field("end.fuel", "it is %d; it must be 0 or more", end.Fuel)
	}
	r.End = *end
	if r.Cut {
		return nil
	}
	return r.stops()
}

// stops demands that only a call that ended with an error ends within a step.
func (r *Recording) stops() error {
	for i, step := range r.Steps {
		stopped := step.Sleep != nil && step.Sleep.Stopped || step.Operation != nil && step.Operation.Answer == nil
		if stopped && !r.End.Error.outside() {
			return field("end", "the call ended in step %d (line %d), so it has an error of kind %s, %s or %s",
				i+1, i+2, wasm.KindDeadline, wasm.KindCancelled, wasm.KindHost)
		}
	}
	return nil
}
