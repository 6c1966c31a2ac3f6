package client

import (
	"encoding/json"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
)

// pruned begins the transcript anew: messages follow that were there before.
func (t *Transcript) pruned() {
	t.Messages, t.Permissions, t.Questions = nil, nil, nil
	t.streaming, t.early, t.retries, t.Compaction = nil, nil, nil, nil
}

// importedMessage is a message as its event has it.
type importedMessage struct {
	ID          string               `json:"id"`
	Type        protocol.MessageType `json:"type"`
	Created     int64                `json:"created"` // milliseconds since 1970 UTC, as all times here
	Prompt      *protocol.PromptBody `json:"prompt"`
	Text        string               `json:"text"`
	Description string               `json:"description"`
	Ignored     bool                 `json:"ignored"`
	Agent       string               `json:"agent"`
	Model       *protocol.ModelRef   `json:"model"`
	Finish      string               `json:"finish"`
	Usage       *protocol.Usage      `json:"usage"`
	Cost        *int64               `json:"cost"`
	Error       *protocol.Failure    `json:"error"`
	Retries     []importedRetry      `json:"retries"`
	Files       []protocol.FileDiff  `json:"files"`
	Completed   int64                `json:"completed"`
	Call        string               `json:"call"`
	Command     string               `json:"command"`
	Output      string               `json:"output"`
	Exit        *int                 `json:"exit"`
	Reason      string               `json:"reason"`
	Parts       []importedPart       `json:"parts"`
}

type importedRetry struct {
	Attempt int               `json:"attempt"`
	At      int64             `json:"at"`
	Error   *protocol.Failure `json:"error"`
}

type importedPart struct {
	ID      string            `json:"id"`
	Type    protocol.PartType `json:"type"`
	Text    string            `json:"text"`
	Tool    *importedTool     `json:"tool"`
	Subtask *struct {
		Session     string `json:"session"`
		Prompt      string `json:"prompt"`
		Call        string `json:"call"`
		Agent       string `json:"agent"`
		Description string `json:"description"`
		Background  bool   `json:"background"`
	} `json:"subtask"`
}

type importedTool struct {
	Name       string              `json:"name"`
	State      protocol.ToolState  `json:"state"`
	Input      protocol.Raw        `json:"input"`
	Raw        string              `json:"raw"`
	Hosted     bool                `json:"hosted"`
	Title      string              `json:"title"`
	Content    []protocol.Content  `json:"content"`
	Structured protocol.Raw        `json:"structured"`
	Error      *protocol.ToolError `json:"error"`
	Outputs    []string            `json:"outputs"`
	Diagnostic string              `json:"diagnostic"`
	Started    int64               `json:"started"`
	Settled    int64               `json:"settled"`
	Pruned     int64               `json:"pruned"`
}

// imported adds a whole message.
func (t *Transcript) imported(event protocol.Event) error {
	var data struct {
		Message importedMessage `json:"message"`
	}
	if err := json.Unmarshal(event.Data, &data); err != nil {
		return err
	}
	m := data.Message
	message := protocol.Message{ID: m.ID, Type: m.Type, Seq: event.Seq, Created: time.UnixMilli(m.Created).UTC(), Prompt: m.Prompt,
		Text: m.Text, Description: m.Description, Ignored: m.Ignored, Agent: m.Agent, Model: m.Model, Finish: m.Finish, Usage: m.Usage,
		CostNano: m.Cost, Error: m.Error, Files: m.Files, Completed: instant(m.Completed), CallID: m.Call, Command: m.Command,
		Output: m.Output, Exit: m.Exit, Reason: m.Reason}
	for _, retry := range m.Retries {
		message.Retries = append(message.Retries, protocol.Retry{Attempt: retry.Attempt, Time: time.UnixMilli(retry.At).UTC(), Error: retry.Error})
	}
	for _, part := range m.Parts {
		message.Parts = append(message.Parts, part.wire())
	}
	t.add(message)
	return nil
}

func (p importedPart) wire() protocol.Part {
	part := protocol.Part{ID: p.ID, Type: p.Type, Text: p.Text}
	if tool := p.Tool; tool != nil {
		part.Tool = &protocol.ToolCall{Name: tool.Name, State: tool.State, Input: tool.Input, Partial: tool.Raw, Hosted: tool.Hosted,
			Title: tool.Title, Content: tool.Content, Structured: tool.Structured, Error: tool.Error, Outputs: tool.Outputs,
			Diagnostic: tool.Diagnostic, Started: instant(tool.Started), Settled: instant(tool.Settled), Pruned: instant(tool.Pruned)}
	}
	if task := p.Subtask; task != nil {
		part.Subtask = &protocol.Subtask{SessionID: task.Session, PromptID: task.Prompt, CallID: task.Call, Agent: task.Agent,
			Description: task.Description, Background: task.Background}
	}
	return part
}

// instant is nil for 0.
func instant(milliseconds int64) *time.Time {
	if milliseconds == 0 {
		return nil
	}
	at := time.UnixMilli(milliseconds).UTC()
	return &at
}
