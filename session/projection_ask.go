package session

import (
	"encoding/json"
	"fmt"
)

// onAsk projects what waits for people.
func (p projector) onAsk(payload Payload) (mine bool, err error) {
	switch e := payload.(type) {
	case PermissionAsked:
		return true, p.permissionAsked(e)
	case PermissionReplied:
		return true, p.permissionReplied(e)
	case QuestionAsked:
		return true, p.questionAsked(e)
	case QuestionAnswered:
		return true, p.questionClosed(e.Request, QuestionStateAnswered, e.Answers)
	case QuestionDismissed:
		state := QuestionStateDismissed
		if e.Withdrawn {
			state = QuestionStateWithdrawn
		}
		return true, p.questionClosed(e.Request, state, nil)
	case ChildAsked:
		return true, p.exec(`INSERT INTO child_request (session_id, request, child_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
			p.session, e.Request, e.Session)
	case ChildAnswered:
		return true, p.exec(`DELETE FROM child_request WHERE session_id = $1 AND request = $2`, p.session, e.Request)
	}
	return false, nil
}

// host projects the events of the host.
func (p projector) host(payload Payload) error {
	switch e := payload.(type) {
	case ApprovalSaved:
		return p.approve(e)
	case ApprovalRemoved:
		return p.exec(`DELETE FROM approval WHERE root = $1 AND plugin = $2 AND action = $3 AND resource = $4`,
			e.Root, e.Plugin, e.Action, e.Resource)
	}
	if mine, err := p.onPlugin(payload); mine || err != nil {
		return err
	}
	return fmt.Errorf("%w: %s is no event of the host", ErrInvalid, payload.EventType())
}

func (p projector) approve(e ApprovalSaved) error {
	return p.exec(`INSERT INTO approval (root, plugin, action, resource, saved_ms) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		e.Root, e.Plugin, e.Action, e.Resource, p.at)
}

func (p projector) permissionAsked(e PermissionAsked) error {
	encoded, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return p.exec(`INSERT INTO permission (id, session_id, asked_seq, asked_ms, body, reply, feedback) VALUES ($1, $2, $3, $4, $5, '', '')`,
		e.Request, p.session, p.seq, p.at, string(encoded))
}

// permissionReplied resolves an open request, once.
func (p projector) permissionReplied(e PermissionReplied) error {
	affected, err := p.tx.Exec(p.ctx, `UPDATE permission SET reply = $1, feedback = $2 WHERE id = $3 AND session_id = $4 AND reply = ''`,
		string(e.Reply), e.Feedback, e.Request, p.session)
	if err != nil {
		return err
	}
	if affected != 1 {
		return fmt.Errorf("permission request %s: %w", e.Request, ErrResolved)
	}
	if e.Reply != ReplyAlways || !e.Saves {
		return nil
	}
	asked, err := LoadPermission(p.ctx, p.tx, e.Request)
	if err != nil {
		return err
	}
	session, err := LoadSession(p.ctx, p.tx, p.session)
	if err != nil {
		return err
	}
	for _, resource := range asked.Ask.Save {
		if err := p.approve(ApprovalSaved{Root: session.Location.Root, Plugin: asked.Ask.Plugin, Action: asked.Ask.Action, Resource: resource}); err != nil {
			return err
		}
	}
	return nil
}

func (p projector) questionAsked(e QuestionAsked) error {
	encoded, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return p.exec(`INSERT INTO question (id, session_id, asked_seq, asked_ms, body, state, answers) VALUES ($1, $2, $3, $4, $5, 'open', '[]')`,
		e.Request, p.session, p.seq, p.at, string(encoded))
}

// questionClosed closes an open question, once.
func (p projector) questionClosed(id string, state QuestionState, answers [][]string) error {
	encoded, err := jsonList(answers)
	if err != nil {
		return err
	}
	affected, err := p.tx.Exec(p.ctx, `UPDATE question SET state = $1, answers = $2 WHERE id = $3 AND session_id = $4 AND state = 'open'`,
		string(state), encoded, id, p.session)
	if err == nil && affected != 1 {
		err = fmt.Errorf("question %s: %w", id, ErrResolved)
	}
	return err
}
