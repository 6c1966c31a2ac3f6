// Package tool offers functions to the model. Importing it makes the module
// export plinth_tool_execute.
package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

// Call is what a tool knows of the call besides its input.
type Call struct {
	ID       string
	Message  string // the assistant message that made it
	Session  abi.Session
	Location abi.Location
	Timeout  time.Duration // how long it may run from now; waiting for a person does not count
	Meta     abi.Meta      // on whose behalf the call is made
}

// Output is a tool's result. Text is what the model reads. Structured and
// Metadata are encoded as JSON; nil leaves them out.
type Output struct {
	Text       string
	Files      []File
	Structured any
	Title      string // a few words for a person
	Metadata   any    // for clients, not for the model
}

// File is a file the model is shown: Data, or a Blob that the host gave in this call,
// as host.Attach does.
type File struct {
	Name string
	Mime string
	Data []byte
	Blob *abi.Blob
}

// noInput is JSON that stands where a tool's input will be.
var noInput = json.RawMessage("{}")

var tools = map[string]func(abi.Call[abi.ToolExecute]) (abi.ToolOutput, []byte, error){}

// Register offers run under a name of the manifest. The model's input is decoded
// into an In; a field that In does not have is an invalid_input error that names
// it. It panics when the name is taken.
func Register[In any](name string, run func(call Call, input In) (Output, error)) {
	if _, taken := tools[name]; taken {
		panic("tool " + name + " is registered twice")
	}
	guest.Enter(abi.ExportTool, execute)
	guest.Warm(abi.Call[abi.ToolExecute]{Body: abi.ToolExecute{Input: noInput}})
	guest.OnInit(func([]byte) error {
		_, _ = decodeInput[In](name, noInput) // to learn the type; whether it takes an empty input is its own matter
		return nil
	})
	tools[name] = func(call abi.Call[abi.ToolExecute]) (abi.ToolOutput, []byte, error) {
		input, err := decodeInput[In](name, call.Body.Input)
		if err != nil {
			return abi.ToolOutput{}, nil, err
		}
		output, err := run(Call{
			ID:       call.Body.Call.ID,
			Message:  call.Body.Call.Message,
			Session:  call.Body.Session,
			Location: call.Body.Location,
			Timeout:  time.Duration(call.DeadlineMS) * time.Millisecond,
			Meta:     call.Meta,
		}, input)
		if err != nil {
			return abi.ToolOutput{}, nil, err
		}
		return output.encode()
	}
}

func decodeInput[In any](name string, encoded []byte) (input In, err error) {
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&input); err != nil {
		return input, plinth.Errorf(abi.KindInvalidInput, "the input of %s: %v", name, err)
	}
	return input, nil
}

func execute(message []byte) []byte {
	call, _, err := guest.Decode[abi.ToolExecute](message)
	if err != nil {
		return guest.Fail(err)
	}
	run, ok := tools[call.Body.Tool]
	if !ok {
		return guest.Fail(plinth.Errorf(abi.KindNotFound, "this plugin has no tool %q", call.Body.Tool))
	}
	output, raw, err := run(call)
	if err != nil {
		return guest.Fail(err)
	}
	return guest.OK(outputJSON(output), raw)
}

// encode lays the files' bytes one after the other behind the message.
func (o Output) encode() (output abi.ToolOutput, raw []byte, err error) {
	output.Title = o.Title
	if o.Text != "" {
		output.Content = append(output.Content, abi.Content{Type: "text", Text: o.Text})
	}
	for _, file := range o.Files {
		content := abi.Content{Type: "file", Name: file.Name, Mime: file.Mime, Blob: file.Blob}
		if file.Blob == nil {
			content.Data = &abi.Bytes{Offset: len(raw), Length: len(file.Data)}
			raw = append(raw, file.Data...)
		}
		output.Content = append(output.Content, content)
	}
	if output.Structured, err = encodeAny(o.Structured); err != nil {
		return output, nil, fmt.Errorf("encode the structured output: %w", err)
	}
	if output.Metadata, err = encodeAny(o.Metadata); err != nil {
		return output, nil, fmt.Errorf("encode the metadata: %w", err)
	}
	return output, raw, nil
}

func encodeAny(value any) (json.RawMessage, error) {
	if value == nil {
		return nil, nil
	}
	return json.Marshal(value)
}
