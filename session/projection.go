package session

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/plinthhost/plinth/store"
)

// Migrations holds the DDL of the kernel's tables, a folder per dialect.
//
//go:embed migrations
var Migrations embed.FS

// Projection keeps the kernel's tables in the event's transaction. What it
// refuses is not appended.
type Projection struct{}

// Apply writes what follows from the event. Events of other aggregates are none
// of its business.
func (Projection) Apply(ctx context.Context, tx store.Tx, event store.Event) error {
	if !IsSessionID(event.Aggregate) {
		return nil
	}
	payload, err := Decode(event)
	if err != nil {
		return err
	}
	p := projector{ctx: ctx, tx: tx, session: event.Aggregate, seq: event.Seq, at: event.Time.UnixMilli()}
	switch e := payload.(type) {
	case Created:
		return p.created(e)
	case PromptAdmitted:
		return p.promptAdmitted(e)
	case PromptWoken:
		return p.exec(`UPDATE input SET wake_seq = $1 WHERE id = $2`, p.seq, e.Message)
	case PromptPromoted:
		return p.promptPromoted(e)
	case InterruptRequested:
		return p.exec(`UPDATE session SET interrupt_seq = $1 WHERE id = $2`, p.seq, p.session)
	case ActivityStarted:
		return p.exec(`UPDATE session SET activity = $1 WHERE id = $2`, e.Activity, p.session)
	case ActivityEnded:
		return p.exec(`UPDATE session SET activity = '' WHERE id = $1`, p.session)
	case ContextInitialized:
		return p.epoch(e.Baseline, e.Snapshot)
	case ContextReplaced:
		return p.epoch(e.Baseline, e.Snapshot)
	case ContextUpdated:
		return p.contextUpdated(e)
	case StepStarted:
		model := e.Model
		return p.message(e.Message, MessageAssistant, p.at, MessageBody{Agent: e.Agent, Model: &model})
	case TextEnded:
		return p.part(e.Message, "", MessagePart{Type: MessagePartText, ID: e.Part, Text: e.Text})
	case ReasoningEnded:
		return p.part(e.Message, "", MessagePart{Type: MessagePartReasoning, ID: e.Part, Text: e.Text, Metadata: e.Metadata})
	case ToolCalled:
		return p.part(e.Message, e.Call, MessagePart{Type: MessagePartTool, ID: e.Call, Metadata: e.Metadata,
			Tool: &ToolPart{Name: e.Name, State: ToolStateRunning, Input: e.Input, Started: p.at}})
	case ToolSucceeded:
		return p.settle(e.Message, e.Call, func(tool *ToolPart) {
			tool.State, tool.Content, tool.Structured = ToolStateCompleted, e.Content, e.Structured
			tool.Title, tool.Metadata, tool.Revision = e.Title, e.Metadata, e.Revision
		})
	case ToolFailed:
		return p.settle(e.Message, e.Call, func(tool *ToolPart) {
			failure := e.Error
			tool.State, tool.Error, tool.Revision = ToolStateFailed, &failure, e.Revision
		})
	case StepEnded:
		return p.complete(e.Message, func(body *MessageBody) {
			usage := e.Usage
			body.Finish, body.Usage = e.Finish, &usage
		})
	case StepFailed:
		return p.complete(e.Message, func(body *MessageBody) {
			failure := e.Error
			body.Error = &failure
		})
	case PermissionAsked:
		return p.permissionAsked(e)
	case PermissionReplied:
		return p.permissionReplied(e)
	}
	return nil // TurnStarted is history only
}

// Forget removes all rows of a session. Approvals belong to the project and stay.
func (Projection) Forget(ctx context.Context, tx store.Tx, aggregate string) error {
	for _, statement := range []string{
		`DELETE FROM session WHERE id = $1`,
		`DELETE FROM input WHERE session_id = $1`,
		`DELETE FROM message WHERE session_id = $1`,
		`DELETE FROM part WHERE session_id = $1`,
		`DELETE FROM epoch WHERE session_id = $1`,
		`DELETE FROM permission WHERE session_id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, aggregate); err != nil {
			return fmt.Errorf("forget session: %w", err)
		}
	}
	return nil
}

// projector is one event being applied.
type projector struct {
	ctx     context.Context
	tx      store.Tx
	session string
	seq     int64
	at      int64 // the event's time, milliseconds
}

func (p projector) exec(query string, args ...any) error {
	_, err := p.tx.Exec(p.ctx, query, args...)
	return err
}

func (p projector) created(e Created) error {
	if p.seq != 0 {
		return fmt.Errorf("%w: the session exists already", ErrInvalid)
	}
	location, err := json.Marshal(e.Location)
	if err != nil {
		return err
	}
	return p.exec(`INSERT INTO session (id, title, location, agent, model_provider, model, model_variant, created_ms, interrupt_seq, activity)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, -1, '')`,
		p.session, e.Title, string(location), e.Agent, e.Model.Provider, e.Model.Model, e.Model.Variant, p.at)
}

func (p projector) promptAdmitted(e PromptAdmitted) error {
	if p.seq == 0 {
		return fmt.Errorf("session %s: %w", p.session, ErrNotFound)
	}
	if err := p.free(e.Message); err != nil {
		return err
	}
	prompt, err := e.Prompt.Canonical()
	if err != nil {
		return err
	}
	wake := int64(-1)
	if e.Wake {
		wake = p.seq
	}
	return p.exec(`INSERT INTO input (id, session_id, delivery, prompt, created_ms, admitted_seq, wake_seq, promoted_seq)
		VALUES ($1, $2, $3, $4, $5, $6, $7, NULL)`, e.Message, p.session, string(e.Delivery), string(prompt), p.at, p.seq, wake)
}

// free refuses a message id that an input or a message has already.
func (p projector) free(id string) error {
	var owner string
	err := p.tx.QueryRow(p.ctx, `SELECT session_id FROM input WHERE id = $1`, id).Scan(&owner)
	if err == nil {
		return &ConflictError{ID: id, Reason: "another prompt"}
	}
	if !isNotFound(err) {
		return err
	}
	return p.freeMessage(id)
}

func (p projector) freeMessage(id string) error {
	var seq int64
	err := p.tx.QueryRow(p.ctx, `SELECT seq FROM message WHERE id = $1`, id).Scan(&seq)
	if err == nil {
		return &ConflictError{ID: id, Reason: "another message"}
	}
	if !isNotFound(err) {
		return err
	}
	return nil
}

func (p projector) promptPromoted(e PromptPromoted) error {
	prompt, err := e.Prompt.Canonical()
	if err != nil {
		return err
	}
	affected, err := p.tx.Exec(p.ctx, `UPDATE input SET promoted_seq = $1
		WHERE id = $2 AND session_id = $3 AND promoted_seq IS NULL AND prompt = $4 AND created_ms = $5`,
		p.seq, e.Message, p.session, string(prompt), e.Created)
	if err != nil {
		return err
	}
	if affected != 1 {
		return &ConflictError{ID: e.Message, Reason: "no pending prompt of that body"}
	}
	if err := p.freeMessage(e.Message); err != nil {
		return err
	}
	if err := p.insertMessage(e.Message, MessageUser, e.Created, MessageBody{Prompt: &e.Prompt}); err != nil {
		return err
	}
	if e.Prompt.Agent != "" {
		if err := p.exec(`UPDATE session SET agent = $1 WHERE id = $2`, e.Prompt.Agent, p.session); err != nil {
			return err
		}
	}
	if m := e.Prompt.Model; m != nil {
		return p.exec(`UPDATE session SET model_provider = $1, model = $2, model_variant = $3 WHERE id = $4`,
			m.Provider, m.Model, m.Variant, p.session)
	}
	return nil
}

func (p projector) epoch(baseline string, snapshot Snapshot) error {
	encoded, err := json.Marshal(snapshot)
	if err != nil {
		return err
	}
	if err := p.exec(`DELETE FROM epoch WHERE session_id = $1`, p.session); err != nil {
		return err
	}
	return p.exec(`INSERT INTO epoch (session_id, baseline, snapshot, baseline_seq) VALUES ($1, $2, $3, $4)`,
		p.session, baseline, string(encoded), p.seq)
}

func (p projector) contextUpdated(e ContextUpdated) error {
	epoch, err := LoadEpoch(p.ctx, p.tx, p.session)
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(epoch.Snapshot.Advance(e.Changed, e.Removed))
	if err != nil {
		return err
	}
	if err := p.exec(`UPDATE epoch SET snapshot = $1 WHERE session_id = $2`, string(encoded), p.session); err != nil {
		return err
	}
	return p.message(e.Message, MessageSystem, p.at, MessageBody{Text: e.Text})
}

// Advance answers the snapshot after an update.
func (s Snapshot) Advance(changed Snapshot, removed []string) Snapshot {
	next := make(Snapshot, len(s)+len(changed))
	maps.Copy(next, s)
	for _, key := range removed {
		delete(next, key)
	}
	maps.Copy(next, changed)
	return next
}

// message adds a message whose id nothing else may have.
func (p projector) message(id string, kind MessageType, created int64, body MessageBody) error {
	if err := p.free(id); err != nil {
		return err
	}
	return p.insertMessage(id, kind, created, body)
}

func (p projector) insertMessage(id string, kind MessageType, created int64, body MessageBody) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return p.exec(`INSERT INTO message (session_id, seq, id, type, created_ms, body) VALUES ($1, $2, $3, $4, $5, $6)`,
		p.session, p.seq, id, string(kind), created, string(encoded))
}

// assistant answers the sequence of a message of this session; ok is false when
// there is none, which changes nothing and fails nothing.
func (p projector) assistant(id string) (seq int64, ok bool, err error) {
	err = p.tx.QueryRow(p.ctx, `SELECT seq FROM message WHERE id = $1 AND session_id = $2`, id, p.session).Scan(&seq)
	if isNotFound(err) {
		return 0, false, nil
	}
	return seq, err == nil, err
}

func (p projector) part(message, call string, part MessagePart) error {
	seq, ok, err := p.assistant(message)
	if err != nil || !ok {
		return err
	}
	encoded, err := json.Marshal(part)
	if err != nil {
		return err
	}
	var ordinal int64
	if err := p.tx.QueryRow(p.ctx, `SELECT COALESCE(MAX(ordinal), -1) + 1 FROM part WHERE session_id = $1 AND message_seq = $2`,
		p.session, seq).Scan(&ordinal); err != nil {
		return err
	}
	return p.exec(`INSERT INTO part (session_id, message_seq, ordinal, tool_call, body) VALUES ($1, $2, $3, $4, $5)`,
		p.session, seq, ordinal, call, string(encoded))
}

// settle closes a call that is still running. A second settlement is refused: a
// call has one.
func (p projector) settle(message, call string, change func(*ToolPart)) error {
	seq, ok, err := p.assistant(message)
	if err != nil || !ok {
		return err
	}
	var ordinal int64
	var body string
	err = p.tx.QueryRow(p.ctx, `SELECT ordinal, body FROM part WHERE session_id = $1 AND message_seq = $2 AND tool_call = $3
		ORDER BY ordinal DESC LIMIT 1`, p.session, seq, call).Scan(&ordinal, &body)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var part MessagePart
	if err := json.Unmarshal([]byte(body), &part); err != nil {
		return fmt.Errorf("decode part: %w", err)
	}
	if part.Tool.State != ToolStateRunning {
		return fmt.Errorf("%w: call %s is settled already", ErrInvalid, call)
	}
	part.Tool.Settled = p.at
	change(part.Tool)
	encoded, err := json.Marshal(part)
	if err != nil {
		return err
	}
	return p.exec(`UPDATE part SET body = $1 WHERE session_id = $2 AND message_seq = $3 AND ordinal = $4`,
		string(encoded), p.session, seq, ordinal)
}

func (p projector) complete(message string, change func(*MessageBody)) error {
	seq, ok, err := p.assistant(message)
	if err != nil || !ok {
		return err
	}
	var encoded string
	if err := p.tx.QueryRow(p.ctx, `SELECT body FROM message WHERE session_id = $1 AND seq = $2`, p.session, seq).Scan(&encoded); err != nil {
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

func (p projector) permissionAsked(e PermissionAsked) error {
	encoded, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return p.exec(`INSERT INTO permission (id, session_id, asked_seq, asked_ms, body, reply, feedback) VALUES ($1, $2, $3, $4, $5, '', '')`,
		e.Request, p.session, p.seq, p.at, string(encoded))
}

// permissionReplied resolves an open request, once, and keeps what "always" allows.
func (p projector) permissionReplied(e PermissionReplied) error {
	affected, err := p.tx.Exec(p.ctx, `UPDATE permission SET reply = $1, feedback = $2 WHERE id = $3 AND session_id = $4 AND reply = ''`,
		string(e.Reply), e.Feedback, e.Request, p.session)
	if err != nil {
		return err
	}
	if affected != 1 {
		return fmt.Errorf("permission request %s: %w", e.Request, ErrResolved)
	}
	if e.Reply != ReplyAlways {
		return nil
	}
	asked, err := loadPermission(p.ctx, p.tx, e.Request)
	if err != nil {
		return err
	}
	session, err := LoadSession(p.ctx, p.tx, p.session)
	if err != nil {
		return err
	}
	for _, resource := range asked.Ask.Save {
		if err := p.exec(`INSERT INTO approval (root, plugin, action, resource) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			session.Location.Root, asked.Ask.Plugin, asked.Ask.Action, resource); err != nil {
			return err
		}
	}
	return nil
}
