package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/plinthhost/plinth/store"
)

// IsSessionID reports whether an aggregate is a session.
func IsSessionID(id string) bool { return strings.HasPrefix(id, PrefixSession) }

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

// Session is one row of the sessions.
type Session struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Location Location `json:"location"`
	Agent    string   `json:"agent"`
	Model    ModelRef `json:"model"`
	Created  int64    `json:"created"` // milliseconds since 1970 UTC
	// Interrupt is the sequence of the last interrupt, -1 when there was none.
	Interrupt int64 `json:"-"`
	// Activity is the activity that has not ended, or empty.
	Activity string `json:"activity,omitempty"`
}

// LoadSession reads one session; ErrNotFound when there is none.
func LoadSession(ctx context.Context, tx store.Tx, id string) (Session, error) {
	s := Session{ID: id}
	var location string
	err := tx.QueryRow(ctx, `SELECT title, location, agent, model_provider, model, model_variant, created_ms, interrupt_seq, activity
		FROM session WHERE id = $1`, id).
		Scan(&s.Title, &location, &s.Agent, &s.Model.Provider, &s.Model.Model, &s.Model.Variant, &s.Created, &s.Interrupt, &s.Activity)
	if isNotFound(err) {
		return Session{}, fmt.Errorf("session %s: %w", clip(id), ErrNotFound)
	}
	if err != nil {
		return Session{}, err
	}
	if err := json.Unmarshal([]byte(location), &s.Location); err != nil {
		return Session{}, fmt.Errorf("session %s: decode location: %w", id, err)
	}
	return s, nil
}

// Input is one admitted prompt.
type Input struct {
	ID       string   `json:"id"`
	Session  string   `json:"session"`
	Delivery Delivery `json:"delivery"`
	Prompt   Prompt   `json:"prompt"`
	Created  int64    `json:"created"` // milliseconds since 1970 UTC
	Admitted int64    `json:"admitted_seq"`
	// Wake is the sequence of the event that asked for execution, -1 when none did.
	Wake int64 `json:"-"`
	// Promoted is the sequence of the promotion, nil while it is pending.
	Promoted *int64 `json:"promoted_seq,omitempty"`
}

const inputColumns = `id, session_id, delivery, prompt, created_ms, admitted_seq, wake_seq, promoted_seq`

func scanInput(row store.Row) (Input, error) {
	var in Input
	var prompt string
	if err := row.Scan(&in.ID, &in.Session, &in.Delivery, &prompt, &in.Created, &in.Admitted, &in.Wake, &in.Promoted); err != nil {
		return Input{}, err
	}
	if err := json.Unmarshal([]byte(prompt), &in.Prompt); err != nil {
		return Input{}, fmt.Errorf("input %s: decode prompt: %w", in.ID, err)
	}
	return in, nil
}

// LoadInput reads one admitted prompt; ErrNotFound when there is none.
func LoadInput(ctx context.Context, tx store.Tx, id string) (Input, error) {
	in, err := scanInput(tx.QueryRow(ctx, `SELECT `+inputColumns+` FROM input WHERE id = $1`, id))
	if isNotFound(err) {
		return Input{}, fmt.Errorf("prompt %s: %w", clip(id), ErrNotFound)
	}
	return in, err
}

// LoadPending reads the prompts that wait for promotion, oldest first.
func LoadPending(ctx context.Context, tx store.Tx, session string) ([]Input, error) {
	rows, err := tx.Query(ctx, `SELECT `+inputColumns+` FROM input
		WHERE session_id = $1 AND promoted_seq IS NULL ORDER BY admitted_seq`, session)
	return collect(rows, err, scanInput)
}

// LoadWoken lists the sessions with pending input that asks for execution and is
// newer than the session's last interrupt.
func LoadWoken(ctx context.Context, tx store.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT DISTINCT session_id FROM input JOIN session ON session.id = input.session_id
		WHERE input.promoted_seq IS NULL AND input.wake_seq > session.interrupt_seq`)
	return collect(rows, err, scanText)
}

// LoadRunning lists the sessions whose activity has not ended.
func LoadRunning(ctx context.Context, tx store.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT id FROM session WHERE activity <> ''`)
	return collect(rows, err, scanText)
}

func scanText(row store.Row) (string, error) {
	var text string
	err := row.Scan(&text)
	return text, err
}

// Epoch is the running context epoch of a session.
type Epoch struct {
	Baseline string
	Snapshot Snapshot
	// Seq is the sequence of the event that began it.
	Seq int64
}

// LoadEpoch reads the running epoch; ErrNotFound when none has begun.
func LoadEpoch(ctx context.Context, tx store.Tx, session string) (Epoch, error) {
	var e Epoch
	var snapshot string
	err := tx.QueryRow(ctx, `SELECT baseline, snapshot, baseline_seq FROM epoch WHERE session_id = $1`, session).
		Scan(&e.Baseline, &snapshot, &e.Seq)
	if isNotFound(err) {
		return Epoch{}, fmt.Errorf("context epoch of %s: %w", session, ErrNotFound)
	}
	if err != nil {
		return Epoch{}, err
	}
	if err := json.Unmarshal([]byte(snapshot), &e.Snapshot); err != nil {
		return Epoch{}, fmt.Errorf("context epoch of %s: decode snapshot: %w", session, err)
	}
	return e, nil
}

// LoadMessages reads up to limit messages with Seq > after, oldest first, whole.
func LoadMessages(ctx context.Context, tx store.Tx, session string, after int64, limit int) ([]Message, error) {
	rows, err := tx.Query(ctx, `SELECT seq, id, type, created_ms, body FROM message
		WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, session, after, limit)
	messages, err := collect(rows, err, scanMessage)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	bySeq := make(map[int64]*Message, len(messages))
	for i := range messages {
		bySeq[messages[i].Seq] = &messages[i]
	}
	rows, err = tx.Query(ctx, `SELECT message_seq, body FROM part
		WHERE session_id = $1 AND message_seq >= $2 AND message_seq <= $3 ORDER BY message_seq, ordinal`,
		session, messages[0].Seq, messages[len(messages)-1].Seq)
	type located struct {
		seq  int64
		part MessagePart
	}
	parts, err := collect(rows, err, func(row store.Row) (located, error) {
		var l located
		var body string
		if err := row.Scan(&l.seq, &body); err != nil {
			return l, err
		}
		return l, json.Unmarshal([]byte(body), &l.part)
	})
	if err != nil {
		return nil, fmt.Errorf("read parts of %s: %w", session, err)
	}
	for _, l := range parts {
		message := bySeq[l.seq]
		message.Parts = append(message.Parts, l.part)
	}
	return messages, nil
}

func scanMessage(row store.Row) (Message, error) {
	var m Message
	var body string
	if err := row.Scan(&m.Seq, &m.ID, &m.Type, &m.Created, &body); err != nil {
		return Message{}, err
	}
	if err := json.Unmarshal([]byte(body), &m.MessageBody); err != nil {
		return Message{}, fmt.Errorf("message %s: decode body: %w", m.ID, err)
	}
	return m, nil
}

// Permission is one permission request.
type Permission struct {
	PermissionAsked
	Session string `json:"session"`
	Seq     int64  `json:"seq"`
	Asked   int64  `json:"asked"` // milliseconds since 1970 UTC
	// Reply is empty while the request is open.
	Reply    Reply  `json:"reply,omitempty"`
	Feedback string `json:"feedback,omitempty"`
}

const permissionColumns = `session_id, asked_seq, asked_ms, body, reply, feedback`

func scanPermission(row store.Row) (Permission, error) {
	var p Permission
	var body string
	if err := row.Scan(&p.Session, &p.Seq, &p.Asked, &body, &p.Reply, &p.Feedback); err != nil {
		return Permission{}, err
	}
	if err := json.Unmarshal([]byte(body), &p.PermissionAsked); err != nil {
		return Permission{}, fmt.Errorf("decode permission request: %w", err)
	}
	return p, nil
}

func loadPermission(ctx context.Context, tx store.Tx, id string) (Permission, error) {
	p, err := scanPermission(tx.QueryRow(ctx, `SELECT `+permissionColumns+` FROM permission WHERE id = $1`, id))
	if isNotFound(err) {
		return Permission{}, fmt.Errorf("permission request %s: %w", clip(id), ErrNotFound)
	}
	return p, err
}

// LoadPermissions reads the open requests of a session, or of all when session is
// empty, in the order they were asked.
func LoadPermissions(ctx context.Context, tx store.Tx, session string) ([]Permission, error) {
	rows, err := tx.Query(ctx, `SELECT `+permissionColumns+` FROM permission
		WHERE reply = '' AND (session_id = $1 OR $2 = '') ORDER BY asked_ms, asked_seq`, session, session)
	return collect(rows, err, scanPermission)
}

func loadApprovals(ctx context.Context, tx store.Tx, root, plugin string) ([]Rule, error) {
	rows, err := tx.Query(ctx, `SELECT action, resource FROM approval WHERE root = $1 AND plugin = $2`, root, plugin)
	return collect(rows, err, func(row store.Row) (Rule, error) {
		rule := Rule{Effect: Allow}
		err := row.Scan(&rule.Action, &rule.Resource)
		return rule, err
	})
}

// collect reads all rows and closes them.
func collect[T any](rows store.Rows, err error, scan func(store.Row) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		value, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, rows.Err()
}
