package main

import (
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

func wireMessages(messages []session.Message) []protocol.Message {
	wire := make([]protocol.Message, len(messages))
	for i, message := range messages {
		wire[i] = wireMessage(message)
	}
	return wire
}

func wireMessage(m session.Message) protocol.Message {
	wire := protocol.Message{
		ID: m.ID, Type: protocol.MessageType(m.Type), Seq: m.Seq, Created: instant(m.Created), Text: m.Text,
		Description: m.Description, Ignored: m.Ignored, Agent: m.Agent, Finish: string(m.Finish), Usage: wireUsage(m.Usage), CostNano: m.Cost,
		Files: wireDiffs(m.Files), Error: wireFailure(m.Error), Completed: instantOrNil(m.Completed),
		CallID: m.Call, Command: m.Command, Output: m.Output, Exit: m.Exit, Reason: string(m.Reason),
	}
	if m.Prompt != nil {
		prompt := wirePrompt(*m.Prompt)
		wire.Prompt = &prompt
	}
	if m.Model != nil {
		wire.Model = wireModel(*m.Model)
	}
	for _, retry := range m.Retries {
		wire.Retries = append(wire.Retries, wireRetry(retry))
	}
	for _, part := range m.Parts {
		wire.Parts = append(wire.Parts, wirePart(part))
	}
	return wire
}

func wirePart(part session.MessagePart) protocol.Part {
	wire := protocol.Part{ID: part.ID, Type: protocol.PartType(part.Type), Text: part.Text, Tool: wireTool(part.Tool), Name: part.Name,
		Snapshot: part.Snapshot, Files: wireDiffs(part.Files), Finish: string(part.Finish), Usage: wireUsage(part.Usage), CostNano: part.Cost}
	if part.File != nil {
		file := wireFile(*part.File)
		wire.File = &file
	}
	if part.Retry != nil {
		retry := wireRetry(*part.Retry)
		wire.Retry = &retry
	}
	if task := part.Subtask; task != nil {
		wire.Subtask = &protocol.Subtask{SessionID: task.Session, PromptID: task.Prompt, CallID: task.Call, Agent: task.Agent,
			Description: task.Description, Background: task.Background}
	}
	return wire
}

func wireUsage(usage *session.Usage) *protocol.Usage {
	if usage == nil {
		return nil
	}
	wire := protocol.Usage(*usage)
	return &wire
}

func wireDiffs(files []session.FileDiff) (wire []protocol.FileDiff) {
	for _, file := range files {
		wire = append(wire, protocol.FileDiff(file))
	}
	return wire
}

func wireTool(tool *session.ToolPart) *protocol.ToolCall {
	if tool == nil {
		return nil
	}
	wire := &protocol.ToolCall{Name: tool.Name, State: protocol.ToolState(tool.State), Input: protocol.Raw(tool.Input), Partial: tool.Raw,
		Hosted: tool.Hosted, Title: tool.Title, Structured: protocol.Raw(tool.Structured), Outputs: tool.Outputs, Diagnostic: tool.Diagnostic,
		Started: instantOrNil(tool.Started), Settled: instantOrNil(tool.Settled), Pruned: instantOrNil(tool.Pruned)}
	for _, content := range tool.Content {
		wire.Content = append(wire.Content, protocol.Content(content))
	}
	if tool.Error != nil {
		wire.Error = &protocol.ToolError{Kind: tool.Error.Kind, Message: tool.Error.Message}
	}
	return wire
}
