package main

import (
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// writer writes the content blocks of a request.
type writer struct {
	hour  bool // of marks
	media wire.Media
	// retell tells calls and results as text: without tools in the request the API
	// refuses blocks of them.
	retell    bool
	documents int // so far; each needs a name of its own
}

// turn writes one message.
func (w *writer) turn(dst []byte, turn wire.Turn) []byte {
	dst = jsonscan.AppendString(append(dst, `{"role":`...), turn.Role)
	dst = append(jsonscan.AppendField(dst, "content"), '[')
	dst = w.caption(dst, turn)
	for _, part := range turn.Parts {
		dst = w.block(dst, part)
		if part.Mark {
			dst = w.mark(dst)
		}
	}
	return append(dst, ']', '}')
}

// caption is a word beside documents where the user said none: the API insists on a text.
func (w *writer) caption(dst []byte, turn wire.Turn) []byte {
	document := false
	for _, part := range turn.Parts {
		if part.Type == abi.PartText {
			return dst
		}
		document = document || part.Type == abi.PartMedia && part.Mime == pdf && w.media.Takes(part.Part)
	}
	if !document {
		return dst
	}
	return appendText(dst, "The documents:")
}

func (w *writer) block(dst []byte, part wire.TurnPart) []byte {
	switch part.Type {
	case abi.PartReasoning:
		return reasoning(wire.Comma(dst), part)
	case abi.PartToolCall, abi.PartToolResult:
		switch {
		case part.Hosted: // the protocol has no such tools
			return appendText(wire.Comma(dst), wire.Retold(part.Part))
		case w.retell:
			return w.files(appendText(wire.Comma(dst), retold(part)), part.Files)
		case part.Type == abi.PartToolCall:
			return call(wire.Comma(dst), part)
		}
		return w.result(wire.Comma(dst), part)
	case abi.PartMedia:
		if !w.media.Takes(part.Part) {
			return appendText(wire.Comma(dst), wire.Unseen(part.Part))
		}
		return w.file(wire.Comma(dst), part.Part)
	}
	return appendText(wire.Comma(dst), part.Text)
}

// mark writes the point up to which the provider should cache.
func (w *writer) mark(dst []byte) []byte {
	dst = append(wire.Comma(dst), `{"cachePoint":{"type":"default"`...)
	if w.hour {
		dst = append(dst, `,"ttl":"1h"`...)
	}
	return append(dst, '}', '}')
}

// appendText writes a block of text, which must not be blank.
func appendText(dst []byte, text string) []byte {
	return append(jsonscan.AppendString(append(dst, `{"text":`...), text), '}')
}

func call(dst []byte, part wire.TurnPart) []byte {
	dst = jsonscan.AppendString(append(dst, `{"toolUse":{"toolUseId":`...), wire.CallID(part.Call))
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "name"), part.Name)
	dst = append(jsonscan.AppendField(dst, "input"), wire.ObjectInput(part.Input)...)
	return append(dst, '}', '}')
}

// result writes what a tool answered; what it shows goes into the same block.
func (w *writer) result(dst []byte, part wire.TurnPart) []byte {
	dst = jsonscan.AppendString(append(dst, `{"toolResult":{"toolUseId":`...), wire.CallID(part.Call))
	dst = append(jsonscan.AppendField(dst, "content"), '[')
	if strings.TrimSpace(part.Text) != "" {
		dst = appendText(dst, part.Text)
	}
	dst = w.files(dst, part.Files)
	if dst[len(dst)-1] == '[' {
		dst = appendText(dst, "(nothing)")
	}
	dst = append(dst, ']')
	if part.Error { // models of some vendors know no status, so success is not told
		dst = append(dst, `,"status":"error"`...)
	}
	return append(dst, '}', '}')
}

// retold is a call or a result as text.
func retold(part wire.TurnPart) string {
	switch {
	case part.Type == abi.PartToolCall:
		return "[" + part.Name + " was called with " + wire.Arguments(part.Input) + "]"
	case part.Error:
		return "[" + part.Name + " failed: " + part.Text + "]"
	}
	return "[" + part.Name + " answered: " + part.Text + "]"
}

const pdf = "application/pdf"

// files writes those that the model can look at.
func (w *writer) files(dst []byte, files []abi.Part) []byte {
	for _, file := range files {
		if w.media.Takes(file) {
			dst = w.file(wire.Comma(dst), file)
		}
	}
	return dst
}

// file writes an image or a document, whose bytes the host puts in.
func (w *writer) file(dst []byte, file abi.Part) []byte {
	if file.Mime == pdf {
		w.documents++
		dst = append(dst, `{"document":{"format":"pdf","name":`...)
		dst = jsonscan.AppendString(dst, documentName(file.Name, w.documents))
	} else {
		_, format, _ := strings.Cut(file.Mime, "/")
		dst = jsonscan.AppendString(append(dst, `{"image":{"format":`...), format)
	}
	dst = wire.AppendBlob(append(dst, `,"source":{"bytes":`...), abi.BlobText{Blob: abi.Blob{Digest: file.Blob}, As: abi.BlobBase64})
	return append(dst, '}', '}', '}')
}

// documentName is a name as the API takes it: letters, digits, single spaces and some
// marks, no two alike in a request.
func documentName(name string, number int) string {
	fits := func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-()[]", c):
			return c
		}
		return ' '
	}
	const longest = 150
	words := strings.Join(strings.Fields(strings.Map(fits, strings.TrimSuffix(name, ".pdf"))), " ")
	return strings.TrimSpace("Document " + strconv.Itoa(number) + " " + words[:min(len(words), longest)])
}

// reasoning writes what the model thought, with what it signed that with.
func reasoning(dst []byte, part wire.TurnPart) []byte {
	s := wire.ReadSigned(part.Metadata)
	if s.Redacted != "" {
		dst = jsonscan.AppendString(append(dst, `{"reasoningContent":{"redactedContent":`...), s.Redacted)
		return append(dst, '}', '}')
	}
	dst = jsonscan.AppendString(append(dst, `{"reasoningContent":{"reasoningText":{"text":`...), part.Text)
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "signature"), s.Signature)
	return append(dst, '}', '}', '}')
}
