package compaction

import (
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// text tells a message to the model that condenses it. Results are cut at cut
// characters. It is empty for what tells nothing: switches, and updates of the context,
// which begins anew.
func text(message session.Message, cut int) string {
	switch message.Type {
	case session.MessageUser:
		return "[User]: " + promptText(message.Prompt)
	case session.MessageSynthetic:
		switch {
		case message.Ignored:
			return ""
		case message.Prompt != nil:
			return "[Host]: " + promptText(message.Prompt)
		}
		return "[Host]: " + message.Text
	case session.MessageShell:
		return "[User ran]: " + message.Command + "\n" + shortened(message.Output, cut)
	case session.MessageAssistant:
		return answerText(message, cut)
	}
	return ""
}

func promptText(prompt *session.Prompt) string {
	var b strings.Builder
	b.WriteString(prompt.Text)
	for _, file := range prompt.Files {
		fmt.Fprintf(&b, "\n[attached %s: %s]", file.Mime, file.Name)
	}
	return b.String()
}

func answerText(message session.Message, cut int) string {
	var lines []string
	for _, part := range message.Parts {
		switch {
		case part.Type == session.MessagePartText && part.Text != "":
			lines = append(lines, "[Assistant]: "+part.Text)
		case part.Type == session.MessagePartReasoning && part.Text != "":
			lines = append(lines, "[Assistant, thinking]: "+shortened(part.Text, cut))
		case part.Tool != nil && part.Tool.Raw == "":
			lines = append(lines, fmt.Sprintf("[Call]: %s %s", part.Tool.Name, shortened(string(part.Tool.Input), cut)), resultText(part.Tool, cut))
		}
	}
	if message.Error != nil {
		lines = append(lines, "[Broke off]: "+message.Error.Message)
	}
	return strings.Join(lines, "\n")
}

func resultText(tool *session.ToolPart, cut int) string {
	switch {
	case tool.State == session.ToolStateFailed && tool.Error != nil:
		return "[Failed]: " + shortened(tool.Error.Message, cut)
	case tool.State != session.ToolStateCompleted:
		return "[Failed]: it was interrupted"
	case tool.Pruned != 0:
		return "[Result]: " + Note(Bytes(tool))
	}
	var texts []string
	for _, content := range tool.Content {
		if content.Blob != "" {
			texts = append(texts, fmt.Sprintf("[attached %s: %s]", content.Mime, content.Name))
			continue
		}
		texts = append(texts, content.Text)
	}
	if len(texts) == 0 {
		texts = append(texts, string(tool.Structured))
	}
	return "[Result]: " + shortened(strings.Join(texts, "\n"), cut)
}

// shortened is the beginning of a text, at most cut characters, and says so.
func shortened(text string, cut int) string {
	for i := range text {
		if cut--; cut < 0 {
			return fmt.Sprintf("%s\n[cut: %d of %d bytes]", text[:i], i, len(text))
		}
	}
	return text
}
