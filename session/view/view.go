// Package view keeps what lists show: read models that follow from the events,
// can be dropped and rebuilt at any time, and never keep an event out of the log.
package view

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

//go:embed migrations
var migrations embed.FS

const previewBytes = 120

// List keeps the list of sessions.
type List struct {
	files fs.FS
}

// NewList makes the view for a dialect: "sqlite".
func NewList(dialect string) (List, error) {
	files, err := fs.Sub(migrations, "migrations/"+dialect)
	if err != nil {
		return List{}, fmt.Errorf("view migrations of %s: %w", dialect, err)
	}
	return List{files: files}, nil
}

// Name is the name of the view and of its migration line.
func (List) Name() string { return "view" }

// Migrations are its tables.
func (l List) Migrations() fs.FS { return l.files }

// Clear removes all rows, before they are built anew.
func (List) Clear(ctx context.Context, tx store.Tx) error {
	_, err := tx.Exec(ctx, `DELETE FROM session_list`)
	return err
}

// Apply follows one event.
func (List) Apply(ctx context.Context, tx store.Tx, event store.Event) error {
	if !session.IsSessionID(event.Aggregate) {
		return nil
	}
	switch event.Type {
	case session.Created{}.EventType(), session.PromptPromoted{}.EventType(), session.AgentSwitched{}.EventType(),
		session.ModelSwitched{}.EventType(), session.Moved{}.EventType():
	default:
		return nil // decoding is spared for what the list does not show
	}
	payload, err := session.Decode(event)
	if err != nil {
		return err
	}
	at := event.Time.UnixMilli()
	switch e := payload.(type) {
	case session.Created:
		_, err = tx.Exec(ctx, `INSERT INTO session_list (id, position, created_ms, updated_ms, title, preview, directory, agent, model)
			VALUES ($1, $2, $3, $4, $5, '', $6, $7, $8)`,
			event.Aggregate, event.Position, at, at, e.Title, e.Location.Directory, e.Agent, e.Model.String())
	case session.AgentSwitched:
		_, err = tx.Exec(ctx, `UPDATE session_list SET agent = $1 WHERE id = $2`, e.Agent, event.Aggregate)
	case session.ModelSwitched:
		_, err = tx.Exec(ctx, `UPDATE session_list SET model = $1 WHERE id = $2`, e.Model.String(), event.Aggregate)
	case session.Moved:
		_, err = tx.Exec(ctx, `UPDATE session_list SET directory = $1 WHERE id = $2`, e.Location.Directory, event.Aggregate)
	case session.PromptPromoted:
		_, err = tx.Exec(ctx, `UPDATE session_list SET updated_ms = $1, preview = CASE WHEN preview = '' THEN $2 ELSE preview END WHERE id = $3`,
			at, preview(e.Prompt.Text), event.Aggregate)
	}
	return err
}

// Forget removes a session from the list.
func (List) Forget(ctx context.Context, tx store.Tx, aggregate string) error {
	_, err := tx.Exec(ctx, `DELETE FROM session_list WHERE id = $1`, aggregate)
	return err
}

func preview(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) <= previewBytes {
		return line
	}
	cut := previewBytes
	for !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + "…"
}

// Item is one session in the list. Times are milliseconds since 1970 UTC.
type Item struct {
	ID        string
	Position  int64
	Created   int64
	Updated   int64
	Title     string
	Preview   string
	Directory string
	Agent     string
	Model     string
}

// Query selects sessions, newest first.
type Query struct {
	// Before is the Position to go on from, 0 for the newest.
	Before int64
	// Limit is how many at most, at least 1.
	Limit int
	// Directory selects one working directory; all when empty.
	Directory string
	// Text selects what has the text in its title or preview; all when empty.
	Text string
}

// Get reads one session of the list; store.ErrNotFound when it is not there.
func Get(ctx context.Context, tx store.Tx, id string) (Item, error) {
	return scan(tx.QueryRow(ctx, `SELECT `+columns+` FROM session_list WHERE id = $1`, id))
}

const columns = `id, position, created_ms, updated_ms, title, preview, directory, agent, model`

func scan(row store.Row) (Item, error) {
	var item Item
	err := row.Scan(&item.ID, &item.Position, &item.Created, &item.Updated, &item.Title, &item.Preview,
		&item.Directory, &item.Agent, &item.Model)
	return item, err
}

// Read reads one page. More is set when there is at least one further session.
func Read(ctx context.Context, tx store.Tx, query Query) (items []Item, more bool, err error) {
	before := query.Before
	if before <= 0 {
		before = 1<<63 - 1
	}
	like := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(query.Text) + "%"
	rows, err := tx.Query(ctx, `SELECT `+columns+` FROM session_list
		WHERE position < $1 AND (directory = $2 OR $3 = '') AND (title LIKE $4 ESCAPE '\' OR preview LIKE $5 ESCAPE '\')
		ORDER BY position DESC LIMIT $6`, before, query.Directory, query.Directory, like, like, query.Limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("list sessions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, false, fmt.Errorf("list sessions: %w", err)
		}
		items = append(items, item)
	}
	if err := rows.Err(); err != nil {
		return nil, false, fmt.Errorf("list sessions: %w", err)
	}
	if len(items) > query.Limit {
		return items[:query.Limit], true, nil
	}
	return items, false, nil
}
