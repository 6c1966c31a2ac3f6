package runner

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/compaction"
)

const lastStepReminder = "This was the last step: the limit of steps is reached and tools are disabled until the user writes again. " +
	"Answer with text only. Say that the limit was reached, sum up what is done, list what remains, and recommend what to do next."

// lower makes the neutral request of a window.
func (t *turn) lower(ctx context.Context, w window) session.ModelRequest {
	generation, request := t.controls()
	request.Purpose, request.Session, request.Agent, request.Model = session.PurposeTurn, t.session, t.agent.Name, t.current.Model
	request.Tools, request.ToolChoice, request.Generation = t.definitions, "auto", generation
	request.CacheKey = t.session
	if w.epoch.Baseline != "" {
		request.System = []session.TextPart{{ID: "baseline", Text: w.epoch.Baseline}}
	}
	for _, message := range w.history {
		request.Messages = append(request.Messages, t.lowerOne(ctx, message, w.epoch.Seq)...)
	}
	if t.last {
		request.ToolChoice = "none"
	}
	return request
}

// lowerOne is lowerMessage with the attached texts in it.
func (t *turn) lowerOne(ctx context.Context, message session.Message, epoch int64) []session.ModelMessage {
	lowered := lowerMessage(message, epoch, t.current.Model)
	t.inline(ctx, lowered)
	return lowered
}

// maxInlined bounds what a model is shown of one attached text, in bytes.
const maxInlined = 100 << 10

// inline puts the text of attached text files in the place of the files: every model
// reads it then. What cannot be read stays a file.
func (t *turn) inline(ctx context.Context, messages []session.ModelMessage) {
	for i := range messages {
		if messages[i].Role != session.RoleUser {
			continue
		}
		for j := range messages[i].Parts {
			part := &messages[i].Parts[j]
			if part.Type != session.PartMedia || part.Mime != "text/plain" {
				continue
			}
			text, size, err := t.attached(ctx, part.Blob)
			if err != nil {
				t.Logger.Warn("an attached text cannot be read", "session", t.session, "blob", part.Blob, "error", err)
				continue
			}
			header := "Attached file " + part.Name + ":\n\n"
			if int64(len(text)) < size {
				header = fmt.Sprintf("Attached file %s, the first %d of its %d bytes:\n\n", part.Name, len(text), size)
			}
			*part = session.ModelPart{ID: part.ID, Type: session.PartText, Text: header + text}
		}
	}
}

// attached answers the beginning of a text and the size of the whole.
func (t *turn) attached(ctx context.Context, blob string) (text string, size int64, err error) {
	reader, size, err := t.Blobs.Open(ctx, blob)
	if err != nil {
		return "", 0, err
	}
	defer reader.Close()
	head, err := io.ReadAll(io.LimitReader(reader, maxInlined))
	if err != nil {
		return "", 0, err
	}
	if int64(len(head)) < size {
		head = wholeRunes(head)
	}
	return strings.ToValidUTF8(string(head), "�"), size, nil
}

// What stands around a summary in a request.
const (
	summaryOpen = "<summary>\nThe conversation so far was condensed into this summary. What follows it was not: messages of the user, " +
		"which may be older than what the summary tells of the work on them, and the newest steps. Go on from there.\n\n"
	summaryClose = "\n</summary>"
)

// wholeRunes is a text that was cut, without a character of which only a part is left.
func wholeRunes(text []byte) []byte {
	for n := len(text) - 1; n >= max(0, len(text)-utf8.UTFMax); n-- {
		if !utf8.RuneStart(text[n]) {
			continue
		}
		if !utf8.FullRune(text[n:]) {
			return text[:n]
		}
		break
	}
	return text
}

// lowerMessage makes the model's messages of one of the transcript. Switches are
// nothing a model reads.
func lowerMessage(message session.Message, epoch int64, model session.ModelRef) []session.ModelMessage {
	one := func(role session.Role, text string) []session.ModelMessage {
		return []session.ModelMessage{textMessage(message.ID, role, text)}
	}
	switch message.Type {
	case session.MessageUser:
		return append([]session.ModelMessage{lowerPrompt(message.ID, message.Prompt)}, ruled(message)...)
	case session.MessageSynthetic:
		switch {
		case message.Ignored:
			return nil
		case message.Prompt != nil:
			return []session.ModelMessage{lowerPrompt(message.ID, message.Prompt)}
		}
		return one(session.RoleUser, message.Text)
	case session.MessageShell:
		return one(session.RoleUser, shellText(message))
	case session.MessageCompaction:
		return one(session.RoleUser, summaryOpen+message.Text+summaryClose)
	case session.MessageSystem:
		// An update of an earlier epoch is part of the baseline now.
		if message.Seq > epoch || message.Seq == maxSeq {
			return one(session.RoleSystem, message.Text)
		}
	case session.MessageAssistant:
		return lowerAssistant(message, model)
	}
	return nil
}

// shellText tells of a command that the user ran.
func shellText(message session.Message) string {
	text := "Shell command: " + message.Command + "\n\n" + message.Output
	switch {
	case message.Completed == 0:
		text += "(it has not ended yet)"
	case message.Exit != nil && *message.Exit != 0:
		text += fmt.Sprintf("\n\nIt ended with exit code %d.", *message.Exit)
	}
	return text
}

func textMessage(id string, role session.Role, text string) session.ModelMessage {
	return session.ModelMessage{ID: id, Role: role, Parts: []session.ModelPart{{ID: id + "/0", Type: session.PartText, Text: text}}}
}

// ruled makes the messages of what the prompt says of its answer. They stand behind it
// for good, so that what follows keeps its beginning.
func ruled(message session.Message) (messages []session.ModelMessage) {
	if message.Prompt.System != "" {
		messages = append(messages, textMessage(message.ID+"/system", session.RoleSystem, message.Prompt.System))
	}
	if len(message.Prompt.Format) > 0 {
		messages = append(messages, textMessage(message.ID+"/format", session.RoleSystem, formatSystem))
	}
	return messages
}

// lowerPrompt makes the user's message: the text, what it mentions, and what was
// attached.
func lowerPrompt(id string, prompt *session.Prompt) session.ModelMessage {
	message := textMessage(id, session.RoleUser, prompt.Text)
	if mentions := lowerMentions(prompt); mentions != "" {
		message.Parts = append(message.Parts, session.ModelPart{ID: id + "/mentions", Type: session.PartText, Text: mentions})
	}
	for i, file := range prompt.Files {
		if file.Blob != "" {
			message.Parts = append(message.Parts, session.ModelPart{ID: fmt.Sprintf("%s/%d", id, i+1), Type: session.PartMedia,
				Mime: file.Mime, Name: file.Name, Blob: file.Blob})
		}
	}
	return message
}

// lowerAssistant makes the assistant's message and, when it called tools, the
// message of their results. What a provider signed is kept for its model only.
func lowerAssistant(message session.Message, model session.ModelRef) []session.ModelMessage {
	same := message.Model != nil && message.Model.Provider == model.Provider && message.Model.Model == model.Model && message.Error == nil
	answer := session.ModelMessage{ID: message.ID, Role: session.RoleAssistant}
	results := session.ModelMessage{ID: message.ID + "/results", Role: session.RoleTool}
	for i, part := range message.Parts {
		lowered := session.ModelPart{ID: fmt.Sprintf("%s/%d", message.ID, i), Text: part.Text}
		if same {
			lowered.Metadata = part.Metadata
		}
		switch part.Type {
		case session.MessagePartText:
			lowered.Type = session.PartText
		case session.MessagePartReasoning:
			lowered.Type = session.PartReasoning
			if !same {
				lowered.Type = session.PartText
			}
		case session.MessagePartTool:
			if part.Tool.State == session.ToolStateFailed && part.Tool.Raw != "" {
				continue // it broke off before it was a call
			}
			lowered.Type, lowered.Call, lowered.Name, lowered.Input = session.PartToolCall, part.ID, part.Tool.Name, part.Tool.Input
			if part.Tool.Hosted {
				lowered.Hosted = true
				answer.Parts = append(answer.Parts, lowered, lowerHosted(lowered, part.Tool, same))
				continue
			}
			results.Parts = append(results.Parts, lowerResult(lowered, part.Tool)...)
		default:
			continue // no part of what was said
		}
		if lowered.Type != session.PartToolCall && lowered.Text == "" && len(lowered.Metadata) == 0 {
			continue
		}
		answer.Parts = append(answer.Parts, lowered)
	}
	var messages []session.ModelMessage
	if len(answer.Parts) > 0 {
		messages = append(messages, answer)
	}
	if len(results.Parts) > 0 {
		messages = append(messages, results)
	}
	return messages
}

// lowerHosted makes the result of a call that the provider ran: it stays beside the
// call, in the provider's own form for the model that got it.
func lowerHosted(call session.ModelPart, tool *session.ToolPart, same bool) session.ModelPart {
	result := lowerResult(call, tool)[0]
	result.Hosted = true
	if same {
		result.Result, result.Metadata = tool.Result, tool.Metadata
		if result.Metadata == nil {
			result.Metadata = call.Metadata
		}
	}
	return result
}

// lowerResult makes a call's result and, behind it, the files in it.
func lowerResult(call session.ModelPart, tool *session.ToolPart) []session.ModelPart {
	result := session.ModelPart{ID: call.ID + "/result", Type: session.PartToolResult, Call: call.Call, Name: call.Name}
	switch tool.State {
	case session.ToolStateCompleted:
		if tool.Pruned != 0 {
			result.Text = compaction.Note(compaction.Bytes(tool))
			return []session.ModelPart{result}
		}
		result.Text = resultText(tool)
	case session.ToolStateFailed:
		result.Text, result.Error = tool.Error.Message, true
	default:
		result.Text, result.Error = interruptedTool, true
	}
	parts := []session.ModelPart{result}
	for i, content := range tool.Content {
		if content.Blob != "" {
			parts = append(parts, session.ModelPart{ID: fmt.Sprintf("%s/%d", result.ID, i), Type: session.PartMedia, Call: call.Call,
				Mime: content.Mime, Name: content.Name, Blob: content.Blob})
		}
	}
	return parts
}

// resultText is what the model reads of a result: its text, or its structured value.
// A file is named in it, for a model that cannot look at files.
func resultText(tool *session.ToolPart) string {
	var texts []string
	for _, content := range tool.Content {
		if content.Type == "text" {
			texts = append(texts, content.Text)
		} else {
			texts = append(texts, fmt.Sprintf("[%s file %s]", content.Mime, content.Name))
		}
	}
	if len(texts) == 0 {
		return string(tool.Structured)
	}
	return strings.Join(texts, "\n")
}
