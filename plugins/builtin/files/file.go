package main

import (
	"fmt"
	"unicode/utf8"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// Sizes of the ranges asked for: the first, and those that only step over lines.
const (
	chunk     = 64 << 10
	skipChunk = 512 << 10
)

// whole answers a small file as it is, so that the model can quote any of it.
func (in input) whole(info abi.FileInfo) (tool.Output, error) {
	file, err := host.Read(abi.FSRead{Path: abi.Path{Path: in.Path}, Length: chunk})
	if err != nil {
		return tool.Output{}, err
	}
	if mime := mediaType(file.Data); mime != "" {
		return in.media(file.Info, mime)
	}
	if err := checkText(in.Path, file.Data); err != nil {
		return tool.Output{}, err
	}
	if !file.EOF || len(file.Data) > maxBytes {
		return in.page(file.Info) // it has grown since
	}
	text := string(file.Data)
	lines := countLines(text)
	switch {
	case lines > maxLines:
		return in.page(file.Info)
	case !utf8.ValidString(text):
		return tool.Output{}, notUTF8(in.Path)
	}
	if text == "" {
		text = "(the file is empty)"
	}
	return tool.Output{
		Text:       text,
		Title:      info.Path,
		Structured: result{Type: "file", Path: info.Path, Offset: 1, Count: lines, Size: int64(len(file.Data))},
	}, nil
}

// page answers the lines from offset on. The text is the file's own, without
// numbers before the lines: what the model quotes must be found in the file. What
// it has to know of the page follows behind a blank line.
func (in input) page(info abi.FileInfo) (tool.Output, error) {
	p := pager{offset: in.offset(), limit: in.limit(), room: room(info.Path), line: 1}
	mime, err := in.feed(&p, info)
	switch {
	case err != nil:
		return tool.Output{}, err
	case mime != "":
		return in.media(info, mime)
	}
	if p.invalid {
		return tool.Output{}, notUTF8(in.Path)
	}
	if p.count == 0 && p.offset > 1 {
		return tool.Output{}, in.pastEnd(p.line-1, "line", "lines")
	}
	out := result{Type: "file", Path: info.Path, Offset: p.offset, Count: p.count, Size: info.Size, Truncated: p.more}
	text := string(p.text)
	switch {
	case p.count == 0:
		text = "(the file is empty)"
	case p.more:
		out.Next = p.offset + p.count
		text += fmt.Sprintf("\n\n(showing lines %d-%d of %s; next offset %d)", p.offset, out.Next-1, info.Path, out.Next)
	default:
		last := p.offset + p.count - 1
		text += fmt.Sprintf("\n\n(showing lines %d-%d of %d of %s)", p.offset, last, last, info.Path)
	}
	return tool.Output{Text: text, Title: info.Path, Structured: out}, nil
}

// feed reads the file until the page is full. Of what is no text but can be shown it
// answers the type and reads no further.
func (in input) feed(p *pager, info abi.FileInfo) (mime string, err error) {
	for at := int64(0); ; {
		length := int64(chunk)
		if at > 0 && p.line < p.offset {
			length = skipChunk
		}
		file, err := host.Read(abi.FSRead{Path: abi.Path{Path: in.Path}, Offset: at, Length: length})
		if err != nil {
			return "", in.tooLong(err)
		}
		if at == 0 {
			if mime := mediaType(file.Data); mime != "" {
				return mime, nil
			}
			err = checkText(in.Path, file.Data)
		} else {
			err = checkNUL(in.Path, file.Data)
		}
		if err != nil {
			return "", err
		}
		if file.Info.Size != info.Size || file.Info.ModifiedMS != info.ModifiedMS {
			return "", changed(in.Path)
		}
		at += int64(len(file.Data))
		if p.take(file.Data, file.EOF || at >= info.Size || len(file.Data) == 0) {
			return "", nil
		}
	}
}

// tooLong says what it means that the host reads no further.
func (in input) tooLong(err error) error {
	if plinth.KindOf(err) == abi.KindLimit {
		return plinth.Errorf(abi.KindLimit, "%s is too long to be read up to offset %d", in.Path, in.offset())
	}
	return err
}

func countLines(text string) (lines int64) {
	for i := range len(text) {
		if text[i] == '\n' {
			lines++
		}
	}
	if text != "" && text[len(text)-1] != '\n' {
		lines++
	}
	return lines
}
