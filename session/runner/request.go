package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// toolEntry is a tool as a turn advertised it.
type toolEntry = registry.Entry[session.Tool]

// tools answers what is offered: everything pinned but what the rules hide whole.
func (d *drain) tools(pin *registry.Pin) []toolEntry {
	var offered []toolEntry
	for _, entry := range registry.All(pin, d.Kinds.Tools) {
		action := cmp.Or(entry.Value.Definition().Permission.Action, entry.Name)
		if !session.Hidden(d.Permissions.Rules(asking(entry)), action) {
			offered = append(offered, entry)
		}
	}
	return offered
}

// asking names the plugin on whose behalf an entry asks; builtins speak for the host.
func asking(entry toolEntry) string {
	if entry.Builtin {
		return ""
	}
	return entry.Scope
}

func definitions(tools []toolEntry) []session.ToolDefinition {
	all := make([]session.ToolDefinition, len(tools))
	for i, entry := range tools {
		all[i] = entry.Value.Definition()
		all[i].Name = entry.Name
	}
	return all
}

// lower makes the neutral request of a window.
func lower(w window, tools []session.ToolDefinition) session.ModelRequest {
	request := session.ModelRequest{
		Purpose: session.PurposeTurn, Session: w.session.ID, Agent: w.session.Agent, Model: w.session.Model,
		Tools: tools, ToolChoice: "auto", CacheKey: w.session.ID,
	}
	if w.epoch.Baseline != "" {
		request.System = append(request.System, session.TextPart{ID: "baseline", Text: w.epoch.Baseline})
	}
	for _, message := range w.history {
		switch message.Type {
		case session.MessageUser:
			request.Messages = append(request.Messages, lowerPrompt(message.ID, message.Prompt))
		case session.MessageSystem:
			// An update of an earlier epoch is part of the baseline now.
			if message.Seq > w.epoch.Seq || message.Seq == maxSeq {
				request.Messages = append(request.Messages, textMessage(message.ID, session.RoleSystem, message.Text))
			}
		case session.MessageAssistant:
			request.Messages = append(request.Messages, lowerAssistant(message, w.session.Model)...)
		}
	}
	if text := promptSystem(w.history); text != "" {
		request.System = append(request.System, session.TextPart{ID: "prompt", Text: text})
	}
	return request
}

// promptSystem is the system text of the prompt that is being worked on.
func promptSystem(history []session.Message) string {
	for _, h := range slices.Backward(history) {
		if h.Type == session.MessageUser {
			return h.Prompt.System
		}
	}
	return ""
}

func textMessage(id string, role session.Role, text string) session.ModelMessage {
	return session.ModelMessage{ID: id, Role: role, Parts: []session.ModelPart{{ID: id + "/0", Type: session.PartText, Text: text}}}
}

// lowerPrompt makes the user's message: the text, and what was attached.
func lowerPrompt(id string, prompt *session.Prompt) session.ModelMessage {
	message := textMessage(id, session.RoleUser, prompt.Text)
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
			lowered.Type, lowered.Call, lowered.Name, lowered.Input = session.PartToolCall, part.ID, part.Tool.Name, part.Tool.Input
			results.Parts = append(results.Parts, lowerResult(lowered, part.Tool)...)
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

// lowerResult makes a call's result and, behind it, the files in it.
func lowerResult(call session.ModelPart, tool *session.ToolPart) []session.ModelPart {
	result := session.ModelPart{ID: call.ID + "/result", Type: session.PartToolResult, Call: call.Call, Name: call.Name}
	switch tool.State {
	case session.ToolStateCompleted:
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
