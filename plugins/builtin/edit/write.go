package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// writeInput is the input of write.
type writeInput struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
}

// written is its structured output.
type written struct {
	Operation string `json:"operation"` // "created" or "replaced"
	Path      string `json:"path"`
	Lines     int    `json:"lines"`
	Bytes     int    `json:"bytes"` // with a byte-order mark
}

func (in writeInput) check() error {
	if err := checkPath(in.Path); err != nil {
		return err
	}
	switch {
	case in.Content == nil:
		return plinth.Errorf(abi.KindInvalidInput, "content is missing; give an empty text for an empty file")
	case len(*in.Content) > maxFile:
		return plinth.Errorf(abi.KindLimit, "content has %d bytes; the most is %d", len(*in.Content), maxFile)
	}
	return nil
}

// write puts content into a file, behind the byte-order mark of the one that is there and
// with its line endings.
func write(_ tool.Call, in writeInput) (tool.Output, error) {
	if err := in.check(); err != nil {
		return tool.Output{}, err
	}
	change := host.Change{FSChange: abi.FSChange{Op: "write", Path: in.Path, Expect: absent, Parents: true}}
	before, err := load(in.Path)
	switch kindOf(err) {
	case "":
		change.Expect = before.digest
	case abi.KindNotFound:
	default:
		return tool.Output{}, err
	}
	text := strings.TrimLeft(*in.Content, byteOrderMark)
	mark := before.mark()
	if len(text) < len(*in.Content) {
		mark = byteOrderMark
	}
	crlf := before.crlf() && strings.Contains(text, "\n") && !strings.Contains(text, "\r")
	if crlf {
		text = withCRLF(text)
	}
	change.Content = []byte(mark + text)
	if len(change.Content) > maxFile {
		return tool.Output{}, plinth.Errorf(abi.KindLimit, "content has %d bytes with the byte-order mark and the line endings of %s; the most is %d", len(change.Content), in.Path, maxFile)
	}
	changed, err := commitOne(change)
	if kindOf(err) == abi.KindConflict {
		return tool.Output{}, plinth.Errorf(abi.KindConflict, "%s changed on disk before it was written; read it, then decide what to write", in.Path)
	} else if err != nil {
		return tool.Output{}, err
	}
	out := written{Operation: "created", Path: changed.Path, Lines: countLines(text), Bytes: len(change.Content)}
	said := "Created "
	if changed.Existed {
		out.Operation, said = "replaced", "Replaced "
	}
	said += out.Path + ": " + plural(out.Lines, "line") + ", " + plural(out.Bytes, "byte")
	if crlf {
		said += ", with its CRLF line endings"
	}
	said += "."
	return tool.Output{Text: said, Title: out.Path, Structured: out}, nil
}
