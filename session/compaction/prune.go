package compaction

import (
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/session"
)

// Note is what the model reads in the place of a pruned result of so many bytes.
func Note(bytes int) string {
	return fmt.Sprintf("[result removed to save room: %d bytes; call the tool again if it matters]", bytes)
}

// Bytes are of the result that a model is sent of a call.
func Bytes(tool *session.ToolPart) int {
	bytes := 0
	for _, content := range tool.Content {
		bytes += len(content.Text)
	}
	if len(tool.Content) == 0 {
		bytes = len(tool.Structured)
	}
	return bytes
}

// Prunable answers the results that can go, oldest first, and the tokens that this
// saves: of completed calls of the host's own tools, older than the newest budget.Recent
// tokens of such results. Nothing goes where it saves less than budget.Saving: what is
// sent differs from there on, and a provider's cache of it is lost.
func Prunable(history []session.Message, budget Budget) (calls []session.CallRef, saved int64) {
	recent := int64(0)
	for _, message := range slices.Backward(history) {
		for _, part := range slices.Backward(message.Parts) {
			if part.Tool == nil || part.Tool.Hosted || part.Tool.State != session.ToolStateCompleted || part.Tool.Pruned != 0 {
				continue
			}
			bytes := Bytes(part.Tool)
			result := size{bytes: bytes}
			for _, content := range part.Tool.Content {
				if content.Blob != "" {
					result.media += medium(content.Mime)
				}
			}
			if recent += result.tokens(); recent <= budget.Recent {
				continue
			}
			if gain := result.tokens() - tokens(len(Note(bytes))); gain > 0 {
				saved += gain
				calls = append(calls, session.CallRef{Message: message.ID, Call: part.ID})
			}
		}
	}
	if len(calls) == 0 || saved < budget.Saving {
		return nil, 0
	}
	slices.Reverse(calls)
	return calls, saved
}
