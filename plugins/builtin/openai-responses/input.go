package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// input writes the list of input items. A message stays open, so that what belongs to
// it can still join.
type input struct {
	dst     []byte
	role    string // of the message that is open; empty for none
	options options
}

func appendInput(dst []byte, request abi.ModelRequest, o options) ([]byte, error) {
	in := &input{dst: append(dst, '['), options: o}
	if len(request.System) > 0 {
		texts := make([]string, len(request.System))
		for i, part := range request.System {
			texts[i] = part.Text
		}
		in.message(abi.RoleSystem)
		in.text(strings.Join(texts, "\n"))
	}
	for _, m := range request.Messages {
		if err := in.add(m); err != nil {
			return nil, err
		}
	}
	in.flush()
	return append(in.dst, ']'), nil
}

func (in *input) add(m abi.Message) error {
	switch m.Role {
	case abi.RoleUser:
		return in.user(m)
	case abi.RoleSystem:
		return in.update(m)
	case abi.RoleAssistant:
		return in.assistant(m)
	case abi.RoleTool:
		return in.results(m)
	}
	return plinth.Errorf(abi.KindInvalidInput, "message %s has the role %q; Responses knows user, assistant, tool and system", m.ID, m.Role)
}

// flush ends the message that is open.
func (in *input) flush() {
	if in.role != "" {
		in.dst = append(in.dst, ']', '}')
		in.role = ""
	}
}

// item begins the next item.
func (in *input) item() {
	in.flush()
	in.comma()
}

func (in *input) comma() {
	if in.dst[len(in.dst)-1] != '[' {
		in.dst = append(in.dst, ',')
	}
}

// message begins a message and leaves it open.
func (in *input) message(role string) {
	in.item()
	in.role = role
	in.dst = append(append(append(in.dst, `{"type":"message","role":"`...), role...), `","content":[`...)
}

// text adds a text to what is open.
func (in *input) text(text string) {
	in.comma()
	kind := "input_text"
	if in.role == abi.RoleAssistant {
		kind = "output_text"
	}
	in.dst = append(append(append(in.dst, `{"type":"`...), kind...), `","text":`...)
	in.dst = append(jsonscan.AppendString(in.dst, text), '}')
}

// file adds a file that the model takes to what is open.
func (in *input) file(file abi.Part) {
	in.comma()
	url := abi.BlobText{Blob: abi.Blob{Digest: file.Blob}, As: abi.BlobDataURL, Mime: file.Mime}
	if file.Mime != wire.PDF {
		in.dst = append(wire.AppendBlob(append(in.dst, `{"type":"input_image","image_url":`...), url), '}')
		return
	}
	name := file.Name
	if name == "" {
		name = "document.pdf" // the protocol wants one
	}
	in.dst = jsonscan.AppendString(append(in.dst, `{"type":"input_file","filename":`...), name)
	in.dst = append(wire.AppendBlob(jsonscan.AppendField(in.dst, "file_data"), url), '}')
}

func (in *input) user(m abi.Message) error {
	texts, files, err := wire.Separate(protocol, m, abi.PartText)
	if err != nil {
		return err
	}
	in.message(abi.RoleUser)
	for _, part := range texts {
		in.text(part.Text)
	}
	for _, file := range files {
		if in.options.takes.Takes(file) {
			in.file(file)
		} else {
			in.text(wire.Unseen(file))
		}
	}
	return nil
}

// update tells a change of the system context at its place in time: it joins what the
// user said before it, where a server that keeps only the first system message finds
// it too.
func (in *input) update(m abi.Message) error {
	texts, files, err := wire.Separate(protocol, m, abi.PartText)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		return wire.Unsupported(protocol, m, files[0], "text")
	}
	if in.role != abi.RoleUser {
		in.message(abi.RoleUser)
	}
	in.text(wire.SystemUpdate(wire.Joined(texts, "\n")))
	return nil
}

// results writes the outputs of calls, each with the files it shows.
func (in *input) results(m abi.Message) error {
	results, files, err := wire.Separate(protocol, m, abi.PartToolResult)
	if err != nil {
		return err
	}
	for _, result := range results {
		in.item()
		in.dst = jsonscan.AppendString(append(in.dst, `{"type":"function_call_output","call_id":`...), result.Call)
		in.dst = jsonscan.AppendField(in.dst, "output")
		var shown []abi.Part
		for _, file := range files {
			if file.Call == result.Call && in.options.takes.Takes(file) {
				shown = append(shown, file)
			}
		}
		if len(shown) == 0 {
			in.dst = append(jsonscan.AppendString(in.dst, result.Text), '}')
			continue
		}
		in.dst = append(in.dst, '[')
		in.text(result.Text)
		for _, file := range shown {
			in.file(file)
		}
		in.dst = append(in.dst, ']', '}')
	}
	return nil
}
