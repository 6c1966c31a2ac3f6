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

// Forget removes a session from the list.
func (List) Forget(ctx context.Context, tx store.Tx, aggregate string, _ int) (more bool, err error) {
	_, err = tx.Exec(ctx, `DELETE FROM session_list WHERE id = $1`, aggregate)
	return false, err
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
	ID string
	// Created is when, and Position breaks a tie: the two are the order of the list.
	Created  int64
	Position int64
	Updated  int64
	// Archived is when it was put out of sight, 0 when it is not.
	Archived  int64
	Slug      string
	Title     string
	Preview   string
	Directory string
	Agent     string
	Model     string
}

// Query selects sessions, newest first.
type Query struct {
	// Before is the place to go on from; the newest when it is zero.
	Before Place
	// Limit is how many at most, at least 1.
	Limit int
	// Directory selects one working directory; all when empty.
	Directory string
	// Text selects what has the text in its title or preview; all when empty.
	Text string
	// Slug selects those of that slug, archived or not; all when empty.
	Slug string
	// Archived asks for archived sessions too.
	Archived bool
}

// Place is one in the list.
type Place struct{ Created, Position int64 }

// Place is where the session stands.
func (i Item) Place() Place { return Place{Created: i.Created, Position: i.Position} }

// Get reads one session of the list; store.ErrNotFound when it is not there.
func Get(ctx context.Context, tx store.Tx, id string) (Item, error) {
	return scan(tx.QueryRow(ctx, `SELECT `+columns+` FROM session_list WHERE id = $1`, id))
}

const columns = `id, position, created_ms, updated_ms, archived_ms, slug, title, preview, directory, agent, model`

func scan(row store.Row) (Item, error) {
	var item Item
	err := row.Scan(&item.ID, &item.Position, &item.Created, &item.Updated, &item.Archived, &item.Slug, &item.Title, &item.Preview,
		&item.Directory, &item.Agent, &item.Model)
	return item, err
}

// Read reads one page. More is set when there is at least one further session.
func Read(ctx context.Context, tx store.Tx, query Query) (items []Item, more bool, err error) {
	before := query.Before
	if before == (Place{}) {
		before = Place{Created: 1<<63 - 1}
	}
	archived := 0
	if query.Archived || query.Slug != "" {
		archived = 1
	}
	like := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(query.Text) + "%"
	rows, err := tx.Query(ctx, `SELECT `+columns+` FROM session_list
		WHERE (created_ms, position) < ($1, $2) AND (directory = $3 OR $4 = '') AND (slug = $5 OR $6 = '') AND (archived_ms = 0 OR $7 = 1)
		AND (title LIKE $8 ESCAPE '\' OR preview LIKE $9 ESCAPE '\')
		ORDER BY created_ms DESC, position DESC LIMIT $10`, before.Created, before.Position, query.Directory, query.Directory,
		query.Slug, query.Slug, archived, like, like, query.Limit+1)
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
