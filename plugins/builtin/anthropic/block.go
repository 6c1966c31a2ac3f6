package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// writer writes the content blocks of a request.
type writer struct {
	cache wire.Cache
	media wire.Media
}

// turn writes one message.
func (w writer) turn(dst []byte, turn wire.Turn) []byte {
	dst = jsonscan.AppendString(append(dst, `{"role":`...), turn.Role)
	dst = append(jsonscan.AppendField(dst, "content"), '[')
	for i := 0; i < len(turn.Parts); i++ {
		part := turn.Parts[i]
		if part.Hosted {
			if i+1 < len(turn.Parts) && isPair(part, turn.Parts[i+1]) {
				dst = hosted(wire.Comma(dst), part, turn.Parts[i+1])
				i++
				continue
			}
			dst = w.text(wire.Comma(dst), wire.Retold(part.Part), false)
			continue
		}
		dst = w.block(dst, part)
	}
	return append(dst, ']', '}')
}

func (w writer) block(dst []byte, part wire.TurnPart) []byte {
	switch part.Type {
	case abi.PartReasoning:
		return reasoning(wire.Comma(dst), part)
	case abi.PartToolCall:
		dst = append(wire.Comma(dst), `{"type":"tool_use"`...)
		dst = jsonscan.AppendString(jsonscan.AppendField(dst, "id"), wire.CallID(part.Call))
		dst = jsonscan.AppendString(jsonscan.AppendField(dst, "name"), part.Name)
		dst = append(jsonscan.AppendField(dst, "input"), wire.ObjectInput(part.Input)...)
		return w.end(dst, part.Mark)
	case abi.PartToolResult:
		return w.result(wire.Comma(dst), part)
	case abi.PartMedia:
		if !w.media.Takes(part.Part) {
			return w.text(wire.Comma(dst), wire.Unseen(part.Part), part.Mark)
		}
		return w.end(file(wire.Comma(dst), part.Part), part.Mark)
	}
	return w.text(wire.Comma(dst), part.Text, part.Mark)
}

// text writes a block of text, which must not be blank.
func (w writer) text(dst []byte, text string, mark bool) []byte {
	dst = jsonscan.AppendString(append(dst, `{"type":"text","text":`...), text)
	return w.end(dst, mark)
}

// end closes a block, with its mark.
func (w writer) end(dst []byte, mark bool) []byte {
	switch {
	case mark && w.cache.Hour:
		dst = append(dst, `,"cache_control":{"type":"ephemeral","ttl":"1h"}`...)
	case mark:
		dst = append(dst, `,"cache_control":{"type":"ephemeral"}`...)
	}
	return append(dst, '}')
}

// result writes what a tool answered; what it shows goes into the same block.
func (w writer) result(dst []byte, part wire.TurnPart) []byte {
	dst = append(dst, `{"type":"tool_result"`...)
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "tool_use_id"), wire.CallID(part.Call))
	var shown []abi.Part
	for _, file := range part.Files {
		if w.media.Takes(file) {
			shown = append(shown, file)
		}
	}
	blank := strings.TrimSpace(part.Text) == ""
	switch {
	case len(shown) == 0 && !blank:
		dst = jsonscan.AppendString(jsonscan.AppendField(dst, "content"), part.Text)
	case len(shown) > 0:
		dst = append(jsonscan.AppendField(dst, "content"), '[')
		if !blank {
			dst = w.text(dst, part.Text, false)
		}
		for _, one := range shown {
			dst = append(file(wire.Comma(dst), one), '}')
		}
		dst = append(dst, ']')
	}
	if part.Error {
		dst = append(dst, `,"is_error":true`...)
	}
	return w.end(dst, part.Mark)
}

// file writes an image or a document, whose bytes the host puts in, up to the end.
func file(dst []byte, part abi.Part) []byte {
	kind := "image"
	if part.Mime == "application/pdf" {
		kind = "document"
	}
	dst = jsonscan.AppendString(append(dst, `{"type":`...), kind)
	dst = jsonscan.AppendString(append(dst, `,"source":{"type":"base64","media_type":`...), part.Mime)
	dst = wire.AppendBlob(jsonscan.AppendField(dst, "data"), abi.BlobText{Blob: abi.Blob{Digest: part.Blob}, As: abi.BlobBase64})
	dst = append(dst, '}')
	if kind == "document" {
		dst = jsonscan.AppendStringField(dst, "title", part.Name)
	}
	return dst
}

// reasoning writes what the model thought, with what it signed that with.
func reasoning(dst []byte, part wire.TurnPart) []byte {
	s := wire.ReadSigned(part.Metadata)
	if s.Redacted != "" {
		dst = jsonscan.AppendString(append(dst, `{"type":"redacted_thinking","data":`...), s.Redacted)
		return append(dst, '}')
	}
	dst = jsonscan.AppendString(append(dst, `{"type":"thinking","thinking":`...), part.Text)
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "signature"), s.Signature)
	return append(dst, '}')
}

func (w writer) tool(dst []byte, tool toolSpec) []byte {
	if tool.server != nil {
		return append(dst, tool.server...)
	}
	dst = jsonscan.AppendString(append(dst, `{"name":`...), tool.name)
	dst = jsonscan.AppendStringField(dst, "description", tool.description)
	dst = append(jsonscan.AppendField(dst, "input_schema"), tool.schema...)
	return w.end(dst, tool.mark)
}
