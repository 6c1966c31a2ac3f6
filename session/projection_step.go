package session

import (
	"encoding/json"
	"fmt"
)

// onStep projects a model's answer. What names an assistant message that does not
// exist changes nothing and fails nothing.
func (p projector) onStep(payload Payload) (mine bool, err error) { //nolint:cyclop // a table
	switch e := payload.(type) {
	case StepStarted:
		return true, p.stepStarted(e)
	case TextEnded:
		return true, p.part(e.Message, "", MessagePart{Type: MessagePartText, ID: e.Part, Text: e.Text})
	case ReasoningEnded:
		return true, p.part(e.Message, "", MessagePart{Type: MessagePartReasoning, ID: e.Part, Text: e.Text, Metadata: e.Metadata})
	case ToolInputEnded:
		return true, p.toolInputEnded(e)
	case ToolCalled:
		return true, p.part(e.Message, e.Call, MessagePart{Type: MessagePartTool, ID: e.Call, Metadata: e.Metadata,
			Tool: &ToolPart{Name: e.Name, State: ToolStateRunning, Input: e.Input, Hosted: e.Hosted, Revision: e.Revision, Started: p.at}})
	case ToolSucceeded:
		return true, p.settle(e.Message, e.Call, e.Revision, func(tool *ToolPart) {
			tool.State, tool.Content, tool.Structured = ToolStateCompleted, e.Content, e.Structured
			tool.Title, tool.Metadata, tool.Result = e.Title, e.Metadata, e.Result
			tool.Outputs, tool.Diagnostic = e.Outputs, e.Diagnostic
		})
	case ToolFailed:
		return true, p.settle(e.Message, e.Call, e.Revision, func(tool *ToolPart) {
			tool.State, tool.Error = ToolStateFailed, &e.Error
			tool.Metadata, tool.Result = e.Metadata, e.Result
		})
	case TaskStarted:
		return true, p.taskStarted(e)
	case TaskEnded:
		return true, p.exec(`UPDATE task SET outcome = $1 WHERE session_id = $2 AND child_id = $3 AND prompt = $4`,
			string(e.Outcome), p.session, e.Session, e.Prompt)
	case StepEnded:
		return true, p.stepEnded(e)
	case StepFailed:
		return true, p.stepFailed(e)
	}
	return false, nil
}

// stepStarted makes the assistant message; from here on the turn has an outcome, and
// its retries are the message's.
func (p projector) stepStarted(e StepStarted) error {
	body := MessageBody{Agent: e.Agent, Model: &e.Model, Before: e.Snapshot}
	activity, err := LoadActivity(p.ctx, p.tx, p.session)
	switch {
	case err == nil:
		body.Retries = activity.Retries
	case !isMissing(err):
		return err
	}
	if err := p.message(e.Message, MessageAssistant, p.at, body); err != nil {
		return err
	}
	return p.exec(`UPDATE activity SET turn_seq = -1, retries = '[]' WHERE session_id = $1`, p.session)
}

func (p projector) stepEnded(e StepEnded) error {
	if err := p.complete(e.Message, func(body *MessageBody) {
		body.Finish, body.Usage, body.Cost = e.Finish, e.Usage, e.Cost
		body.After, body.Files = e.Snapshot, e.Files
	}); err != nil {
		return err
	}
	return p.spend(totalsOf(e.Usage, e.Cost))
}

func (p projector) stepFailed(e StepFailed) error {
	if err := p.complete(e.Message, func(body *MessageBody) {
		body.Error, body.Usage, body.Cost = &e.Error, e.Usage, e.Cost
		body.After, body.Files = e.Snapshot, e.Files
	}); err != nil {
		return err
	}
	return p.spend(totalsOf(e.Usage, e.Cost))
}

// totalsOf is what a step spent; unknown usage and cost are counted as such.
func totalsOf(usage *Usage, cost *int64) Totals {
	var s Totals
	if usage != nil {
		s.Usage = *usage
	}
	if cost != nil {
		s.CostNano = *cost
	} else {
		s.Unpriced = 1
	}
	return s
}

func (p projector) taskStarted(e TaskStarted) error {
	encoded, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := p.exec(`INSERT INTO task (session_id, child_id, prompt, body, outcome) VALUES ($1, $2, $3, $4, '')`,
		p.session, e.Session, e.Prompt, string(encoded)); err != nil {
		return err
	}
	return p.part(e.Message, "", MessagePart{Type: MessagePartSubtask, ID: e.Call, Subtask: &e})
}

// message adds a message whose id nothing else may have.
func (p projector) message(id string, kind MessageType, created int64, body MessageBody) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	// Nearly always nothing is in its way, which one statement finds out.
	added, err := p.tx.Exec(p.ctx, `INSERT INTO message (session_id, seq, id, type, created_ms, body) SELECT $1, $2, $3, $4, $5, $6
		WHERE NOT EXISTS (SELECT 1 FROM input WHERE id = $7) AND NOT EXISTS (SELECT 1 FROM session WHERE id = $8 AND revert <> '')
		ON CONFLICT (id) DO NOTHING`, p.session, p.seq, id, string(kind), created, string(encoded), id, p.session)
	switch {
	case err != nil:
		return err
	case added == 1:
		return p.shell(id, kind, body)
	}
	if err := p.free(id); err != nil {
		return err
	}
	return p.insertMessage(id, kind, created, body)
}

// insertMessage refuses while a revert is staged: the message would go with what is
// reverted, unseen. What only marks a switch may go.
func (p projector) insertMessage(id string, kind MessageType, created int64, body MessageBody) error {
	if kind != MessageAgent && kind != MessageModel {
		if err := p.unstaged(); err != nil {
			return err
		}
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if err := p.exec(`INSERT INTO message (session_id, seq, id, type, created_ms, body) VALUES ($1, $2, $3, $4, $5, $6)`,
		p.session, p.seq, id, string(kind), created, string(encoded)); err != nil {
		return err
	}
	return p.shell(id, kind, body)
}

// shell notes which message the command of a call has, if the message is one.
func (p projector) shell(id string, kind MessageType, body MessageBody) error {
	if kind != MessageShell {
		return nil
	}
	ended := 0
	if body.Completed != 0 { // imported
		ended = 1
	}
	return p.exec(`INSERT INTO shell (session_id, call, message, ended) VALUES ($1, $2, $3, $4)
		ON CONFLICT (session_id, call) DO UPDATE SET message = excluded.message, ended = excluded.ended`, p.session, body.Call, id, ended)
}

// part adds a part after those that the message has, if the session has the message.
func (p projector) part(message, call string, part MessagePart) error {
	var seq, ordinal int64
	err := p.tx.QueryRow(p.ctx, `SELECT m.seq, COALESCE((SELECT MAX(ordinal) FROM part WHERE session_id = m.session_id AND message_seq = m.seq), -1) + 1
		FROM message m WHERE m.id = $1 AND m.session_id = $2`, message, p.session).Scan(&seq, &ordinal)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(part)
	if err != nil {
		return err
	}
	return p.exec(`INSERT INTO part (session_id, message_seq, ordinal, tool_call, body) VALUES ($1, $2, $3, $4, $5)`,
		p.session, seq, ordinal, call, string(encoded))
}

// toolInputEnded adds a pending call. One that runs has its input.
func (p projector) toolInputEnded(e ToolInputEnded) error {
	running, err := p.call(e.Message, e.Call)
	if err != nil || running != nil && running.part.Tool.Unsettled() {
		return err
	}
	return p.part(e.Message, e.Call, MessagePart{Type: MessagePartTool, ID: e.Call,
		Tool: &ToolPart{Name: e.Name, State: ToolStatePending, Input: raw("{}"), Raw: e.Text, Started: p.at}})
}

// storedCall is a tool part where it stands.
type storedCall struct {
	seq, ordinal int64
	part         MessagePart
}

// call reads the newest call of that id; nil when there is none.
func (p projector) call(message, call string) (*storedCall, error) {
	var found storedCall
	var body string
	err := p.tx.QueryRow(p.ctx, `SELECT p.message_seq, p.ordinal, p.body FROM message m
		JOIN part p ON p.session_id = m.session_id AND p.message_seq = m.seq
		WHERE m.id = $1 AND m.session_id = $2 AND p.tool_call = $3 ORDER BY p.ordinal DESC LIMIT 1`,
		message, p.session, call).Scan(&found.seq, &found.ordinal, &body)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(body), &found.part); err != nil {
		return nil, fmt.Errorf("decode part: %w", err)
	}
	return &found, nil
}

// settle closes the newest call of that id. A second settlement is refused: a call
// has one.
func (p projector) settle(message, call, revision string, change func(*ToolPart)) error {
	found, err := p.call(message, call)
	if err != nil || found == nil {
		return err
	}
	if !found.part.Tool.Unsettled() {
		return fmt.Errorf("%w: call %s is settled already", ErrInvalid, call)
	}
	found.part.Tool.Settled = p.at
	change(found.part.Tool)
	if revision != "" {
		found.part.Tool.Revision = revision
	}
	encoded, err := json.Marshal(found.part)
	if err != nil {
		return err
	}
	return p.exec(`UPDATE part SET body = $1 WHERE session_id = $2 AND message_seq = $3 AND ordinal = $4`,
		string(encoded), p.session, found.seq, found.ordinal)
}

// complete changes the body of a message, if the session has it.
func (p projector) complete(message string, change func(*MessageBody)) error {
	var seq int64
	var encoded string
	err := p.tx.QueryRow(p.ctx, `SELECT seq, body FROM message WHERE id = $1 AND session_id = $2`, message, p.session).Scan(&seq, &encoded)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var body MessageBody
	if err := json.Unmarshal([]byte(encoded), &body); err != nil {
		return fmt.Errorf("decode message: %w", err)
	}
	body.Completed = p.at
	change(&body)
	next, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return p.exec(`UPDATE message SET body = $1 WHERE session_id = $2 AND seq = $3`, string(next), p.session, seq)
}
