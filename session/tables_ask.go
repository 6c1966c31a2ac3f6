package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/store"
)

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

// LoadPermission reads one request; ErrNotFound when there is none.
func LoadPermission(ctx context.Context, tx store.Tx, id string) (Permission, error) {
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

// Question is one question, or several asked together.
type QuestionRequest struct {
	QuestionAsked
	Session string        `json:"session"`
	Seq     int64         `json:"seq"`
	Asked   int64         `json:"asked"` // milliseconds since 1970 UTC
	State   QuestionState `json:"state"`
	Answers [][]string    `json:"answers,omitempty"`
}

// QuestionState is where a question stands.
type QuestionState string

// The states.
const (
	QuestionStateOpen      QuestionState = "open"
	QuestionStateAnswered  QuestionState = "answered"
	QuestionStateDismissed QuestionState = "dismissed"
	QuestionStateWithdrawn QuestionState = "withdrawn"
)

const questionColumns = `session_id, asked_seq, asked_ms, body, state, answers`

func scanQuestion(row store.Row) (QuestionRequest, error) {
	var q QuestionRequest
	var body, answers string
	if err := row.Scan(&q.Session, &q.Seq, &q.Asked, &body, &q.State, &answers); err != nil {
		return QuestionRequest{}, err
	}
	if err := json.Unmarshal([]byte(body), &q.QuestionAsked); err != nil {
		return QuestionRequest{}, fmt.Errorf("decode question: %w", err)
	}
	if err := json.Unmarshal([]byte(answers), &q.Answers); err != nil {
		return QuestionRequest{}, fmt.Errorf("decode answers of %s: %w", q.Request, err)
	}
	return q, nil
}

// LoadQuestion reads one question; ErrNotFound when there is none.
func LoadQuestion(ctx context.Context, tx store.Tx, id string) (QuestionRequest, error) {
	q, err := scanQuestion(tx.QueryRow(ctx, `SELECT `+questionColumns+` FROM question WHERE id = $1`, id))
	if isNotFound(err) {
		return QuestionRequest{}, fmt.Errorf("question %s: %w", clip(id), ErrNotFound)
	}
	return q, err
}

// LoadQuestions reads the open questions of a session, or of all when session is
// empty, in the order they were asked.
func LoadQuestions(ctx context.Context, tx store.Tx, session string) ([]QuestionRequest, error) {
	rows, err := tx.Query(ctx, `SELECT `+questionColumns+` FROM question
		WHERE state = 'open' AND (session_id = $1 OR $2 = '') ORDER BY asked_ms, asked_seq`, session, session)
	return collect(rows, err, scanQuestion)
}

// LoadRequests reads the permission requests of the session that were asked after a
// sequence, answered or not.
func LoadRequests(ctx context.Context, tx store.Tx, session string, after int64) ([]Permission, error) {
	rows, err := tx.Query(ctx, `SELECT `+permissionColumns+` FROM permission WHERE session_id = $1 AND asked_seq > $2 ORDER BY asked_seq`, session, after)
	return collect(rows, err, scanPermission)
}

// LoadAllQuestions reads its questions likewise.
func LoadAllQuestions(ctx context.Context, tx store.Tx, session string, after int64) ([]QuestionRequest, error) {
	rows, err := tx.Query(ctx, `SELECT `+questionColumns+` FROM question WHERE session_id = $1 AND asked_seq > $2 ORDER BY asked_seq`, session, after)
	return collect(rows, err, scanQuestion)
}

func loadApprovals(ctx context.Context, tx store.Tx, root, plugin string) ([]Rule, error) {
	rows, err := tx.Query(ctx, `SELECT action, resource FROM approval WHERE root = $1 AND plugin = $2`, root, plugin)
	return collect(rows, err, func(row store.Row) (Rule, error) {
		rule := Rule{Effect: Allow}
		err := row.Scan(&rule.Action, &rule.Resource)
		return rule, err
	})
}
