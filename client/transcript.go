package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
)

// Transcript is a session as its events tell it: the messages with their parts,
// and what waits for a person. Event adds durable facts, Part the text that is
// still streaming; the event that closes a part replaces what streamed. Its zero
// value is an empty session. It is used by one goroutine at a time.
type Transcript struct {
	Messages []protocol.Message
	// Permissions are open, oldest first.
	Permissions []protocol.Permission
	// Questions are open, oldest first.
	Questions []protocol.Question
	// Running is set while an activity is.
	Running bool
	// Compaction is being made; nil when none is.
	Compaction *Compaction
	// Revert is staged: the messages after its boundary go when it is committed.
	Revert *protocol.Revert

	next int64 // the sequence of the next event to apply
	// streaming holds text by message and part until the part closes; a nil text
	// marks one that has closed.
	streaming map[streamKey]*string
	early     []PartUpdate // of a message that is not here yet
	// retries are of the turn that has no message yet.
	retries []protocol.Retry
}

// Compaction is a summary of the older history while it is written.
type Compaction struct {
	Message string // what it will be
	Reason  string // auto, overflow or manual
	Text    string // what streamed of it
}

type streamKey struct {
	message, part string
	kind          protocol.PartKind
}

// Event applies an event. One that was applied before, and types that say nothing
// about the transcript, change nothing. Error: data that does not fit its type.
func (t *Transcript) Event(event protocol.Event) error {
	if event.Seq < t.next {
		return nil
	}
	if err := t.take(event); err != nil {
		return fmt.Errorf("read %s at sequence %d: %w", event.Type, event.Seq, err)
	}
	t.next = event.Seq + 1
	return nil
}

func (t *Transcript) take(event protocol.Event) error {
	switch event.Type {
	case "session.task.started":
		return t.taskStarted(event)
	case "session.history.pruned":
		t.pruned()
		return nil
	case "session.message.imported":
		return t.imported(event)
	}
	if !transcriptTypes(event.Type) {
		return nil
	}
	var data transcriptData
	if err := json.Unmarshal(event.Data, &data); err != nil {
		return err
	}
	t.apply(event, &data)
	return nil
}

// transcriptData holds the fields of all events that a transcript is made of.
type transcriptData struct {
	Message    string               `json:"message"`
	Prompt     *protocol.PromptBody `json:"prompt"`
	Created    int64                `json:"created"` // milliseconds since 1970 UTC
	Text       string               `json:"text"`
	Part       string               `json:"part"`
	Agent      string               `json:"agent"`
	Model      *protocol.ModelRef   `json:"model"`
	Finish     string               `json:"finish"`
	Usage      *protocol.Usage      `json:"usage"`
	Call       string               `json:"call"`
	Name       string               `json:"name"`
	Input      protocol.Raw         `json:"input"`
	Title      string               `json:"title"`
	Content    []protocol.Content   `json:"content"`
	Structured protocol.Raw         `json:"structured"`
	Error      *transcriptError     `json:"error"`
	Cost       *int64               `json:"cost"` // nano-dollars
	Files      []protocol.FileDiff  `json:"files"`
	Hosted     bool                 `json:"hosted"`
	Outputs    []string             `json:"outputs"`
	Diagnostic string               `json:"diagnostic"`
	Attempt    int                  `json:"attempt"`
	At         int64                `json:"at"` // milliseconds since 1970 UTC

	Synthetic   bool   `json:"synthetic"`
	Description string `json:"description"`
	Ignored     bool   `json:"ignored"`
	Command     string `json:"command"`
	Output      string `json:"output"`
	Exit        *int   `json:"exit"`
	Reason      string `json:"reason"`
	Summary     string `json:"summary"`
	Calls       []struct {
		Message string `json:"message"`
		Call    string `json:"call"`
	} `json:"calls"`

	Request string `json:"request"`
	Ask     struct {
		Action    string   `json:"action"`
		Resources []string `json:"resources"`
		Save      []string `json:"save"`
		Plugin    string   `json:"plugin"`
	} `json:"ask"`
	Questions []protocol.QuestionItem `json:"questions"`

	Revert   *protocol.Revert `json:"revert"`
	Boundary int64            `json:"boundary"`
}

// transcriptError is the error of a step (code) or of a tool (kind).
type transcriptError struct {
	protocol.Failure
	Kind string `json:"kind"`
}

func transcriptTypes(eventType string) bool {
	switch eventType {
	case "session.synthetic", "session.agent.switched", "session.model.switched", "session.shell.started", "session.shell.ended",
		"session.compaction.started", "session.compaction.ended", "session.compaction.failed", "session.results.pruned", "session.turn.started", "session.retry.scheduled", "session.tool.input.ended":
		return true
	case "session.prompt.promoted", "session.context.updated", "session.activity.started", "session.activity.ended",
		"session.step.started", "session.text.ended", "session.reasoning.ended", "session.tool.called",
		"session.tool.success", "session.tool.failed", "session.step.ended", "session.step.failed",
		"session.permission.asked", "session.permission.replied",
		"session.question.asked", "session.question.answered", "session.question.dismissed",
		"session.revert.staged", "session.revert.cleared", "session.revert.committed":
		return true
	default:
		return false
	}
}

func (t *Transcript) apply(event protocol.Event, data *transcriptData) {
	switch event.Type {
	case "session.prompt.promoted":
		kind := protocol.MessageUser
		if data.Synthetic {
			kind = protocol.MessageSynthetic
		}
		t.add(protocol.Message{ID: data.Message, Type: kind, Seq: event.Seq, Created: time.UnixMilli(data.Created).UTC(), Prompt: data.Prompt})
	case "session.context.updated":
		t.add(protocol.Message{ID: data.Message, Type: protocol.MessageSystem, Seq: event.Seq, Created: event.Time, Text: data.Text})
	case "session.step.started":
		t.add(protocol.Message{ID: data.Message, Type: protocol.MessageAssistant, Seq: event.Seq, Created: event.Time, Agent: data.Agent, Model: data.Model, Retries: t.retries})
		t.retries = nil
	case "session.activity.started", "session.activity.ended":
		t.Running = event.Type == "session.activity.started"
		t.early = nil // what streams belongs to the activity it streams in
		t.retries = nil
	case "session.text.ended":
		t.closePart(data.Message, data.Part, protocol.KindText, data.Text)
	case "session.reasoning.ended":
		t.closePart(data.Message, data.Part, protocol.KindReasoning, data.Text)
	case "session.tool.called":
		t.toolCalled(event, data)
	case "session.tool.success", "session.tool.failed":
		t.toolSettled(event, data)
	case "session.step.ended", "session.step.failed":
		t.stepEnded(event, data)
	case "session.permission.asked":
		t.Permissions = append(t.Permissions, protocol.Permission{
			ID: data.Request, SessionID: event.Session, Action: data.Ask.Action, Resources: data.Ask.Resources, Save: data.Ask.Save,
			Plugin: data.Ask.Plugin, Agent: data.Agent, Message: data.Message, CallID: data.Call, Time: event.Time, Cursor: event.Cursor,
		})
	case "session.permission.replied":
		t.Permissions = slices.DeleteFunc(t.Permissions, func(p protocol.Permission) bool { return p.ID == data.Request })
	case "session.question.asked":
		t.Questions = append(t.Questions, protocol.Question{
			ID: data.Request, SessionID: event.Session, Questions: data.Questions, Agent: data.Agent, Message: data.Message,
			CallID: data.Call, Time: event.Time, Cursor: event.Cursor,
		})
	case "session.question.answered", "session.question.dismissed":
		t.Questions = slices.DeleteFunc(t.Questions, func(q protocol.Question) bool { return q.ID == data.Request })
	default:
		t.applyOther(event, data)
	}
}

// add appends a message, with what streamed of it before it was here.
func (t *Transcript) add(message protocol.Message) {
	t.Messages = append(t.Messages, message)
	early := t.early
	t.early = nil
	for _, update := range early {
		t.Part(update)
	}
}

// message answers the newest message of that id, nil when there is none.
func (t *Transcript) message(id string) *protocol.Message {
	for i := range slices.Backward(t.Messages) {
		if t.Messages[i].ID == id {
			return &t.Messages[i]
		}
	}
	return nil
}

func (t *Transcript) toolCalled(event protocol.Event, data *transcriptData) {
	message := t.message(data.Message)
	if message == nil {
		return
	}
	t.forget(streamKey{data.Message, data.Call, protocol.KindToolInput})
	started := event.Time
	part := t.part(message, data.Call, protocol.PartTool)
	part.Text = ""
	part.Tool = &protocol.ToolCall{Name: data.Name, State: protocol.ToolRunning, Input: data.Input, Hosted: data.Hosted, Started: &started}
}

func (t *Transcript) toolSettled(event protocol.Event, data *transcriptData) {
	message := t.message(data.Message)
	if message == nil {
		return
	}
	t.forget(streamKey{data.Message, data.Call, protocol.KindToolProgress})
	part := t.part(message, data.Call, protocol.PartTool)
	part.Text = ""
	if part.Tool == nil {
		part.Tool = &protocol.ToolCall{}
	}
	tool, settled := part.Tool, event.Time
	tool.State, tool.Settled = protocol.ToolCompleted, &settled
	tool.Title, tool.Content, tool.Structured = data.Title, data.Content, data.Structured
	tool.Outputs, tool.Diagnostic = data.Outputs, data.Diagnostic
	if data.Error != nil {
		tool.State, tool.Error = protocol.ToolFailed, &protocol.ToolError{Kind: data.Error.Kind, Message: data.Error.Message}
	}
}

// stepEnded completes a message. Text that streamed and never closed is dropped: it
// is no part of the session.
func (t *Transcript) stepEnded(event protocol.Event, data *transcriptData) {
	message := t.message(data.Message)
	if message == nil {
		return
	}
	completed := event.Time
	message.Completed, message.Finish, message.Usage = &completed, data.Finish, data.Usage
	message.CostNano, message.Files = data.Cost, data.Files
	if data.Error != nil {
		failure := data.Error.Failure
		message.Error = &failure
	}
	message.Parts = slices.DeleteFunc(message.Parts, func(part protocol.Part) bool {
		return t.isStreaming(message.ID, part)
	})
	for key := range t.streaming {
		if key.message == data.Message {
			delete(t.streaming, key)
		}
	}
	t.early = slices.DeleteFunc(t.early, func(update PartUpdate) bool { return update.Message == data.Message })
}
