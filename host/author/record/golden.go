package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/golden"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/replay"
)

// ErrUnfit is a recording that no golden can be made of.
var ErrUnfit = errors.New("no golden can be made of this recording")

func unfit(format string, values ...any) error {
	return fmt.Errorf("%w: %s", ErrUnfit, fmt.Sprintf(format, values...))
}

// draft is a golden that is not written yet.
type draft struct {
	export string
	input  golden.Input
	output json.RawMessage // nil where the call came to no answer
	// uncertain counts what the guest saw of the clock and of randomness.
	uncertain int
	replaced  Replaced
}

// drafted makes a golden of a recording, without what must not be in it.
func drafted(call *replay.Recording, redaction Redaction) (draft, error) {
	d := draft{export: plugin.GoldenExport(call.Entry)}
	switch {
	case d.export == "":
		return d, unfit("%s is no entry that a golden calls", call.Entry)
	case call.Cut:
		return d, unfit("it was cut at its recorder's limit")
	}
	message, raw, err := abi.DecodeMessage(call.Input)
	if err != nil {
		return d, unfit("its input is no message: %v", err)
	}
	if len(raw) > 0 {
		return d, unfit("its input has %d raw bytes, and that of a golden has none", len(raw))
	}
	var called struct {
		Body json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(message, &called); err != nil || called.Body == nil {
		return d, unfit("its input has no body")
	}
	r := newRedactor(redaction, locations(called.Body))
	d.replaced = r.replaced
	// What is found by its name is taken out everywhere, before its name stood there too.
	for range 2 {
		clear(r.replaced)
		if err := d.redact(r, call, called.Body); err != nil {
			return d, err
		}
	}
	return d, nil
}

// redact fills in what the golden holds.
func (d *draft) redact(r *redactor, call *replay.Recording, body json.RawMessage) (err error) {
	d.input, d.output, d.uncertain = golden.Input{}, nil, 0
	if d.input.Body, err = r.json(body); err != nil {
		return unfit("its input: %v", err)
	}
	if d.input.Config, err = config(r, call.Init); err != nil {
		return unfit("its settings: %v", err)
	}
	for i, step := range call.Steps {
		switch {
		case step.Operation != nil:
			made, err := operationOf(r, step.Operation)
			if err != nil {
				return unfit("its operation %d: %v", i, err)
			}
			d.input.Operations = append(d.input.Operations, made)
		case step.Log == nil && step.Sleep == nil:
			d.uncertain++
		}
	}
	if call.End.Error == nil {
		answer, _, err := abi.DecodeMessage(call.End.Output)
		if err != nil {
			return unfit("its answer is no message: %v", err)
		}
		if d.output, err = r.json(answer); err != nil {
			return unfit("its answer: %v", err)
		}
	}
	return nil
}

// locations are the folders of the project that a call was made in.
func locations(body json.RawMessage) []string {
	var in struct {
		Location struct {
			Directory string `json:"directory"`
			Root      string `json:"root"`
		} `json:"location"`
	}
	if json.Unmarshal(body, &in) != nil {
		return nil
	}
	return []string{in.Location.Root, in.Location.Directory}
}

// config are the settings in the message of the init entry; nil for none.
func config(r *redactor, init []byte) (json.RawMessage, error) {
	if init == nil {
		return nil, nil
	}
	message, _, err := abi.DecodeMessage(init)
	if err != nil {
		return nil, err
	}
	var called struct {
		Body struct {
			Config json.RawMessage `json:"config"`
		} `json:"body"`
	}
	if err := json.Unmarshal(message, &called); err != nil {
		return nil, err
	}
	settings := called.Body.Config
	if len(settings) == 0 || bytes.Equal(settings, []byte("null")) {
		return nil, nil
	}
	return r.json(settings)
}

func operationOf(r *redactor, recorded *replay.Operation) (made golden.Operation, err error) {
	switch {
	case recorded.Name == "":
		return made, errors.New("the engine refused it unread")
	case recorded.Answer == nil || recorded.Ended != nil:
		return made, errors.New("the call was ended in it")
	}
	made.Op = recorded.Name
	request, _, err := abi.DecodeMessage(recorded.Request)
	if err != nil {
		return made, err
	}
	if made.Request, err = r.json(request); err != nil {
		return made, err
	}
	answer, raw, err := abi.DecodeMessage(recorded.Answer)
	if err != nil {
		return made, err
	}
	if made.Answer, err = r.json(answer); err != nil {
		return made, err
	}
	made.SetRaw(r.bytes(raw))
	return made, nil
}
