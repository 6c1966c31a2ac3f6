package client

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
)

// applyOther applies what is neither of a prompt nor of an answer's usual course.
func (t *Transcript) applyOther(event protocol.Event, data *transcriptData) {
	message := protocol.Message{ID: data.Message, Seq: event.Seq, Created: event.Time}
	switch event.Type {
	case "session.synthetic":
		message.Type, message.Text, message.Description, message.Ignored = protocol.MessageSynthetic, data.Text, data.Description, data.Ignored
	case "session.agent.switched":
		message.Type, message.Agent = protocol.MessageAgent, data.Agent
	case "session.model.switched":
		message.Type, message.Model = protocol.MessageModel, data.Model
	case "session.shell.started":
		message.Type, message.CallID, message.Command = protocol.MessageShell, data.Call, data.Command
	case "session.compaction.ended":
		ended := event.Time
		message.Type, message.Text, message.Reason, message.Completed = protocol.MessageCompaction, data.Summary, data.Reason, &ended
		message.Usage, message.CostNano = data.Usage, data.Cost
		t.Compaction = nil
	default:
		t.applyAround(event, data)
		return
	}
	t.add(message)
}

// applyAround applies what adds no message.
func (t *Transcript) applyAround(event protocol.Event, data *transcriptData) {
	switch event.Type {
	case "session.shell.ended":
		for i := range slices.Backward(t.Messages) {
			if m := &t.Messages[i]; m.Type == protocol.MessageShell && m.CallID == data.Call {
				ended := event.Time
				m.Output, m.Exit, m.Completed = data.Output, data.Exit, &ended
				return
			}
		}
	case "session.compaction.started":
		t.Compaction = &Compaction{Message: data.Message, Reason: data.Reason}
	case "session.compaction.failed":
		t.Compaction = nil
	case "session.results.pruned":
		for _, ref := range data.Calls {
			t.resultPruned(event, ref.Message, ref.Call)
		}
	case "session.turn.started":
		if data.Attempt <= 1 {
			t.retries = nil
		}
	case "session.retry.scheduled":
		retry := protocol.Retry{Attempt: data.Attempt, Time: time.UnixMilli(data.At).UTC()}
		if data.Error != nil {
			failure := data.Error.Failure
			retry.Error = &failure
		}
		t.retries = append(t.retries, retry)
	case "session.tool.input.ended":
		t.toolInputEnded(event, data)
	case "session.revert.staged":
		t.Revert = data.Revert
	case "session.revert.cleared":
		t.Revert = nil
	case "session.revert.committed":
		t.Revert = nil
		t.Messages = slices.DeleteFunc(t.Messages, func(m protocol.Message) bool { return m.Seq > data.Boundary })
	}
}

// toolInputEnded adds a call that broke off. Of one that runs nothing changes.
func (t *Transcript) toolInputEnded(event protocol.Event, data *transcriptData) {
	message := t.message(data.Message)
	if message == nil {
		return
	}
	part := t.part(message, data.Call, protocol.PartTool)
	if part.Tool != nil && part.Tool.State == protocol.ToolRunning {
		return
	}
	t.forget(streamKey{data.Message, data.Call, protocol.KindToolInput})
	started := event.Time
	part.Text = ""
	part.Tool = &protocol.ToolCall{Name: data.Name, State: protocol.ToolPending, Input: protocol.Raw("{}"), Partial: data.Text, Started: &started}
}

// resultPruned marks the newest call of that id.
func (t *Transcript) resultPruned(event protocol.Event, messageID, call string) {
	message := t.message(messageID)
	if message == nil {
		return
	}
	for i := range slices.Backward(message.Parts) {
		if tool := message.Parts[i].Tool; tool != nil && message.Parts[i].ID == call {
			if tool.Pruned == nil {
				since := event.Time
				tool.Pruned = &since
			}
			return
		}
	}
}

// taskStarted adds the child session to the message of the call that opened it.
func (t *Transcript) taskStarted(event protocol.Event) error {
	var data struct {
		Message     string `json:"message"`
		Call        string `json:"call"`
		Session     string `json:"session"`
		Prompt      string `json:"prompt"` // an id, where other events have a body
		Agent       string `json:"agent"`
		Description string `json:"description"`
		Background  bool   `json:"background"`
	}
	if err := json.Unmarshal(event.Data, &data); err != nil {
		return err
	}
	if message := t.message(data.Message); message != nil {
		message.Parts = append(message.Parts, protocol.Part{ID: data.Call, Type: protocol.PartSubtask, Subtask: &protocol.Subtask{
			SessionID: data.Session, PromptID: data.Prompt, CallID: data.Call, Agent: data.Agent, Description: data.Description, Background: data.Background}})
	}
	return nil
}
