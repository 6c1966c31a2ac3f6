package view

import (
	"context"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// Apply follows one event.
func (List) Apply(ctx context.Context, tx store.Tx, event store.Event) error {
	if !session.IsSessionID(event.Aggregate) || !shown(event.Type) {
		return nil // decoding is spared for what the list does not show
	}
	payload, err := session.Decode(event)
	if err != nil {
		return err
	}
	at, id := event.Time.UnixMilli(), event.Aggregate
	set := func(query string, args ...any) error {
		_, err := tx.Exec(ctx, query, append(args, id)...)
		return err
	}
	switch e := payload.(type) {
	case session.Created:
		return begin(ctx, tx, event, session.Session{Title: e.Title, Slug: e.Slug, Location: e.Location, Agent: e.Agent, Model: e.Model, Created: at})
	case session.HistoryPruned:
		return begin(ctx, tx, event, e.Session)
	case session.AgentSwitched:
		return set(`UPDATE session_list SET agent = $1 WHERE id = $2`, e.Agent)
	case session.ModelSwitched:
		return set(`UPDATE session_list SET model = $1 WHERE id = $2`, e.Model.String())
	case session.Moved:
		return set(`UPDATE session_list SET directory = $1 WHERE id = $2`, e.Location.Directory)
	case session.Renamed:
		return set(`UPDATE session_list SET title = $1 WHERE id = $2`, e.Title)
	case session.Archived:
		return set(`UPDATE session_list SET archived_ms = $1 WHERE id = $2`, at)
	case session.Unarchived:
		return set(`UPDATE session_list SET archived_ms = $1 WHERE id = $2`, 0)
	case session.PromptPromoted:
		return prompted(set, at, e.Prompt.Text)
	case session.MessageImported:
		if e.Message.Type == session.MessageUser && e.Message.Prompt != nil {
			return prompted(set, e.Message.Created, e.Message.Prompt.Text)
		}
	}
	return nil
}

// shown are the types of events that the list follows.
func shown(eventType string) bool {
	switch eventType {
	case session.Created{}.EventType(), session.HistoryPruned{}.EventType(), session.AgentSwitched{}.EventType(),
		session.ModelSwitched{}.EventType(), session.Moved{}.EventType(), session.Renamed{}.EventType(),
		session.Archived{}.EventType(), session.Unarchived{}.EventType(), session.PromptPromoted{}.EventType(),
		session.MessageImported{}.EventType():
		return true
	}
	return false
}

// begin adds a session, or makes a known one what the event says; its place in the list,
// its last use and its preview stay.
func begin(ctx context.Context, tx store.Tx, event store.Event, s session.Session) error {
	_, err := tx.Exec(ctx, `INSERT INTO session_list
		(id, position, created_ms, updated_ms, archived_ms, slug, title, preview, directory, agent, model)
		VALUES ($1, $2, $3, $4, $5, $6, $7, '', $8, $9, $10)
		ON CONFLICT (id) DO UPDATE SET archived_ms = excluded.archived_ms, slug = excluded.slug, title = excluded.title,
			directory = excluded.directory, agent = excluded.agent, model = excluded.model`,
		event.Aggregate, event.Position, s.Created, s.Created, s.Archived, s.Slug, s.Title, s.Location.Directory, s.Agent, s.Model.String())
	return err
}

// prompted notes the use of a session, and its first prompt.
func prompted(set func(query string, args ...any) error, at int64, text string) error {
	return set(`UPDATE session_list SET updated_ms = CASE WHEN updated_ms < $1 THEN $2 ELSE updated_ms END,
		preview = CASE WHEN preview = '' THEN $3 ELSE preview END WHERE id = $4`, at, at, preview(text))
}
