package client

import (
	"slices"

	"github.com/plinthhost/plinth/client/protocol"
)

// Part applies the text of a part that is still streaming. A part that has closed
// and a message that has ended stay as they are.
func (t *Transcript) Part(update PartUpdate) {
	if update.Kind == protocol.KindSummary {
		if t.Compaction != nil && t.Compaction.Message == update.Message {
			t.Compaction.Text = update.Text
		}
		return
	}
	message := t.message(update.Message)
	if message == nil {
		t.early = append(slices.DeleteFunc(t.early, func(before PartUpdate) bool {
			return before.Message == update.Message && before.Part == update.Part && before.Kind == update.Kind
		}), update)
		return
	}
	key := streamKey{update.Message, update.Part, update.Kind}
	if text, known := t.streaming[key]; message.Completed != nil || known && text == nil {
		return
	}
	if t.streaming == nil {
		t.streaming = map[streamKey]*string{}
	}
	text := update.Text
	t.streaming[key] = &text
	part := t.part(message, update.Part, partType(update.Kind))
	part.Text = update.Text
	if part.Type == protocol.PartTool && part.Tool == nil {
		part.Tool = &protocol.ToolCall{State: protocol.ToolPending}
	}
}

func partType(kind protocol.PartKind) protocol.PartType {
	switch kind {
	case protocol.KindText:
		return protocol.PartText
	case protocol.KindReasoning:
		return protocol.PartReasoning
	default:
		return protocol.PartTool
	}
}

// part answers the message's newest part of that id and type, made when there is
// none.
func (t *Transcript) part(message *protocol.Message, id string, kind protocol.PartType) *protocol.Part {
	for i := range slices.Backward(message.Parts) {
		if part := &message.Parts[i]; part.ID == id && part.Type == kind {
			return part
		}
	}
	message.Parts = append(message.Parts, protocol.Part{ID: id, Type: kind})
	return &message.Parts[len(message.Parts)-1]
}

// closePart sets the whole text of a part.
func (t *Transcript) closePart(messageID, partID string, kind protocol.PartKind, text string) {
	message := t.message(messageID)
	if message == nil {
		return
	}
	t.forget(streamKey{messageID, partID, kind})
	t.part(message, partID, partType(kind)).Text = text
}

// forget marks a stream as closed, so that what arrives late changes nothing.
func (t *Transcript) forget(key streamKey) {
	if t.streaming == nil {
		t.streaming = map[streamKey]*string{}
	}
	t.streaming[key] = nil
}

// isStreaming tells whether a part has only what streamed.
func (t *Transcript) isStreaming(message string, part protocol.Part) bool {
	if part.Type == protocol.PartTool {
		return part.Tool == nil || part.Tool.State == protocol.ToolPending
	}
	kind := protocol.KindText
	if part.Type == protocol.PartReasoning {
		kind = protocol.KindReasoning
	}
	return t.streaming[streamKey{message, part.ID, kind}] != nil
}
