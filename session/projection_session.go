package session

import (
	"encoding/json"
	"fmt"
)

// onSession projects what concerns the session as a whole.
func (p projector) onSession(payload Payload) (mine bool, err error) {
	switch e := payload.(type) {
	case Created:
		return true, p.created(e)
	case AgentSwitched:
		if err := p.exec(`UPDATE session SET agent = $1 WHERE id = $2`, e.Agent, p.session); err != nil {
			return true, err
		}
		return true, p.message(e.Message, MessageAgent, p.at, MessageBody{Agent: e.Agent})
	case ModelSwitched:
		if err := p.model(e.Model); err != nil {
			return true, err
		}
		return true, p.message(e.Message, MessageModel, p.at, MessageBody{Model: &e.Model})
	case RulesChanged:
		return true, p.column("rules", e.Rules)
	case BudgetsChanged:
		return true, p.column("budgets", e.Budgets)
	case Moved:
		return true, p.moved(e)
	case Synthetic:
		return true, p.message(e.Message, MessageSynthetic, p.at, MessageBody{Text: e.Text, Description: e.Description, Ignored: e.Ignored})
	case ShellStarted:
		return true, p.message(e.Message, MessageShell, p.at, MessageBody{Call: e.Call, Command: e.Command})
	case ShellEnded:
		return true, p.shellEnded(e)
	case TodosChanged:
		return true, p.todos(e)
	case Renamed:
		return true, p.renamed(e)
	case Archived:
		return true, p.exec(`UPDATE session SET archived_ms = $1 WHERE id = $2`, p.at, p.session)
	case Unarchived:
		return true, p.exec(`UPDATE session SET archived_ms = 0 WHERE id = $1`, p.session)
	case RetentionChanged:
		return true, p.column("retention", e.Retention)
	case ChangesSummarized:
		return true, p.column("changes", e.Changes)
	}
	return false, nil
}

func (p projector) created(e Created) error {
	if p.seq != 0 {
		return fmt.Errorf("%w: the session exists already", ErrInvalid)
	}
	return p.insertSession(Session{Title: e.Title, Slug: e.Slug, Location: e.Location, Agent: e.Agent, Model: e.Model, Created: p.at,
		Parent: e.Parent, Depth: e.Depth, Rules: e.Rules, Budgets: e.Budgets, Fork: e.Fork, Pruned: -1})
}

// insertSession adds the row of a session on which nothing has worked.
func (p projector) insertSession(s Session) error {
	rules, err := jsonList(s.Rules)
	if err != nil {
		return err
	}
	budgets, err := jsonList(s.Budgets)
	if err != nil {
		return err
	}
	unrestored, err := jsonList(s.Unrestored)
	if err != nil {
		return err
	}
	location, err := json.Marshal(s.Location)
	if err != nil {
		return err
	}
	columns := [...]*string{new(string), new(string), new(string), new(string)}
	for i, value := range [...]any{orNil(s.Fork), orNil(s.Retention), orNil(s.Revert), orNil(s.Changes)} {
		if value == nil {
			continue
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			return err
		}
		*columns[i] = string(encoded)
	}
	return p.exec(`INSERT INTO session (id, title, location, agent, model_provider, model, model_variant, created_ms, interrupt_seq,
		parent_id, depth, rules, budgets, slug, archived_ms, fork, retention, revert, changes, pruned_seq, unrestored)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, -1, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`,
		p.session, s.Title, string(location), s.Agent, s.Model.Provider, s.Model.Model, s.Model.Variant, s.Created,
		s.Parent, s.Depth, rules, budgets, s.Slug, s.Archived, *columns[0], *columns[1], *columns[2], *columns[3], s.Pruned, unrestored)
}

// orNil is value, or an untyped nil for a nil pointer.
func orNil[T any](value *T) any {
	if value == nil {
		return nil
	}
	return value
}

// jsonList is the JSON of a list, [] for none.
func jsonList[T any](list []T) (string, error) {
	if list == nil {
		return "[]", nil
	}
	encoded, err := json.Marshal(list)
	return string(encoded), err
}

func (p projector) column(name string, value any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if string(encoded) == "null" {
		encoded = []byte("[]")
	}
	return p.exec(`UPDATE session SET `+name+` = $1 WHERE id = $2`, string(encoded), p.session)
}

func (p projector) model(m ModelRef) error {
	return p.exec(`UPDATE session SET model_provider = $1, model = $2, model_variant = $3 WHERE id = $4`,
		m.Provider, m.Model, m.Variant, p.session)
}

// moved ends the context epoch; no message is added.
func (p projector) moved(e Moved) error {
	if err := p.column("location", e.Location); err != nil {
		return err
	}
	return p.exec(`DELETE FROM epoch WHERE session_id = $1`, p.session)
}

// shellEnded completes the newest shell message of the call; a call that is not known
// changes nothing.
func (p projector) shellEnded(e ShellEnded) error {
	var id string
	err := p.tx.QueryRow(p.ctx, `SELECT message FROM shell WHERE session_id = $1 AND call = $2`, p.session, e.Call).Scan(&id)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := p.exec(`UPDATE shell SET ended = 1 WHERE session_id = $1 AND call = $2`, p.session, e.Call); err != nil {
		return err
	}
	return p.complete(id, func(body *MessageBody) { body.Output, body.Exit = e.Output, e.Exit })
}

func (p projector) todos(e TodosChanged) error {
	body, err := jsonList(e.Todos)
	if err != nil {
		return err
	}
	return p.exec(`INSERT INTO todo (session_id, body) VALUES ($1, $2) ON CONFLICT (session_id) DO UPDATE SET body = excluded.body`,
		p.session, body)
}

func (p projector) renamed(e Renamed) error {
	if err := p.paid(e.Usage, e.Cost); err != nil {
		return err
	}
	return p.exec(`UPDATE session SET title = $1 WHERE id = $2`, e.Title, p.session)
}
